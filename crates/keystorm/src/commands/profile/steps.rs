//! Carrying out `keystorm profile`: every test on every server at two lengths, over several starts.

use anyhow::{Result, bail};
use cli::job::End;
use lab::profile::{Counts, Difference, ProfiledServer, ProfiledTest, Work, aligned};
use lab::{Findings, Profile};
use report::compare::{self, GateState};

use super::counting::{Instruments, START_S, Start, requests};
use super::options::{CountedServer, Options};
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::machine::origin;
use crate::test_bed::TestBed;

/// Measures, prints the tables, and writes the page.
///
/// # Errors
/// Returns the reason why it was not carried out, in words for a person; earlier measurements are kept.
pub(super) fn profile(job: &Options) -> Result<End> {
    let notes = job.servers.iter().flat_map(|server| &server.job.notes);
    let frame = Frame::open(notes, &job.output)?;
    let instruments = Instruments::find(job.with)?;
    let tests = job.servers.iter().map(|server| server.job.plans.len()).min().unwrap_or(0);
    let profile = Profile {
        schema: lab::profile::SCHEMA.to_owned(),
        complete: false,
        counter: instruments.counter,
        counter_version: instruments.version.clone(),
        starts: job.starts,
        threshold: job.fail_on_regression,
        origin: origin(),
        servers: servers_of(job, &frame)?,
        tests: Vec::new(),
    };
    let counts = vec![vec![Vec::new(); job.servers.len()]; tests];
    frame.carry_out(&mut ProfileRun { job, instruments, counts, done: 0, profile })
}

/// Starts each server once as it is, to learn its name and that it starts.
fn servers_of(job: &Options, frame: &Frame<'_>) -> Result<Vec<ProfiledServer>> {
    let mut servers: Vec<ProfiledServer> = Vec::new();
    for server in &job.servers {
        let Some(plan) = server.job.plans.first() else { bail!("there is no test") };
        let (at, connections) = (&server.started_at, plan.own_connections());
        let bed = TestBed::reach(at, plan.protocol, connections, None, frame.interrupted)?;
        let name = bed.server.facts.version_name();
        servers.push(ProfiledServer { name, program: server.program.clone() });
    }
    if let [old, new] = &mut servers[..]
        && old.name == new.name
    {
        old.name += " (old)";
        new.name += " (new)";
    }
    Ok(servers)
}

/// A profile as it goes: for each start each test, and for each test each server.
struct ProfileRun<'j> {
    job: &'j Options,
    instruments: Instruments,
    /// Counts of each request, by test, server and start.
    counts: Vec<Vec<Vec<Counts>>>,
    /// Number of those.
    done: usize,
    profile: Profile,
}

impl Experiment for ProfileRun<'_> {
    fn planned_s(&self) -> f64 {
        let all = self.job.starts as usize * self.counts.len() * self.job.servers.len();
        (all - self.done) as f64 * 2.0 * START_S
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let (tests, servers) = (self.counts.len(), self.job.servers.len());
        let (start, part) = (self.done / (tests * servers), self.done % (tests * servers));
        if start == self.job.starts as usize {
            let has_failed = matches!(self.profile.gate(), Some((GateState::Failed, _)));
            return Ok(Step::Last(if has_failed { End::Regressed } else { End::Complete }));
        }
        let (test, server) = (part / servers, part % servers);
        let counted = &self.job.servers[server];
        let plans = [&counted.half, &counted.job].map(|job| &job.plans[test]);
        let title = format!("{}: {}", self.profile.servers[server].name, plans[0].name);
        self.done += 1;
        let start = Start { plans, at: &counted.started_at, number: start as u32 };
        if let Some(counts) = self.instruments.count(&start, &title, self.planned_s(), frame)? {
            self.counts[test][server].push(counts);
            self.profile.tests = self.tests()?;
        }
        Ok(Step::Next)
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.profile
    }
}

impl ProfileRun<'_> {
    /// The tests as far as they have been measured.
    fn tests(&self) -> Result<Vec<ProfiledTest>> {
        let mut tests = Vec::new();
        let CountedServer { job, half, .. } = &self.job.servers[0];
        let measured = half.plans.iter().zip(&job.plans).zip(&self.counts);
        for ((half, plan), servers) in measured.filter(|(_, servers)| !servers[0].is_empty()) {
            // Of both, as they call the same libc.
            let all = aligned(&servers.concat());
            let (old, new) = all.split_at(servers[0].len());
            let (load, requests) = (compare::load_of(plan)?, [half, plan].map(requests));
            tests.push(ProfiledTest {
                name: plan.name.clone(),
                load: format!("{:x}", md5::compute(load)),
                options: compare::options_of(plan),
                requests,
                servers: [old, new].into_iter().filter_map(Work::from_starts).collect(),
                difference: Difference::between(old, new, self.job.fail_on_regression),
            });
        }
        Ok(tests)
    }
}
