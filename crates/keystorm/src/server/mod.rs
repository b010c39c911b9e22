//! The server to measure: found, started if requested, and examined before load runs.

mod address;
mod nodes;
mod start;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use engine::TlsContext;
use host::{
    Login, NodeFacts, Patience, ProbeError, ProbeResult, Questions, ServerFacts, SpawnedServer,
    Subject, Watch,
};
use measure::Failure;
use naming::HOST;
use runner::RingServer;
use wire::cluster::{Role, Topology};
use wire::resp::Value;
use workload::{Endpoint, Plan, ProtocolKind, Target};

use crate::sentinel::Sentinels;
use crate::{password, replicas, tls};
use address::known_as;
pub(crate) use address::{endpoint_at, first_that_answers, login, resolve};
use start::{kind, pinned, spawn};

/// A server that has answered. Dropping this stops one that was started for the run.
pub(crate) struct Server {
    pub(crate) address: host::Address,
    pub(crate) facts: ServerFacts,
    /// TLS context of every connection to the server, if connections use TLS.
    pub(crate) tls: Option<TlsContext>,
    pub(crate) cluster: Option<Topology>,
    /// All servers, if several were named; `address` is that of the first.
    named: Vec<RingServer>,
    protocol: ProtocolKind,
    /// Questions that the server is asked about itself.
    questions: Questions,
    /// Reason why the server gave no further answers; for several servers, all reasons.
    silence: Option<String>,
    spawned: Option<SpawnedServer>,
    sentinels: Option<Sentinels>,
    /// Finds the server where the experiment itself moves it.
    pub(crate) moved: Option<Arc<dyn runner::Resolver + Send>>,
    /// Commands by name, as the server describes them; `Null` without a description.
    pub(crate) described: Mutex<BTreeMap<String, Value>>,
}

impl Server {
    /// Finds or starts the server of a target and asks it these questions. `connections` is the number that
    /// the load will open.
    pub(crate) fn reach(
        target: &Target,
        protocol: ProtocolKind,
        connections: u32,
        questions: Questions,
    ) -> Result<Self> {
        // Before anything is started, so that a wrong file is reported at once.
        let tls = target
            .tls
            .as_ref()
            .map(|options| tls::context(options, &target.endpoint))
            .transpose()?;
        if let Some(servers) = target.servers() {
            return Self::reach_all(target, servers, protocol, tls, questions);
        }
        // A password that cannot be had is the first thing to say.
        password::credentials(target)?;
        let mut sentinels = None;
        let (addresses, spawned) = match &target.endpoint {
            Endpoint::Unix(_)
            | Endpoint::Tcp { .. }
            | Endpoint::Ring { .. }
            | Endpoint::Pool { .. } => (resolve(&target.endpoint)?, None),
            Endpoint::Replicated { primary, .. } => (resolve(&primary.into())?, None),
            Endpoint::Sentinel { sentinels: hosts, name } => {
                let asked = sentinels.insert(Sentinels::new(hosts, name, target));
                (vec![asked.primary().map_err(anyhow::Error::msg)?], None)
            }
            Endpoint::Spawned { program, args, unix, cpus, counted } => {
                let kind = kind(protocol);
                let spawned = pinned(cpus, || {
                    spawn(kind, program.clone(), args, connections, *unix, *counted)
                })?;
                (vec![spawned.address().clone()], Some(spawned))
            }
        };
        let mut tls = tls.map(|known| tls::named(known, &target.endpoint, &addresses));
        let asking = (login(target, tls.as_ref()), protocol, questions);
        let (address, mut probed) = first_that_answers(&target.endpoint, addresses, asking)?;
        let cluster = match &target.endpoint {
            Endpoint::Replicated { primary, replicas } => {
                let nodes = replicas::topology(
                    primary, &address, replicas, target, protocol, questions, &mut tls,
                )?;
                Some(nodes)
            }
            _ if target.is_cluster() => {
                let login = login(target, tls.as_ref());
                Some(host::cluster::discover(
                    &address,
                    login,
                    login.tls.is_some(),
                    Patience::default(),
                )?)
            }
            _ => None,
        };
        if let Some(topology) = &cluster {
            // Reports show only the settings of a cluster's nodes, so nothing else is asked.
            let questions =
                if questions == Questions::All { Questions::Settings } else { questions };
            look_at_nodes(topology, login(target, tls.as_ref()), questions, &mut probed.facts);
        }
        let found = Self::found(address, probed, protocol, questions);
        Ok(Self { tls, cluster, spawned, sentinels, ..found })
    }

