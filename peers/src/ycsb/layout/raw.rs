//! The log of `measurementtype=raw`: a line for each operation, and figures for each name. The caller chooses the file.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use measure::{Entries, LogEntry, LoggedOutcome};
use report::{Run, escape};
use workload::LogSubject;

use super::figures::{Figure, Figures};
use super::named::{Misses, NamedSource, named};
use super::options::{Interval, YcsbOptions};
use super::sections::{CLEANUP, INTENDED, ReturnCounts, Section, VERIFY, sections};

/// Ways in which an operation can end.
const ENDINGS: [LoggedOutcome; 4] =
    [LoggedOutcome::Ok, LoggedOutcome::Missed, LoggedOutcome::Failed, LoggedOutcome::Wrong];

/// Log of a run's operations, by the names of its sections.
#[derive(Debug)]
pub(crate) struct RawLog<'r> {
    run: &'r Run,
    options: &'r YcsbOptions,
}

/// An operation: when it ended, in microseconds since load began, and how many it took.
type RawOperation = (u64, u32);

impl<'r> RawLog<'r> {
    /// Returns the log of a run, in a report with these options.
    pub(crate) fn new(run: &'r Run, options: &'r YcsbOptions) -> Self {
        Self { run, options }
    }

    /// Writes a heading and the lines of each section: its name, when an operation ended in milliseconds
    /// of Unix time, and the microseconds that it took.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let started_at = self.run.measurement.started_at.duration_since(SystemTime::UNIX_EPOCH);
        let started_at = started_at.unwrap_or_default();
        for Section { name, .. } in self.sections() {
            let Some((shown, _)) = self.options.kind.other(&name) else { continue };
            writeln!(out, "{shown} latency raw data: op, timestamp(ms), latency(us)")?;
            for (done_us, took_us) in self.lines(&name) {
                let done_ms = (started_at + Duration::from_micros(done_us)).as_millis();
                writeln!(out, "{shown},{done_ms},{took_us}")?;
            }
        }
        Ok(())
    }

    /// The sections of the run.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let Self { run, options } = *self;
        let connections = u64::from(run.plan.own_connections());
        let total = &run.measurement.total;
        sections(&run.plan, total, connections, options)
    }

    /// Operations that there was no room for.
    pub(crate) fn left_out(&self) -> u64 {
        self.run.measurement.logs.iter().map(measure::OperationLog::left_out).sum()
    }

    /// The figures of a section, by the name that it has here.
    pub(super) fn figures(
        &self,
        section: &Section,
        name: &str,
        returned: Option<ReturnCounts>,
    ) -> Vec<Figure> {
        let mut took_us: Vec<u32> =
            self.lines(&section.name).into_iter().map(|(_, took_us)| took_us).collect();
        took_us.sort_unstable();
        let mut figures = Figures::new(name);
        let count = took_us.len();
        figures.whole("Total Operations", count as u64);
        if let (Some(least), Some(most), false) =
            (took_us.first(), took_us.last(), self.options.no_summary)
        {
            figures.filler("Below is a summary of latency in microseconds:");
            let sum: u64 = took_us.iter().map(|us| u64::from(*us)).sum();
            figures.real("Average", sum as f64 / count as f64);
            figures.whole("Min", (*least).into());
            figures.whole("Max", (*most).into());
            for (label, part) in PERCENTILES {
                let us = took_us[(count as f64 * part) as usize];
                figures.whole(label, us.into());
            }
        }
        figures.returned(returned);
        figures.all
    }

    /// The operations of a section, in the order in which they ended.
    fn lines(&self, section: &str) -> Vec<RawOperation> {
        let measurement = &self.run.measurement;
        let plain = section.strip_prefix(INTENDED);
        let intended = plain.is_some() || self.options.interval == Interval::Intended;
        let name = plain.unwrap_or(section);
        if name == CLEANUP {
            let connections = self.run.plan.own_connections() as usize;
            return vec![(measurement.elapsed_ns / 1_000, 0); connections];
        }
        let all = named(&self.run.plan);
        let mut lines = Vec::new();
        for (section, ended) in all.iter().flat_map(|section| ENDINGS.map(|ended| (section, ended)))
        {
            let is_checked = name == VERIFY && section.name == "READ" && !intended;
            if is_checked && self.run.plan.peer.checks.is_some() {
                // Bytes are compared as they arrive.
                self.each(section.source, ended, |entry| lines.push((entry.done_us, 0)));
            } else if self.name_of(section, ended) == name {
                self.each(section.source, ended, |entry| {
                    let LogEntry { done_us, service_us, response_us } = *entry;
                    lines.push((done_us, if intended { response_us } else { service_us }));
                });
            }
        }
        lines.sort_by_key(|(done_us, _)| *done_us);
        lines
    }

    /// The name of the section that something which ended so is in.
    fn name_of(&self, named: &NamedSource, ended: LoggedOutcome) -> String {
        let well = match (ended, named.misses) {
            // A wrong value is that of a read that went well.
            (LoggedOutcome::Ok | LoggedOutcome::Wrong, _) | (_, Misses::AllSucceed) => true,
            (LoggedOutcome::Missed, misses) => misses == Misses::Succeed,
            (LoggedOutcome::Failed, _) => false,
        };
        let name = if well {
            named.name.clone()
        } else {
            format!("{}-{}", named.name, self.options.failed)
        };
        escape(name)
    }

    fn each(&self, source: LogSubject, ended: LoggedOutcome, mut take: impl FnMut(&LogEntry)) {
        let different = self.run.plan.different_commands();
        for log in &self.run.measurement.logs {
            let entries: Option<&Entries> = match source {
                LogSubject::Command(at) => log.of_command(different.of[at as usize] as usize),
                LogSubject::Operation(at) => log.of_operation(at as usize),
            };
            entries.into_iter().flat_map(|entries| entries.with_outcome(ended)).for_each(&mut take);
        }
    }
}

