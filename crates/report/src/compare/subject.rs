//! A compared server: its name, product and address.

use serde::Serialize;
use workload::Endpoint;

use crate::{Run, escape};

/// Server that is compared with another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Name in sentences and charts.
    pub name: String,
    /// Product and version, as reported by the server.
    pub server: String,
    /// Address of the server, or the program that was started.
    pub address: String,
    /// The program that was started for the comparison.
    #[serde(skip)]
    pub program: Option<String>,
    /// The file of its runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Command line that started it, if it was started for the comparison; for several processes, the first
    /// one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// Visible settings, without secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
}

impl Subject {
    /// Makes the subject of runs at `address`.
    pub fn new(facts: &host::ServerFacts, address: String, file: Option<String>) -> Self {
        let server = facts.name().unwrap_or_else(|| "unknown server".to_owned());
        Self { name: server.clone(), server, address, file, ..Self::default() }
    }

    /// Makes the subject of a saved run.
    pub fn of_run(run: &Run, file: String) -> Self {
        let address = match &run.plan.target.endpoint {
            Endpoint::Spawned { program: Some(program), .. } => format!("started as {program}"),
            endpoint => endpoint.to_string(),
        };
        let mut subject = Self::new(&run.server, address, Some(file));
        subject.program = program(&run.plan.target.endpoint);
        let watched = run.watched.servers.first();
        let settings = watched.map_or(&[][..], |server| &server.settings);
        subject.settings = settings.iter().map(|of| (of.name.clone(), of.value.clone())).collect();
        if let (true, Some(config)) = (subject.settings.is_empty(), &run.server.config) {
            let known = [("appendonly", &config.appendonly), ("save", &config.save)];
            subject.settings = known.map(|(name, value)| (name.to_owned(), value.clone())).to_vec();
        }
        subject
    }

    /// Describes it in a line, safe for a terminal.
    pub fn line(&self) -> String {
        let Self { name, server, address, file, .. } = self;
        let file = file.as_ref().map_or(String::new(), |file| format!(" ({file})"));
        escape(match name.strip_prefix(server.as_str()) {
            Some("") => format!("{server} on {address}{file}"),
            Some(_) if name.ends_with(address.as_str()) => format!("{name}{file}"),
            Some(_) => format!("{name}: on {address}{file}"),
            None => format!("{name}: {server} on {address}{file}"),
        })
    }
}

/// The program that is started for an endpoint, in the user's text.
pub fn program(endpoint: &Endpoint) -> Option<String> {
    match endpoint {
        Endpoint::Spawned { program, .. } => program.clone(),
        _ => None,
    }
}
