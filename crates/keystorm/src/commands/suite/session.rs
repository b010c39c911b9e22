//! The server of a suite: started or cleared for each spec, with its settings and its data.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use host::{Client, Transport};
use lab::suite::{InitCommand, Preload, Spec};
use measure::Ending;
use wire::resp::Value;
use workload::{Endpoint, Plan, Target};

use super::client::{self, PlanRefusal};
use super::cluster::{self, STANDALONE};
use super::options::Options;
use super::settings::{ChangedSettings, RefusedSetting};
use crate::experiment::progress::Progress;
use crate::machine::machine;
use crate::setting;
use crate::test_bed::TestBed;

/// Time limit for a server to remove its data or to execute a script.
const DATA_WITHIN: Duration = Duration::from_secs(600);
/// Memory of this machine that is left to other programs.
const SPARE_BYTES: u64 = 256 << 20;

/// Data on the server, and the way it was started.
#[derive(Clone, PartialEq)]
struct Data {
    /// Number of primaries of its cluster; 0 for a single server.
    primaries: u32,
    preload: Preload,
}

/// State in which a spec starts.
#[derive(Clone, Default)]
pub(super) struct Preparation {
    /// Bytes of `used_memory` for each key.
    pub(super) bytes_per_key: Option<f64>,
    /// Remarks on differences from the spec's requirements.
    pub(super) remarks: Vec<String>,
}

/// A suite's server.
pub(super) struct Session<'s> {
    job: &'s Options,
    first: &'s Plan,
    interrupted: &'s AtomicBool,
    /// The server that gets the load, followed by the nodes of its cluster.
    beds: Vec<TestBed<'s>>,
    target: Target,
    /// Commands of specs: whether they only read, or `None` if the server lacks them. Empty if the server
    /// reports no commands.
    commands: HashMap<String, Option<bool>>,
    /// The limit of its memory in bytes, if it has one.
    limit_bytes: Option<u64>,
    data: Option<(Data, Preparation)>,
    /// Set if load has changed the data.
    is_spoiled: bool,
    /// Original settings of a given server.
    changed: ChangedSettings,
}

impl<'s> Session<'s> {
    pub(super) fn new(
        job: &'s Options,
        first: &'s Plan,
        bed: TestBed<'s>,
        interrupted: &'s AtomicBool,
    ) -> Self {
        Self {
            job,
            first,
            interrupted,
            beds: vec![bed],
            target: first.target.clone(),
            commands: HashMap::new(),
            limit_bytes: None,
            data: None,
            is_spoiled: false,
            changed: ChangedSettings::default(),
        }
    }

    /// The server that gets the load.
    pub(super) fn bed(&self) -> &TestBed<'s> {
        &self.beds[0]
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn is_own(&self) -> bool {
        matches!(self.first.target.endpoint, Endpoint::Spawned { .. })
    }

    /// Connections to the masters of the cluster, or to the server itself.
    pub(super) fn clients(&self) -> Result<Vec<Client<Transport>>> {
        let mut clients = self.bed().server.key_clients(&self.target)?;
        clients.iter_mut().for_each(|client| client.wait_for(DATA_WITHIN));
        Ok(clients)
    }

    /// Asks the server which of these commands it has, and for its memory limit.
    pub(super) fn learn(&mut self, names: &[String]) -> Result<()> {
        let mut client = self.bed().server.client(&self.target)?;
        let limit = setting::value(&mut client, "maxmemory")?.and_then(|text| text.parse().ok());
        self.limit_bytes = limit.filter(|bytes| *bytes > 0);
        let words: Vec<&[u8]> = [&b"COMMAND"[..], b"INFO"]
            .into_iter()
            .chain(names.iter().map(String::as_bytes))
            .collect();
        // One that does not tell may have all of them.
        let Value::Array(found) = client.ask(&words)? else {
            return Ok(());
        };
        for (name, found) in names.iter().zip(found) {
            let reads = found.items().map(|parts| {
                let flags = parts.get(2).and_then(Value::items).unwrap_or_default();
                flags.iter().any(|flag| flag.text().as_deref() == Some("readonly"))
            });
            self.commands.insert(name.clone(), reads);
        }
        Ok(())
    }

    /// Returns whether a spec leaves the data as it is.
    pub(super) fn only_reads(&self, spec: &Spec) -> bool {
        spec.only_reads(|name| self.commands.get(name).copied().flatten() == Some(true))
    }

    /// Refuses a spec that cannot be run here.
    pub(super) fn check(&self, spec: &Spec) -> Result<(), PlanRefusal> {
        if let Some(name) = spec.needs().iter().find(|name| self.commands.get(*name) == Some(&None))
        {
            let why = format!("the server has no {}", name.to_uppercase());
            return Err(PlanRefusal::Unsupported(why));
        }
        if let Some(named) = &spec.preload.dataset {
            let why = format!("its data are {named}, a file that keystorm does not load");
            return Err(PlanRefusal::Unsupported(why));
        }
        self.check_memory(spec)?;
        self.primaries(spec).map(drop)
    }

