//! `keystorm bisect`: finds the commit that changed a figure of a server.
//!
//! Each measurement is a block of four runs, good, candidate, candidate, good, each on a new start of its
//! server, which cancels changes of the machine. `statistics` decides which commit is measured next.

mod options;
mod results;
mod tree;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use console::diagnostics;
use job::End;
use measure::Ending;
use report::{Figures, Summary, compare};
use statistics::{Bisection, Conclusion, Mean, Suspects};
use workload::{Endpoint, Plan, PlanParts};

use self::options::BisectJob;
use crate::commands::run::say;
use crate::experiment::noise;
use crate::experiment::progress::{Progress, planned_s};
use crate::signals;
use crate::test_bed::TestBed;
use results::ResultFile;
use tree::{Commit, Tree};

pub(crate) use options::FRONT;

/// Blocks of the bad commit at first, from which the size and the spread of the change are known. This many
/// are added once if those do not show that it differs.
const BLOCKS_FIRST: usize = 5;
const BLOCKS_FIRST_MAX: usize = 15;
/// Most measurements; more would find nothing new.
const BLOCKS_MAX: usize = 400;

/// Searches, and prints the commit.
///
/// # Errors
/// Returns the reason for a failure in words for a person; earlier measurements are in the folder of the
/// search.
fn bisect(job: &BisectJob) -> Result<End> {
    let Some(plan) = job.load.plans.first() else { bail!("there is no test") };
    job.load.notes.iter().try_for_each(diagnostics::say)?;
    let tree = Tree::open(&job.repository, &job.state, &job.build, job.server.as_deref())?;
    let commits = tree.commits(&job.good, &job.bad)?;
    let last = commits.len() - 1;
    let load = compare::load_of(plan)?;
    let file = ResultFile::open(
        &job.state,
        [&commits[0].hash, &commits[last].hash],
        (load, job.metric.name()),
    )?;
    let interrupted = signals::interrupted()?;
    noise::warn()?;
    let mut search = Search { job, plan, tree, commits, file, interrupted };
    search.carry_out()
}

/// A search.
struct Search<'j> {
    job: &'j BisectJob,
    plan: &'j Plan,
    tree: Tree,
    /// The good commit, and those after it up to the bad one.
    commits: Vec<Commit>,
    file: ResultFile,
    interrupted: &'j AtomicBool,
}