/// Percentiles of the latencies: the name, and the part of them that is below.
const PERCENTILES: [(&str, f64); 8] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

#[cfg(test)]
mod tests {
    use measure::{OperationLog, OperationOutcome, Outcome, Sample, Stamps};
    use workload::{CommandSpec, Mix, MixStep, Operation, Pick, StepCondition};

    use super::super::named::logged;
    use super::super::options::Kind;
    use super::*;
    use report::fixture;

    fn of_kind(name: &str) -> Kind {
        Kind::named(name).unwrap()
    }

    /// A run of reads, and of reads that are followed by an update.
    fn run() -> Run {
        let operation = |name: &str, steps| Operation {
            name: name.to_owned(),
            weight: 1,
            steps: vec![MixStep { commands: 1, when: StepCondition::Always }; steps],
            keys: None,
        };
        let mut run = fixture::changed(|parts| {
            let commands = [["HGETALL", "a"], ["HGETALL", "b"], ["DEL", "b"]];
            parts.sequence = commands.iter().map(|words| CommandSpec::from_words(*words)).collect();
            let operations = vec![operation("READ", 1), operation("READ-MODIFY-WRITE", 2)];
            parts.mix = Some(Mix { operations, pick: Pick::Drawn });
            parts.peer.separate_failures = true;
            parts.peer.logged = logged(parts);
        });
        let plan = &run.plan;
        let all = || OperationLog::new(&plan.logged_commands(), &plan.logged_operations(), 100);
        let mut logs = vec![all(), all()];
        for (worker, command, outcome, done_us) in [
            (0, 0, Outcome::Ok, 3_000),
            (1, 1, Outcome::Ok, 1_000),
            (1, 2, Outcome::Ok, 1_500),
            (1, 0, Outcome::Miss, 2_000),
        ] {
            logs[worker].begin(0);
            let done_ns = done_us * 1_000;
            let (intended_ns, sent_ns) = (done_ns - 150_000, done_ns - 100_000 - done_us);
            let sample = Sample {
                command,
                outcome,
                count: 1,
                bytes: 0,
                intended_ns,
                sent_ns,
                first_byte_ns: 0,
                arrived_ns: None,
                done_ns,
            };
            logs[worker].record(&sample);
            run.measurement.total.record(&sample);
        }
        let stamps = Stamps { intended_ns: 800_000, sent_ns: 900_000, done_ns: 1_500_000 };
        logs[1].operation(1, OperationOutcome::Ok, &stamps);
        run.measurement.total.operations[1].record(
            OperationOutcome::Ok,
            800_000,
            900_000,
            1_500_000,
        );
        // A clock that began in the middle of a millisecond.
        run.measurement.started_at = SystemTime::UNIX_EPOCH + Duration::from_micros(7_000_600);
        run.measurement.logs = logs;
        run
    }