    /// Refuses a spec that needs more memory than there is.
    fn check_memory(&self, spec: &Spec) -> Result<(), PlanRefusal> {
        let free = machine().memory.available_bytes.map(|free| free.saturating_sub(SPARE_BYTES));
        let free =
            free.filter(|_| self.is_own()).map(|free| (free, "this machine has", " to spare"));
        let limit = self.limit_bytes.map(|limit| (limit, "the server's maxmemory is", ""));
        let Some(needs) = spec.memory_bytes else { return Ok(()) };
        let short = free.into_iter().chain(limit).find(|(bytes, ..)| needs > *bytes);
        let Some((bytes, what, more)) = short else { return Ok(()) };
        let [needs, bytes] = [needs, bytes].map(|bytes| bytes as f64 / f64::from(1 << 30));
        let why = format!("it needs {needs:.1} GiB of memory, and {what} {bytes:.1} GiB{more}");
        Err(PlanRefusal::Unsupported(why))
    }

    /// Number of primaries of the cluster for a spec; 0 for a single server, and for a given one.
    fn primaries(&self, spec: &Spec) -> Result<u32, PlanRefusal> {
        let topologies = &spec.topologies;
        if !self.is_own() || topologies.is_empty() || topologies.iter().any(|t| t == STANDALONE) {
            return Ok(0);
        }
        topologies.iter().find_map(|topology| cluster::primaries(topology)).ok_or_else(|| {
            let names = topologies.join(", ");
            PlanRefusal::Unsupported(format!("keystorm does not start its topology ({names})"))
        })
    }

    /// Prepares the data for a spec: newly loaded, or as an earlier spec left them.
    pub(super) fn prepare(
        &mut self,
        spec: &Spec,
        progress: &mut Progress,
    ) -> Result<Preparation, PlanRefusal> {
        let data = Data { primaries: self.primaries(spec)?, preload: spec.preload.clone() };
        let held = self.data.as_ref().filter(|(held, _)| *held == data && !self.is_spoiled);
        let prepared = match held {
            Some((_, prepared)) => {
                let prepared = prepared.clone();
                let keys = spec.keys.map(|keys| self.check_keys(keys)).transpose();
                keys.map(|_| prepared)
            }
            None => self.load(&data, spec, progress),
        };
        self.data = prepared.as_ref().ok().map(|prepared| (data, prepared.clone()));
        self.is_spoiled = !self.only_reads(spec);
        prepared
    }

    /// Begins a round: a server that keystorm started is started again.
    pub(super) fn forget(&mut self) {
        self.data = None;
        self.beds[0].server.stop();
    }