impl Search<'_> {
    fn carry_out(&mut self) -> Result<End> {
        let last = self.commits.len() - 1;
        say(&format!("{last} commits after {}\n", self.describe(0)))?;
        for member in [0, last] {
            if let Err(why) = self.tree.server_of(&self.commits[member])? {
                bail!("{}: {}", self.describe(member), report::escape(why));
            }
        }
        let mut wanted = BLOCKS_FIRST;
        let mut bisection = loop {
            while self.values(last).len() < wanted {
                if !self.measure(last)? {
                    return Ok(End::Interrupted);
                }
            }
            let values = self.values(last).to_vec();
            match Bisection::new(last, &values).filter(|_| differs(&values)) {
                Some(bisection) => break bisection,
                None if wanted < BLOCKS_FIRST_MAX => wanted = BLOCKS_FIRST_MAX,
                None => return self.no_difference(&values),
            }
        };
        say(&format!("{}: {}\n", self.describe(last), self.change(self.values(last))))?;
        for member in 1..last {
            if self.file.results.skipped.contains_key(&self.commits[member].hash) {
                bisection.skip(member);
            }
            self.values(member).iter().for_each(|value| bisection.observe(member, *value));
        }
        self.halve(&mut bisection)
    }

    /// Measures the most informative member until the answer is certain.
    fn halve(&mut self, bisection: &mut Bisection) -> Result<End> {
        for _ in 0..BLOCKS_MAX {
            let found = bisection.suspects(self.job.sure);
            let next = bisection.next().filter(|_| found.members.len() > 1);
            let Some(member) = next else { return self.found(&found) };
            if let Err(why) = self.tree.server_of(&self.commits[member])? {
                self.skip(member, &why)?;
                bisection.skip(member);
                continue;
            }
            let before = self.values(member).len();
            if !self.measure(member)? {
                return Ok(End::Interrupted);
            }
            match self.values(member).get(before) {
                Some(value) => bisection.observe(member, *value),
                None => bisection.skip(member),
            }
            let most = bisection.suspects(0.0);
            say(&format!(
                "{}: {}; most probable is {} ({:.0} %)\n",
                self.describe(member),
                self.change(self.values(member)),
                self.commits[most.members[0]].short(),
                most.probability * 100.0
            ))?;
        }
        self.found(&bisection.suspects(self.job.sure))
    }

    fn values(&self, member: usize) -> &[f64] {
        self.file.results.measured.get(&self.commits[member].hash).map_or(&[], Vec::as_slice)
    }

    /// Formats a member as `0a1b2c3d4e5f Make it faster`.
    fn describe(&self, member: usize) -> String {
        let commit = &self.commits[member];
        report::escape(format!("{} {}", commit.short(), commit.subject))
    }

    /// Formats the change in these blocks, such as `throughput −3.1 % beside the good one (5 blocks)`.
    fn change(&self, values: &[f64]) -> String {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let percent = format!("{:+.1} %", (mean.exp() - 1.0) * 100.0).replace('-', "−");
        let blocks = workload::quantity::counted(values.len() as u64, "block");
        format!("{} {percent} beside the good one ({blocks})", compare::called(self.job.metric))
    }

    fn skip(&mut self, member: usize, why: &str) -> Result<()> {
        diagnostics::say(format_args!(
            "{} is skipped: {}",
            self.describe(member),
            report::escape(why)
        ))?;
        let hash = self.commits[member].hash.clone();
        self.file.results.skipped.insert(hash, why.to_owned());
        self.file.save()
    }

    /// Measures one block of a member beside the good one; a member whose server cannot be measured is
    /// skipped. Returns `false` after Ctrl-C.
    fn measure(&mut self, member: usize) -> Result<bool> {
        let mut logarithms = [0.0; 4];
        for (run, of) in [0, member, member, 0].into_iter().enumerate() {
            let server = self.tree.server_of(&self.commits[of])?.map_err(|why| anyhow!(why))?;
            let figure = self.run(&server, member);
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(false);
            }
            match figure {
                Ok(figure) => logarithms[run] = figure.ln(),
                Err(error) if of == 0 || member + 1 == self.commits.len() => {
                    return Err(error.context(self.describe(of)));
                }
                Err(error) => {
                    self.skip(member, &format!("its server cannot be measured: {error:#}"))?;
                    return Ok(true);
                }
            }
        }
        let [a, b, c, d] = logarithms;
        let hash = self.commits[member].hash.clone();
        self.file.results.measured.entry(hash).or_default().push((b + c - a - d) / 2.0);
        self.file.save()?;
        Ok(true)
    }

    /// The figure of one run on a new start of this server.
    fn run(&self, server: &Path, member: usize) -> Result<f64> {
        let mut parts: PlanParts = (**self.plan).clone();
        let Endpoint::Spawned { program, .. } = &mut parts.target.endpoint else {
            bail!("the load is not on a server that is started");
        };
        *program = Some(server.display().to_string());
        let plan = parts.build().map_err(|error| anyhow!(error.to_string()))?;
        let bed = TestBed::reach(
            &plan.target,
            plan.protocol,
            plan.own_connections(),
            None,
            self.interrupted,
        )?;
        let mut progress = Progress::new(None);
        progress.begin(self.describe(member), planned_s(&plan), 0.0);
        let run = bed.run(&plan, None, &mut progress);
        progress.end();
        progress.clear();
        let run = run?.failed_if_refused();
        if let Ending::Failed(failure) = &run.measurement.ending {
            bail!("{failure}");
        }
        let figures = Figures::from_summary(&Summary::from_run(&run));
        let figure = figures.get(self.job.metric).filter(|figure| *figure > 0.0);
        figure.context("the run does not have this figure")
    }

    /// The answer.
    fn found(&mut self, found: &Suspects) -> Result<End> {
        let Suspects { members, probability } = found;
        let mut members = members.clone();
        members.sort();
        self.file.results.found = members.iter().map(|m| self.commits[*m].hash.clone()).collect();
        self.file.results.probability = Some(*probability);
        self.file.save()?;
        let percent = probability * 100.0;
        let last = self.values(self.commits.len() - 1).to_vec();
        let change = self.change(&last);
        if let [only] = members[..] {
            say(&format!("The change came with {}\n", self.describe(only)))?;
            say(&format!("with a probability of {percent:.1} %; {change} at the bad commit.\n"))?;
            return Ok(End::Complete);
        }
        say(&format!(
            "The change came with one of {} commits, with a probability of {percent:.1} %:\n",
            members.len()
        ))?;
        members
            .iter()
            .try_for_each(|member| say(&format!("  {}\n", self.describe(*member))).map(drop))?;
        let skipped = self.file.results.skipped.len();
        if skipped > 0 {
            say(&format!("{skipped} commits could not be built or measured.\n"))?;
        }
        Ok(End::Inconclusive)
    }

    fn no_difference(&self, values: &[f64]) -> Result<End> {
        let last = self.commits.len() - 1;
        say(&format!("{}: {}\n", self.describe(last), self.change(values)))?;
        let interval = Mean::from_values(values).and_then(|mean| mean.interval);
        let interval = interval.map_or(String::new(), |of| {
            let percent = |ln: f64| format!("{:+.1} %", (ln.exp() - 1.0) * 100.0).replace('-', "−");
            format!(" (95 % interval {} to {})", percent(of.low), percent(of.high))
        });
        say(&format!(
            "The two commits do not surely differ{interval}; make the runs longer (--duration), or choose another load or --metric.\n"
        ))?;
        Ok(End::Inconclusive)
    }
}

/// Returns whether these blocks show that the bad commit differs.
fn differs(values: &[f64]) -> bool {
    let ratios: Vec<f64> = values.iter().map(|value| value.exp()).collect();
    let ratio = statistics::RatioEstimate::paired(&vec![1.0; ratios.len()], &ratios, 0.0);
    ratio.is_some_and(|ratio| ratio.conclusion() == Conclusion::Differ)
}
