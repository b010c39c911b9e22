//! `keystorm bisect`: finds the commit that changed a figure of a server.
//!
//! Each measurement is a block of four runs, good, candidate, candidate, good, each with a start of its server: what
//! the machine does meanwhile is taken off. Instructions are counted once of each of the two, as `profile` does. Which
//! commit is measured next is the business of `lab`.

mod options;
mod tree;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use cli::console::diagnostics;
use cli::console::result_file::ResultFile;
use cli::experiment::{with_load, with_those_of_a_run};
use cli::front::{Front, command};
use cli::job::{End, Intent, Job, UsageError};
use lab::profile::{Counts, aligned};
use lab::{Bisect, Findings};
use measure::Ending;
use report::{Figures, Summary, compare};
use workload::{Endpoint, Plan, Target};

use self::options::{CountedLoad, Options, REFUSED, intent};
use crate::commands::profile::{Instrument, Instruments, Start};
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::experiment::noise;
use crate::experiment::progress::planned_s;
use crate::test_bed::TestBed;
use tree::Tree;

/// Runs of a block.
const RUNS: f64 = 4.0;
/// Blocks that the bad commit takes, and each halving, as a guess for the time left.
const BLOCKS_EXPECTED: f64 = 5.0;
const BLOCKS_OF_HALVING: f64 = 2.0;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["bisect"],
    command: || with_those_of_a_run(command::<Options>(), &REFUSED),
    parse,
};

fn parse(args: Vec<OsString>) -> Result<Intent, UsageError> {
    // What follows `--` is the build command, not a command for the server.
    let at = args.iter().position(|word| word == "--");
    let (line, build) = args.split_at(at.unwrap_or(args.len()));
    let build: Option<Vec<String>> =
        build.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect();
    let build = build.ok_or_else(|| UsageError("the build command is not text".to_owned()))?;
    with_load(line.to_vec(), |mut options: Options, load, command_line| {
        options.output.resolve(command_line)?;
        options.build = build;
        intent(options, load, bisect)
    })
}

/// Searches, and prints the commit.
///
/// # Errors
/// Returns an error if the search cannot be completed; earlier measurements are in its folder.
fn bisect(job: &Options, load: &Job, counted: Option<&CountedLoad>) -> Result<End> {
    let Some(plan) = load.plans.first() else { bail!("there is no test") };
    let frame = Frame::open(&load.notes, &job.output)?;
    let tree = Tree::open(&job.repository, &job.state, &job.build, job.server.as_deref())?;
    let commits = tree.commits(&job.good, &job.bad)?;
    let mut found = Bisect::new(commits, compare::load_of(plan)?, job.metric);
    let path = job.state.join("results.json");
    let place = ResultFile::new("--state", &path)?;
    if let Ok(text) = fs::read(&path) {
        let fault = || format!("{}: not a result of a bisection", path.display());
        if !found.resume(serde_json::from_slice(&text).with_context(fault)?) {
            bail!(
                "--state {}: it has the results of another search (commits, load or metric differ); name another folder",
                job.state.display()
            );
        }
    }
    let counting = match counted {
        Some(load) => Some(Counting { instruments: Instruments::find(Instrument::Auto)?, load }),
        None => noise::warn().map(|()| None)?,
    };
    frame.carry_out(&mut SearchRun { job, plan, counting, tree, found, place, is_checked: false })
}

/// Counting of instructions, and the place at which servers are started for it.
struct Counting<'j> {
    instruments: Instruments,
    load: &'j CountedLoad,
}

/// A search as it goes, a commit each step.
struct SearchRun<'j> {
    job: &'j Options,
    plan: &'j Plan,
    /// Set if instructions are looked at.
    counting: Option<Counting<'j>>,
    tree: Tree,
    found: Bisect,
    /// File from which the search resumes.
    place: ResultFile,
    /// Set once the servers of both ends are known to be built.
    is_checked: bool,
}

