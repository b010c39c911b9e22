//! keystorm beside redis-benchmark, and on memcached beside memtier_benchmark, on this machine.
//!
//! For each case of the Targets table both tools and a bare loop run turn about, in an order that
//! turns around from round to round, against one fresh server that has a core to itself; the client has
//! another. What is compared is the CPU time of the client per request and the throughput; what is printed says
//! which of the two, client or server, was the limit. `make compare` builds and runs it.

mod case;
mod cores;
mod figures;
mod server;
mod table;
mod tool;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use case::{Base, Case, CaseServer, MixPart};
use cores::Cores;
use figures::{Comparison, Figures, Round};
use server::Server;
use tool::{Run, Tool, Words};

/// Runs keystorm, redis-benchmark and a bare loop turn about against one pinned server, and prints
/// client CPU per request, requests per second and how busy the server was, with the ratios of
/// keystorm to both.
#[derive(Debug, Parser)]
#[command(name = "compare", version)]
struct Args {
    /// Rounds for each case, at least 1, a run of each in every one [default: 3, with --quick 1]
    #[arg(long, visible_alias = "pairs", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Multiplies the requests of every run; at 1 redis-benchmark takes about 4 s for most cases
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    scale: f64,
    /// A tenth of the requests and one round: shows that it works, and is no result
    #[arg(long)]
    quick: bool,
    /// Only these cases, between commas; --list shows them
    #[arg(long = "case", value_name = "NAME", value_delimiter = ',', value_parser = names())]
    cases: Vec<String>,
    /// Print the cases and their targets, and run nothing
    #[arg(long)]
    list: bool,
    /// Leave the bare loop out
    #[arg(long)]
    no_bare: bool,
    /// Engine of keystorm [default: auto]
    #[arg(long, value_name = "NAME", value_parser = ["auto", "uring", "epoll"])]
    engine: Option<String>,
    /// Tool to compare with: redis-benchmark or a drop-in for it
    #[arg(long, value_name = "PATH", default_value = "redis-benchmark")]
    baseline: PathBuf,
    /// The keystorm to run [default: the one built beside this program]
    #[arg(long, value_name = "PATH")]
    keystorm: Option<PathBuf>,
    /// The bare loop to run [default: the one built beside this program]
    #[arg(long, value_name = "PATH")]
    bare: Option<PathBuf>,
    /// The server to run
    #[arg(long, value_name = "PATH", default_value = "redis-server")]
    server: String,
    /// The memcached to run
    #[arg(long, value_name = "PATH", default_value = "memcached")]
    memcached: String,
    /// Tool to compare with on memcached, if it is installed
    #[arg(long, value_name = "PATH", default_value = "memtier_benchmark")]
    memtier: PathBuf,
    /// The core of the server and the core of the client [default: two that this process may use]
    #[arg(long, value_name = "SERVER,CLIENT")]
    cpus: Option<Cores>,
}