    /// Finds several servers that do not know each other. Facts are taken from the first.
    fn reach_all(
        target: &Target,
        servers: &[Endpoint],
        protocol: ProtocolKind,
        mut tls: Option<TlsContext>,
        questions: Questions,
    ) -> Result<Self> {
        let mut found = Vec::new();
        for server in servers {
            let addresses = resolve(server)?;
            tls = tls.map(|known| tls::named(known, server, &addresses));
            found.push(addresses);
        }
        let login = login(target, tls.as_ref());
        let (mut named, mut facts, mut silences) = (Vec::new(), None, Vec::new());
        for (server, addresses) in servers.iter().zip(found) {
            let asking = (login, protocol, questions);
            let (address, seen) = first_that_answers(server, addresses, asking)?;
            facts.get_or_insert(seen.facts);
            silences.extend(seen.silence);
            named.push(RingServer { known_as: known_as(server), address });
        }
        let address = named.first().map(|server: &RingServer| server.address.clone());
        let address = address.with_context(|| format!("{HOST}: no server named"))?;
        let facts = facts.unwrap_or_default();
        let silence = silences.pop().filter(|_| silences.len() + 1 == named.len());
        let found = Self::found(address, ProbeResult { facts, silence }, protocol, questions);
        Ok(Self { tls, named, ..found })
    }

    /// Creates a server that answers at this address, over plain connections and without additional facts.
    fn found(
        address: host::Address,
        ProbeResult { facts, silence }: ProbeResult,
        protocol: ProtocolKind,
        questions: Questions,
    ) -> Self {
        Self {
            address,
            facts,
            tls: None,
            cluster: None,
            named: Vec::new(),
            protocol,
            questions,
            silence,
            spawned: None,
            sentinels: None,
            moved: None,
            described: Mutex::default(),
        }
    }

    /// Stops the server if it was started for the run; returns whether it was.
    pub(crate) fn stop(&mut self) -> bool {
        self.spawned.take().is_some()
    }

    /// Returns the protocol of the server.
    pub(crate) fn protocol(&self) -> ProtocolKind {
        self.protocol
    }

    /// Returns the questions that the server was asked, and is asked again.
    pub(crate) fn questions(&self) -> Questions {
        self.questions
    }

    /// Returns whether the server was started for the run.
    pub(crate) fn is_own(&self) -> bool {
        self.spawned.is_some()
    }

    /// Returns whether the server left the questions about itself unanswered.
    pub(crate) fn is_silent(&self) -> bool {
        self.silence.is_some()
    }