    fn load(
        &mut self,
        data: &Data,
        spec: &Spec,
        progress: &mut Progress,
    ) -> Result<Preparation, PlanRefusal> {
        let mut remarks = Vec::new();
        self.clear(data).map_err(broken)?;
        self.configure(&data.preload, data.primaries, &mut remarks).map_err(broken)?;
        let before = self.used_bytes().map_err(broken)?;
        if let Some(line) = &data.preload.tool {
            let client = client::load(line, self.job, &self.target)?;
            progress.begin(format!("loading for {}", spec.name), 1.0, 0.0);
            let run = self.bed().run(&client.plan, None, progress).map_err(broken)?;
            progress.end();
            match run.measurement.ending {
                Ending::Complete => {}
                Ending::Interrupted => return Err(PlanRefusal::Broken("interrupted".to_owned())),
                Ending::Failed(failure) => {
                    return Err(PlanRefusal::Broken(format!("its preload: {}", failure.text)));
                }
            }
        }
        for init in &data.preload.init {
            self.init(init)?;
        }
        let keys = match spec.keys {
            Some(keys) => self.check_keys(keys)?,
            None => self.keys().map_err(broken)?,
        };
        let after = self.used_bytes().map_err(broken)?;
        let grown = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64);
        Ok(Preparation {
            bytes_per_key: grown.filter(|_| keys > 0).map(|grown| grown / keys as f64),
            remarks,
        })
    }

    /// Starts the server or the cluster, or removes the data of a given one. A cluster takes longer to start
    /// than to be cleared.
    fn clear(&mut self, data: &Data) -> Result<()> {
        if !self.is_own() {
            self.put_back();
            return self.flush();
        }
        let held = self.data.as_ref().map(|(held, _)| held);
        let alike = held.is_some_and(|held| {
            held.primaries == data.primaries && held.preload.settings == data.preload.settings
        });
        if alike && data.primaries > 0 {
            return self.flush();
        }
        self.start(data.primaries, &[])
    }

    /// Starts the server with these arguments, or a cluster of this many primaries.
    fn start(&mut self, primaries: u32, args: &[String]) -> Result<()> {
        let cluster = ["--cluster-enabled", "yes"].map(str::to_owned);
        let cluster = if primaries > 0 { &cluster[..] } else { &[] };
        let mut target = self.first.target.clone();
        if let Endpoint::Spawned { args: given, .. } = &mut target.endpoint {
            // Those of the user come last and win.
            given.splice(0..0, cluster.iter().chain(args).cloned());
        }
        self.data = None;
        self.beds.truncate(1);
        self.beds[0].server.stop();
        if primaries > 0 {
            (self.beds, self.target) =
                cluster::start(self.first, &target, primaries, self.interrupted)?;
        } else {
            let connections = self.first.own_connections();
            let mut bed =
                TestBed::reach(&target, self.first.protocol, connections, None, self.interrupted)?;
            bed.settings.fills_quietly = true;
            (self.beds, self.target) = (vec![bed], target);
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        for mut client in self.clients()? {
            if let Value::Error(text) = client.ask(&[b"FLUSHDB"])? {
                bail!("{} refused FLUSHDB: {}", client.address(), host::printable(text));
            }
        }
        Ok(())
    }

    /// Applies the settings of a spec to the server: while it runs, or by starting it, if keystorm starts it.
    /// Refused settings become remarks.
    fn configure(
        &mut self,
        preload: &Preload,
        primaries: u32,
        remarks: &mut Vec<String>,
    ) -> Result<()> {
        let refused = self.set(&preload.settings)?;
        let (late, lost): (Vec<RefusedSetting>, Vec<RefusedSetting>) =
            refused.into_iter().partition(|one| self.is_own() && one.is_for_the_start());
        remarks.extend(lost.iter().map(RefusedSetting::remark));
        if late.is_empty() {
            return Ok(());
        }
        let args = late.iter().flat_map(|one| [format!("--{}", one.name), one.value.clone()]);
        if self.start(primaries, &args.collect::<Vec<_>>()).is_err() {
            self.start(primaries, &[])?;
            remarks.extend(late.iter().map(RefusedSetting::remark));
        }
        let others =
            preload.settings.iter().filter(|(name, _)| late.iter().all(|one| one.name != *name));
        let others: Vec<(String, String)> = others.cloned().collect();
        self.set(&others).map(drop)
    }

    /// Applies settings while the server runs; returns those that it refuses.
    fn set(&mut self, settings: &[(String, String)]) -> Result<Vec<RefusedSetting>> {
        let (nodes, keeps) = (self.clients()?, !self.is_own());
        self.changed.set(nodes, settings, keeps)
    }

    /// Restores the settings of a given server.
    fn put_back(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.put_back(|| self.clients());
    }

    /// Restores a given server to its original state.
    pub(super) fn tidy(&mut self) -> Result<()> {
        if self.is_own() {
            return Ok(());
        }
        self.put_back();
        self.flush()
    }

    fn init(&self, init: &InitCommand) -> Result<(), PlanRefusal> {
        let words: Vec<Vec<u8>> = match init {
            InitCommand::Line(line) => {
                let words = wire::quoted::words(line.as_bytes());
                words.ok_or_else(|| broken(anyhow!("{line}: unbalanced quotes")))?
            }
            InitCommand::Words(words) => {
                words.iter().map(|word| word.clone().into_bytes()).collect()
            }
            InitCommand::Script(text) => {
                vec![b"EVAL".to_vec(), text.clone().into_bytes(), b"0".to_vec()]
            }
        };
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let name = String::from_utf8_lossy(words.first().copied().unwrap_or_default());
        let mut moved = String::new();
        for mut client in self.clients().map_err(broken)? {
            match client.ask(&words).map_err(|error| broken(error.into()))? {
                Value::Error(text) => {
                    let text = String::from_utf8_lossy(&text);
                    let why = format!("its init command {name}: {text}");
                    match text.split(' ').next() {
                        // Another node of the cluster has the key.
                        Some("MOVED") => moved = why,
                        // An option of a newer server, which no server tells of.
                        _ if text.starts_with("ERR syntax error") => {
                            return Err(PlanRefusal::Unsupported(why));
                        }
                        _ => return Err(PlanRefusal::Broken(why)),
                    }
                }
                _ => return Ok(()),
            }
        }
        Err(PlanRefusal::Broken(moved))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

pub(super) fn broken(error: anyhow::Error) -> PlanRefusal {
    PlanRefusal::Broken(format!("{error:#}"))
}
