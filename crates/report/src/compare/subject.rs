//! One of the two that are compared: what it is called, what it is, and where it was.

use serde::Serialize;
use workload::Endpoint;

use crate::{Run, escape};

/// Server that is compared with another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Name in sentences and charts.
    pub name: String,
    /// Product and version, as the server says.
    pub server: String,
    /// Address of the server, or the program that was started.
    pub address: String,
    /// The program that was started for this.
    #[serde(skip)]
    pub program: Option<String>,
    /// The file that its runs are from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Command line by which it was started, if it was started for this; a server of several processes has that of the
    /// first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// Settings, as far as the server shows them, without secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
}

impl Subject {
    /// The subject of a run, as the runs of `address` know it.
    #[must_use]
    pub fn new(facts: &host::ServerFacts, address: String, file: Option<String>) -> Self {
        let server = facts.name().unwrap_or_else(|| "unknown server".to_owned());
        Self { name: server.clone(), server, address, file, ..Self::default() }
    }

    /// Makes the subject of a run that was kept.
    #[must_use]
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

    /// In a line, safe for a terminal.
    #[must_use]
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

/// The program that is started for an endpoint, as it was typed.
#[must_use]
pub fn program(endpoint: &Endpoint) -> Option<String> {
    match endpoint {
        Endpoint::Spawned { program, .. } => program.clone(),
        _ => None,
    }
}