    /// Bytes of memory that the server's process uses now, if it was started for the run.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        self.spawned.as_ref()?.resident_bytes()
    }

    /// Returns the command line of a server that was started for the run, without passwords.
    pub(crate) fn command_line(&self) -> Option<String> {
        Some(shell_words::join(self.spawned.as_ref()?.command_line()))
    }

    /// Returns the resolver that finds the server after it has moved.
    pub(crate) fn resolver(&self) -> Option<&dyn runner::Resolver> {
        let moved = self.moved.as_deref().map(|moved| moved as &dyn runner::Resolver);
        moved.or(self.sentinels.as_ref().map(|sentinels| sentinels as &dyn runner::Resolver))
    }

    /// Returns the present address of the server, which may have moved during an earlier test.
    pub(crate) fn address_now(&self) -> host::Address {
        self.resolver().and_then(|r| r.resolve()).unwrap_or_else(|| self.address.clone())
    }

    /// Returns the name of a server that was started for the run, for the line that announces it.
    pub(crate) fn spawned(&self) -> Option<String> {
        self.spawned.as_ref()?;
        let known =
            |fact: &Option<String>| fact.clone().unwrap_or_else(|| "of unknown type".into());
        let ServerFacts { product, version, .. } = &self.facts;
        Some(format!("{} {} on {}", known(product), known(version), self.address))
    }

    /// An observer that examines the server before and after a test, and with `sample` in between; `None` if
    /// the server is not to be asked, or does not answer.
    pub(crate) fn watch<'a>(&'a self, target: &'a Target, sample: bool) -> Watch<'a> {
        if self.questions != Questions::All || self.silence.is_some() {
            return Watch::of_this_machine(self.address.clone(), self.silence.clone());
        }
        Watch::new(self.addresses(), sample, |address, patience| {
            self.subject(address, target, patience)
        })
    }

    /// A connection for reading the server's counters.
    fn subject(
        &self,
        address: &host::Address,
        target: &Target,
        patience: Patience,
    ) -> Result<Subject, ProbeError> {
        let login = login(target, self.tls.as_ref());
        if self.protocol.is_memcache() {
            let client = host::memcache::log_in(address, login, self.protocol, patience);
            return client.map(Subject::Memcache);
        }
        host::log_in_within(address, login, patience).map(Subject::Resp)
    }

    /// A connection to the server whose clock is used: in a cluster the node with the least id, on which all
    /// clients agree.
    pub(crate) fn clock(&self, target: &Target) -> Result<host::Client<host::Transport>> {
        let nodes = self.cluster.iter().flat_map(|topology| &topology.nodes);
        let least = nodes.filter(|node| node.address.is_some()).min_by_key(|node| node.id.clone());
        let address = match least.and_then(|node| node.address) {
            Some(address) => host::Address::Tcp(address),
            None => self.address_now(),
        };
        Ok(host::log_in(&address, login(target, self.tls.as_ref()))?)
    }

    /// A separate connection for further questions to a server that speaks RESP.
    pub(crate) fn client(&self, target: &Target) -> Result<host::Client<host::Transport>> {
        if self.protocol.is_memcache() {
            bail!("{}: this works with Redis and Valkey only, not with memcached", self.address);
        }
        Ok(host::log_in(&self.address, login(target, self.tls.as_ref()))?)
    }

    /// Logs in to one of the server's nodes.
    pub(crate) fn client_at(
        &self,
        target: &Target,
        address: &host::Address,
    ) -> Result<host::Client<host::Transport>> {
        Ok(host::log_in(address, login(target, self.tls.as_ref()))?)
    }

    /// Logs in to a memcached.
    pub(crate) fn memcache_client(
        &self,
        target: &Target,
    ) -> Result<host::memcache::MemcacheClient> {
        let login = login(target, self.tls.as_ref());
        Ok(host::memcache::log_in(&self.address, login, self.protocol, Patience::default())?)
    }

    /// All settings that the server reports, without passwords; for several servers those of the first.
    pub(crate) fn settings(&self, target: &Target) -> Vec<(String, String)> {
        let subject = self.subject(&self.address_now(), target, Patience::default());
        subject.map(|mut subject| subject.every_setting()).unwrap_or_default()
    }

    /// The least item limit of all memcached servers, and the server that has it; `None` if none reports one.
    pub(crate) fn item_limit(&self, target: &Target) -> Option<(host::Address, u64)> {
        if self.questions != Questions::All || self.silence.is_some() {
            return None;
        }
        let login = login(target, self.tls.as_ref());
        let limit = |address: host::Address| {
            let client =
                host::memcache::log_in(&address, login, self.protocol, Patience::default());
            let mut client = client.ok()?;
            let settings = client.stats(Some("settings")).ok()?;
            let (_, limit) = settings.into_iter().find(|(name, _)| name == "item_size_max")?;
            Some((address, limit.parse().ok()?))
        };
        self.addresses().into_iter().filter_map(limit).min_by_key(|(_, limit)| *limit)
    }

    /// Sends the commands that must precede a test, and fails if one is refused.
    pub(crate) fn prepare(&self, plan: &Plan) -> Result<()> {
        let (target, commands) = (&plan.target, &plan.setup);
        if commands.is_empty() {
            return Ok(());
        }
        // On a cluster every master needs what is loaded into one of them.
        let masters = self.masters();
        let everywhere =
            commands.iter().flat_map(|command| masters.iter().map(move |m| (m, command)));
        for (address, command) in everywhere {
            let mut client = host::log_in(address, login(target, self.tls.as_ref()))?;
            let args: Option<Vec<Vec<u8>>> = command.args.iter().map(|a| a.fixed_bytes()).collect();
            let args = args.context("a setup command cannot contain placeholders")?;
            let words: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            if let wire::resp::Value::Error(text) = client.ask(&words)? {
                let text = String::from_utf8_lossy(&text);
                return Err(Failure::from_server(format!(
                    "Error from server: {text} (in reply to {}, which the test requires)",
                    command.name()
                ))
                .into());
            }
        }
        Ok(())
    }
}

/// Returns whether an error is an error reply of a server, which its text quotes.
pub(crate) fn is_error_reply(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let failure = cause.downcast_ref::<Failure>();
        let refused = cause.downcast_ref::<ProbeError>();
        failure.is_some_and(Failure::is_of_server)
            || matches!(refused, Some(ProbeError::TooManyClients(_)))
    })
}

/// Adds notes about the nodes.
fn look_at_nodes(
    topology: &Topology,
    login: Login<'_>,
    questions: Questions,
    facts: &mut ServerFacts,
) {
    for node in &topology.nodes {
        let master = node.role == Role::Master;
        let address = node.address.map(host::Address::Tcp);
        let address = address.filter(|_| master && questions != Questions::None);
        // One that does not answer will say so when the load comes.
        let config = address.and_then(|a| host::probe(&a, login, questions).ok());
        let config = config.and_then(|probed| probed.facts.config);
        facts.nodes.push(NodeFacts { name: node.name(), id: node.id.clone(), master, config });
    }
}