/// Open files beside a connection each, in the client and in the server.
const OTHER_FILES: u64 = 128;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let outcome = if args.get(1).is_some_and(|a| a == host::guard::GUARD_ARG) {
        // We were called to become a server that dies with the process that called.
        match host::guard::exec(args.into_iter().skip(2)) {
            Ok(never) => match never {},
            Err(error) => Err(error.into()),
        }
    } else {
        compare(&Args::parse())
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("compare: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(args: &Args) -> Result<ExitCode> {
    if args.list {
        return Ok(list());
    }
    ensure!(
        args.scale.is_finite() && args.scale > 0.0,
        "--scale {}: a number above 0 is possible",
        args.scale
    );
    let scale = if args.quick { 0.1 } else { 1.0 } * args.scale;
    let rounds = args.rounds.unwrap_or(if args.quick { 1 } else { 3 });
    let cores = args.cpus.map_or_else(Cores::choose, Ok)?;
    let tools = Tools::find(args)?;
    cores.check()?;
    let cases: Vec<&Case> = case::all()
        .filter(|case| args.cases.is_empty() || args.cases.iter().any(|n| n == case.name))
        .collect();
    let connections = cases.iter().map(|c| u64::from(c.connections)).max();
    host::allow_open_files(connections.unwrap_or(0), OTHER_FILES)?;

    eprintln!("{} beside {}, {cores}", tools.ours.version, tools.theirs.version);
    if tools.memtier.is_none()
        && cases.iter().any(|case| !matches!(case.of, CaseServer::Redis | CaseServer::Alone))
    {
        eprintln!(
            "{} is not there, so that the cases of memcached, mix and memtier are beside the bare loop, \
             or other lines of keystorm, only; --memtier PATH names one",
            args.memtier.display()
        );
    }
    if let Some(busy) = cores::busy_cores().filter(|busy| *busy > 0.1) {
        eprintln!("WARNING: something else keeps {busy:.1} cores busy; the figures will show it");
    }
    let mut done = Vec::new();
    let mut failed = false;
    let mut servers: Vec<String> = Vec::new();
    for case in cases {
        let is_memcached = matches!(case.of, CaseServer::Memcached(_));
        let program = if is_memcached { &args.memcached } else { &args.server };
        match run_case(case, program, &tools, cores, rounds, scale) {
            Ok((comparison, version)) => {
                if !servers.contains(&version) {
                    servers.push(version);
                }
                done.push(comparison);
            }
            Err(error) => {
                eprintln!("{}: {error:#}", case.name);
                failed = true;
            }
        }
    }
    if !done.is_empty() {
        println!(
            "ours: {}, theirs: {}, server: {}, {cores}, rounds: {rounds}",
            tools.ours.version,
            tools.peers(&done),
            servers.join(" and ")
        );
        if args.quick {
            println!("--quick: too short to be a result");
        }
        print!("{}", table::render(&done));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints the cases and their targets.
fn list() -> ExitCode {
    for Case { name, title, cpu_most, rate_least, .. } in case::all() {
        println!("{name:<14} {title:<22} CPU <= {cpu_most:.2}, throughput >= {rate_least:.2}");
    }
    ExitCode::SUCCESS
}

/// Names that `--case` takes.
fn names() -> impl clap::builder::TypedValueParser {
    clap::builder::PossibleValuesParser::new(case::all().map(|case| case.name))
}

/// The tools that take turns.
struct Tools {
    ours: Tool,
    theirs: Tool,
    /// Tool to compare with on memcached, if it is installed.
    memtier: Option<Tool>,
    bare: Option<Tool>,
}

impl Tools {
    fn find(args: &Args) -> Result<Self> {
        let beside = |name: &str| -> Result<PathBuf> {
            let this = std::env::current_exe().context("finding this program")?;
            Ok(this.with_file_name(name))
        };
        let named = |asked: &Option<PathBuf>, name| asked.clone().map_or_else(|| beside(name), Ok);
        let engine = args.engine.iter();
        let engine = engine.flat_map(|name| ["--engine".to_owned(), name.clone()]);
        let keystorm = named(&args.keystorm, "keystorm")?;
        let ours = Tool::find(keystorm, Words::Options, engine.collect()).context(
            "there is no keystorm to run: `make compare` builds one, and --keystorm PATH names one",
        )?;
        let theirs = Tool::find(args.baseline.clone(), Words::Options, Vec::new()).context(
            "there is nothing to compare with: `make setup-test` installs redis-benchmark, and \
             --baseline PATH names another",
        )?;
        let bare = || {
            let program = named(&args.bare, "examples/bare")?;
            let engine = args.engine.clone().unwrap_or("auto".to_owned());
            Tool::find(program, Words::Bare, vec![engine]).context(
                "there is no bare loop to run: `make compare` builds one, --bare PATH names one, \
                 and --no-bare does without",
            )
        };
        let bare = if args.no_bare { None } else { Some(bare()?) };
        // Asked for nothing but to be there: each case starts one of its own.
        Tool::find(args.server.clone().into(), Words::Options, Vec::new()).context(
            "there is no server to run: `make setup-test` installs redis-server, and --server \
             PATH names another",
        )?;
        let memtier = Tool::find(args.memtier.clone(), Words::Memtier, Vec::new()).ok();
        Ok(Self { ours, theirs, memtier, bare })
    }

    /// Returns the tool to compare a case with, beside the bare loop.
    fn peer(&self, case: &Case) -> Option<&Tool> {
        match case.of {
            CaseServer::Redis => Some(&self.theirs),
            CaseServer::Alone => None,
            CaseServer::RedisMix(_) | CaseServer::Memtier(_) | CaseServer::Memcached(_) => {
                self.memtier.as_ref()
            }
        }
    }

    /// The versions of what these cases were held against.
    fn peers(&self, done: &[Comparison]) -> String {
        let mut all: Vec<&str> =
            done.iter().filter_map(|c| Some(self.peer(c.case)?.version.as_str())).collect();
        all.dedup();
        if all.is_empty() { "none".to_owned() } else { all.join(" and ") }
    }
}

/// Runs all rounds of a case; returns them with the version of the server that they ran against.
fn run_case(
    case: &'static Case,
    server: &str,
    tools: &Tools,
    cores: Cores,
    rounds: u32,
    scale: f64,
) -> Result<(Comparison, String)> {
    let requests = case.requests_scaled(scale);
    let start = || {
        cores::pin_to(cores.server)?;
        let server = Server::start(server, case)?;
        cores::pin_to(cores.client).map(|()| server)
    };
    let mut server = start()?;
    // Not counted: pages the server and the client in, and shows what ours has to say, such as
    // that it took another engine. Of a mix all keys are written: a server that grows takes CPU time from its client.
    let warm_up = if matches!(case.base, Base::Fixed(_)) { scale } else { scale / 20.0 };
    let first = tools.ours.run(case, &server, case.requests_scaled(warm_up))?;
    for line in first.complaints.lines() {
        eprintln!("{}: keystorm says: {}", case.name, host::printable(line));
    }
    let (base, parts) = match case.base {
        Base::Bare(_) => (tools.bare.as_ref(), None),
        Base::Fixed(parts) => (Some(&tools.ours), Some(parts)),
    };
    if parts.is_some() {
        run(case, &mut server, &tools.ours, parts, requests)?;
    }
    let sides = [(base, parts), (Some(&tools.ours), None), (tools.peer(case), None)];
    let mut measured = Vec::new();
    for round in 0..rounds {
        let mut figures = [None; 3];
        // Forwards and backwards: what drifts in the machine meets all alike.
        for place in if round % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] } {
            let (Some(tool), parts) = sides[place] else { continue };
            if case.fresh_port {
                server = start()?;
            }
            figures[place] = Some(run(case, &mut server, tool, parts, requests)?);
        }
        let [bare, Some(ours), theirs] = figures else { bail!("keystorm was not run") };
        measured.push(Round { bare, ours, theirs });
        let bare = bare.map_or(String::new(), |bare| format!("; bare {bare}"));
        let theirs = theirs.map_or(String::new(), |theirs| format!("; theirs {theirs}"));
        eprintln!("{}: round {} of {rounds}: ours {ours}{theirs}{bare}", case.name, round + 1);
    }
    let comparison = Comparison { case, requests, rounds: measured };
    Ok((comparison, server.version().to_owned()))
}

fn run(
    case: &Case,
    server: &mut Server,
    tool: &Tool,
    parts: Option<&[MixPart]>,
    requests: u64,
) -> Result<Figures> {
    let before_s = server.cpu_s()?;
    let run = match parts {
        None => tool.run(case, server, requests)?,
        Some(parts) => {
            let runs = parts
                .iter()
                .map(|fixed| tool.run_fixed(case, fixed, server, requests * fixed.percent / 100));
            Run::joined(runs.collect::<Result<Vec<_>>>()?, requests)
        }
    };
    let used_s = server.cpu_s()? - before_s;
    Ok(Figures::new(&run, requests, used_s))
}