impl Experiment for SearchRun<'_> {
    fn planned_s(&self) -> f64 {
        let halvings = (self.found.last() as f64).log2();
        (BLOCKS_EXPECTED + BLOCKS_OF_HALVING * halvings) * RUNS * planned_s(self.plan)
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let last = self.found.last();
        if !self.is_checked {
            diagnostics::say(format_args!("{last} commits after {}", self.describe(0)))?;
            for member in [0, last] {
                if let Err(why) = self.tree.server_of(self.found.commit(member))? {
                    bail!("{}: {}", self.describe(member), report::escape(why));
                }
            }
            self.is_checked = true;
        }
        let next = self.found.next(self.job.sure);
        if let Some(member) = next {
            let built = self.tree.server_of(self.found.commit(member))?;
            match built {
                Ok(_) if !self.block(member, frame)? => return Ok(Step::Last(End::Interrupted)),
                Ok(_) => {}
                Err(why) => self.skip(member, &why)?,
            }
        }
        self.place.write(self.found.to_json()?.as_bytes())?;
        Ok(if next.is_some() { Step::Next } else { Step::Last(End::Complete) })
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.found
    }
}

impl SearchRun<'_> {
    /// `0a1b2c3d4e5f Make it faster`.
    fn describe(&self, member: usize) -> String {
        report::escape(self.found.commit(member).describe())
    }

    fn skip(&mut self, member: usize, why: &str) -> Result<()> {
        self.found.skip(member, why);
        let why = report::escape(why);
        Ok(diagnostics::say(format_args!("{} is skipped: {why}", self.describe(member)))?)
    }

    /// Takes one block of a member beside the good one; a member whose server cannot be measured is skipped. Returns
    /// whether the search goes on: not after Ctrl-C.
    fn block(&mut self, member: usize, frame: &mut Frame<'_>) -> Result<bool> {
        let members: &[usize] =
            if self.counting.is_some() { &[member] } else { &[0, member, member, 0] };
        let mut value = 0.0;
        for of in members.iter().copied() {
            let server = self.tree.server_of(self.found.commit(of))?.map_err(|why| anyhow!(why))?;
            let figure = match &self.counting {
                Some(counting) => self.counted(counting, &server, member, frame),
                None => self.run(&server, member, frame),
            };
            if frame.is_interrupted() {
                return Ok(false);
            }
            match figure {
                Ok(figure) if of == 0 => value -= figure.ln(),
                Ok(figure) => value += figure.ln(),
                Err(error) if of == 0 || member == self.found.last() => {
                    return Err(error.context(self.describe(of)));
                }
                Err(error) => {
                    self.skip(member, &format!("its server cannot be measured: {error:#}"))?;
                    return Ok(true);
                }
            }
        }
        self.found.add(member, value / members.iter().filter(|of| **of == member).count() as f64);
        diagnostics::say(report::escape(self.found.progress(member)))?;
        Ok(true)
    }

    /// The figure of one run on a start of this server.
    fn run(&self, server: &Path, member: usize, frame: &mut Frame<'_>) -> Result<f64> {
        let plan = self.plan.try_with(|parts| start(&mut parts.target, server))?;
        let connections = plan.own_connections();
        let bed =
            TestBed::reach(&plan.target, plan.protocol, connections, None, frame.interrupted)?;
        let run = frame.run(&bed, &plan, self.describe(member), 0.0)?.failed_if_refused();
        if let Ending::Failed(failure) = &run.measurement.ending {
            bail!("{failure}");
        }
        let figures = Figures::from_summary(&Summary::from_run(&run));
        let figure = figures.get(self.job.metric).filter(|figure| *figure > 0.0);
        figure.context("the run does not have this figure")
    }

    /// Instructions of this server for each request, divided by those of the good commit's.
    fn counted(
        &self,
        counting: &Counting<'_>,
        server: &Path,
        member: usize,
        frame: &mut Frame<'_>,
    ) -> Result<f64> {
        let good = self.tree.server_of(self.found.commit(0))?.map_err(|why| anyhow!(why))?;
        let number = self.found.values(member).len() as u32;
        let mut counts: Vec<Counts> = Vec::new();
        for (server, of) in [(&*good, 0), (server, member)] {
            let mut at = counting.load.started_at.clone();
            start(&mut at, server)?;
            let start = Start { plans: [&counting.load.half, self.plan], at: &at, number };
            let counted = counting.instruments.count(&start, &self.describe(of), 0.0, frame)?;
            counts.push(counted.context("interrupted")?);
        }
        let [good, new] = &aligned(&counts)[..] else { bail!("nothing was counted") };
        Ok(new.instructions / good.instructions)
    }
}

/// Makes this server the one that is started.
fn start(target: &mut Target, server: &Path) -> Result<()> {
    let Endpoint::Spawned { program, .. } = &mut target.endpoint else {
        bail!("the load is not on a server that is started");
    };
    *program = Some(server.display().to_string());
    Ok(())
}