    fn written(run: &Run, options: &YcsbOptions) -> String {
        let mut text = Vec::new();
        RawLog::new(run, options).write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().filter(|line| !line.contains(CLEANUP));
        lines.map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn every_operation_has_a_line_in_the_order_in_which_they_ended() {
        let options = YcsbOptions { kind: of_kind("raw"), ..YcsbOptions::default() };
        assert_eq!(
            written(&run(), &options),
            "READ latency raw data: op, timestamp(ms), latency(us)\n\
             READ,7001,101\n\
             READ,7003,103\n\
             READ-MODIFY-WRITE latency raw data: op, timestamp(ms), latency(us)\n\
             READ-MODIFY-WRITE,7002,600\n\
             READ-FAILED latency raw data: op, timestamp(ms), latency(us)\n\
             READ-FAILED,7002,102\n\
             UPDATE latency raw data: op, timestamp(ms), latency(us)\n\
             UPDATE,7002,101\n"
        );
    }

    #[test]
    fn latencies_from_when_operations_were_due_have_sections_of_their_own() {
        let (kind, interval) = (of_kind("hdrhistogram+raw"), Interval::Both);
        let options = YcsbOptions { kind, interval, failed: "ERROR", ..YcsbOptions::default() };
        let text = written(&run(), &options);
        for line in [
            "RawREAD,7003,103",
            "RawIntended-READ,7003,150",
            "RawREAD-ERROR,7002,102",
            "RawIntended-READ-ERROR,7002,150",
            "RawIntended-READ-MODIFY-WRITE,7002,700",
        ] {
            assert!(text.lines().any(|description| description == line), "{line}: {text}");
        }
        let intended =
            YcsbOptions { interval: Interval::Intended, kind: of_kind("raw"), ..options };
        assert!(written(&run(), &intended).contains("\nREAD,7003,150\n"));
    }

    #[test]
    fn figures_are_of_the_lines_and_left_out_on_request() {
        let options = YcsbOptions { kind: of_kind("raw"), ..YcsbOptions::default() };
        let run = run();
        let figures = |options: &YcsbOptions| -> Vec<(String, String)> {
            let raw = RawLog::new(&run, options);
            let sections = raw.sections();
            let read = sections.iter().find(|section| section.name == "READ").unwrap();
            let all = raw.figures(read, "READ", read.returned);
            all.into_iter().map(|(_, name, value)| (name, value)).collect()
        };
        let all = figures(&options);
        let of = |name: &str| all.iter().find(|(known, _)| known == name).unwrap().1.as_str();
        assert_eq!((of("Total Operations"), of("Average")), ("2", "102.0"));
        assert_eq!((of("Min"), of("Max")), ("101", "103"));
        assert_eq!((of("p1"), of("p50"), of("p99.99")), ("101", "103", "103"));
        assert_eq!(all.last().unwrap().0, "Return=ERROR");
        let few = figures(&YcsbOptions { no_summary: true, ..options });
        let names: Vec<&str> = few.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Total Operations", "Return=OK", "Return=ERROR"]);
    }
}
