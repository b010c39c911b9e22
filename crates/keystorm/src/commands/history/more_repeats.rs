//! `compare --baseline --until-sure`: repeats the newest runs, by the plans saved with them, until their
//! difference from earlier runs is known precisely enough.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cli::compare::UntilSure;
use console::diagnostics;
use console::result_file::ResultFile;
use history::{Entry, RunShortage, Series, series};
use job::End;
use measure::Ending;
use page::Page;
use report::{Record, Run, Summary};
use workload::quantity::counted;

use super::options::BaselineOptions;
use super::{grouping, terms};
use crate::commands::show;
use crate::experiment::files::Files;
use crate::experiment::progress::{Progress, planned_s};
use crate::machine::machine;
use crate::signals;
use crate::test_bed::TestBed;

const OPTION: &str = "--until-sure";
/// Estimated overhead of a repeat, until one has been measured.
const BESIDE_LOAD: Duration = Duration::from_millis(300);

/// The files that are judged against earlier ones.
#[derive(Default)]
pub(super) struct NewSide {
    /// Names of the files, as in entries.
    files: BTreeSet<String>,
    /// Number of runs that were added to the files.
    pub(super) added: usize,
}

impl NewSide {
    /// The named files; if none is named, the newest file of each series and its repeats.
    pub(super) fn new(
        all: &[Series],
        is_newest: &dyn Fn(&Entry) -> bool,
        job: &BaselineOptions,
    ) -> Self {
        let entries = || all.iter().flat_map(|series| &series.entries);
        if !job.files.is_empty() {
            let files = entries().filter(|entry| is_newest(entry));
            return Self { files: files.map(|entry| entry.file.clone()).collect(), added: 0 };
        }
        let known: BTreeSet<&str> = entries().map(|entry| entry.file.as_str()).collect();
        let newest = all.iter().filter_map(|of| of.entries.iter().rfind(|entry| is_newest(entry)));
        let newest: BTreeSet<String> = newest.map(|entry| original(&entry.file, &known)).collect();
        let is_one = |file: &&&str| newest.contains(&original(file, &known));
        Self { files: known.iter().filter(is_one).map(ToString::to_string).collect(), added: 0 }
    }

    /// Returns whether one of the files holds an entry.
    pub(super) fn holds(&self, entry: &Entry) -> bool {
        self.files.contains(&entry.file)
    }
}

/// The file that `file` is a repeat of, if it is known; otherwise `file` itself.
fn original(file: &str, known: &BTreeSet<&str>) -> String {
    let stem = file.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-'));
    let of = stem.filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let of = of.map(|(stem, _)| format!("{stem}.json"));
    of.filter(|of| known.contains(of.as_str())).unwrap_or_else(|| file.to_owned())
}

/// The name of repeat number `number` of a file.
fn repeat_name(original: &str, number: usize) -> String {
    let stem = original.strip_suffix(".json").unwrap_or(original);
    format!("{stem}-{number}.json")
}

/// Repeats the newest runs until all changes are known as precisely as requested, could not be in time, or
/// need only earlier runs. Adds the results to the entries; `page` makes the page of all so far.
///
/// # Errors
/// Returns an error if a repeat fails, or cannot be saved.
pub(super) fn carry_out(
    job: &BaselineOptions,
    asked: UntilSure,
    (entries, new): (&mut Vec<Entry>, &mut NewSide),
    files: &mut Files,
    page: &dyn Fn(&[Entry], &NewSide) -> Page,
) -> Result<End> {
    let interrupted = signals::interrupted()?;
    let mut repeats = Repeats { job, interrupted, refused: BTreeSet::new(), took: BTreeMap::new() };
    let mut progress = files.progress();
    files.show(|| page(entries, new));
    let began = Instant::now();
    let end = loop {
        let wanted = repeats.wanted(entries, new, asked.share);
        let Some(left) = repeats.time_for(&wanted)? else { continue };
        if wanted.is_empty() {
            break End::Complete;
        }
        if began.elapsed() + left > asked.within {
            let minutes = (left.as_secs_f64() / 60.0).ceil();
            progress.clear();
            diagnostics::say(format_args!(
                "{OPTION}: further repeats would take about {minutes:.0} min; --sure-within allows more time"
            ))?;
            break End::Complete;
        }
        for name in wanted.keys() {
            match repeats.take(name, new, &mut progress)? {
                Some(Repeat::Taken(file, taken)) => {
                    entries.extend(taken);
                    new.files.insert(file);
                    new.added += 1;
                    files.show(|| page(entries, new));
                }
                Some(Repeat::Interrupted) => {
                    progress.clear();
                    return Ok(End::Interrupted);
                }
                None => {}
            }
        }
        history::sort_by_time(entries);
    };
    progress.clear();
    if new.added > 0 {
        let text = counted(new.added as u64, "repeat");
        diagnostics::say(format_args!("{OPTION}: took {text}, kept beside what was repeated"))?;
    }
    Ok(end)
}

/// Result of a repeat.
enum Repeat {
    /// File of the repeat, and its entries.
    Taken(String, Vec<Entry>),
    Interrupted,
}

/// State of the repeated files.
struct Repeats<'j> {
    job: &'j BaselineOptions,
    interrupted: &'j AtomicBool,
    /// Files that cannot be repeated.
    refused: BTreeSet<String>,
    /// Time that a repeat of each file takes.
    took: BTreeMap<String, Duration>,
}

impl Repeats<'_> {
    /// The original files that need repeats, with the number needed.
    fn wanted(&self, entries: &[Entry], new: &NewSide, share: f64) -> BTreeMap<String, usize> {
        let known: BTreeSet<&str> = entries.iter().map(|entry| entry.file.as_str()).collect();
        let all = series(entries, grouping(&self.job.reading));
        let changes = history::changes(&all, &|entry| new.holds(entry), terms(self.job), share);
        let mut wanted = BTreeMap::new();
        for change in changes {
            let RunShortage::Newest(more) = change.lack else { continue };
            let file = original(&change.newest, &known);
            if !self.refused.contains(&file) {
                let most: &mut usize = wanted.entry(file).or_default();
                *most = (*most).max(more);
            }
        }
        wanted
    }

    /// Returns the duration of the needed repeats; `None` if a file turns out not to be repeatable.
    fn time_for(&mut self, wanted: &BTreeMap<String, usize>) -> Result<Option<Duration>> {
        let mut all = Duration::ZERO;
        for (name, more) in wanted {
            if !self.took.contains_key(name) {
                let runs = show::read(&self.path(name))?.runs;
                if let Some(why) = refusal(&runs, self.job.reading.any_machine) {
                    self.refuse(name, &why)?;
                    return Ok(None);
                }
                let planned = |run: &Run| {
                    let measured_s = run.measurement.elapsed_ns as f64 / 1e9;
                    Duration::from_secs_f64(measured_s.max(planned_s(&run.plan).min(1.0)))
                };
                let load: Duration = runs.iter().map(planned).sum();
                self.took.insert(name.clone(), load + BESIDE_LOAD);
            }
            all += self.took[name] * (*more).try_into().unwrap_or(u32::MAX);
        }
        Ok(Some(all))
    }

    fn refuse(&mut self, name: &str, why: &str) -> Result<()> {
        self.refused.insert(name.to_owned());
        let text = report::escape(format!("{OPTION}: {name} is not repeated: {why}"));
        Ok(diagnostics::say(text)?)
    }

    /// Returns the path of a file.
    fn path(&self, name: &str) -> PathBuf {
        let is_named = self.job.files.iter().any(|file| file.display().to_string() == name);
        if is_named { PathBuf::from(name) } else { self.job.reading.dir.join(name) }
    }

    /// Repeats a file, on a new start of the server if keystorm starts it; `None` if that is impossible.
    fn take(
        &mut self,
        name: &str,
        new: &NewSide,
        progress: &mut Progress,
    ) -> Result<Option<Repeat>> {
        let began = Instant::now();
        let loaded = show::read(&self.path(name))?;
        let place = |number| self.path(name).with_file_name(repeat_name(&file_name(name), number));
        // What cannot be kept need not be measured.
        ResultFile::new(OPTION, &place(new.files.len() + 1))?;
        let runs = match self.runs(&loaded.runs, progress) {
            Ok(Ok(Some(runs))) => runs,
            Ok(Ok(None)) => return Ok(Some(Repeat::Interrupted)),
            Ok(Err(why)) => {
                progress.clear();
                self.refuse(name, &why)?;
                return Ok(None);
            }
            Err(error) => return Err(error.context(report::escape(name))),
        };
        let before = history::entries(name, &loaded.runs)?;
        if !are_alike(&before, &history::entries(name, &runs)?) {
            self.refuse(name, "what it asks for is another load on this machine")?;
            return Ok(None);
        }
        let mut record = Record::new(loaded.suite);
        for (at, run) in runs.iter().enumerate() {
            record.put(at, &Summary::from_run(run))?;
        }
        record.set_complete();
        let number = free_number(&place)?;
        ResultFile::new(OPTION, &place(number))?.write(record.to_json()?.as_bytes())?;
        let file = repeat_name(name, number);
        let entries = history::entries(&file, &runs)?;
        self.took.insert(name.to_owned(), began.elapsed());
        Ok(Some(Repeat::Taken(file, entries)))
    }

    /// Runs the plans of these runs once more. The inner error is the reason why that is impossible; `None`
    /// means Ctrl-C.
    fn runs(
        &self,
        before: &[Run],
        progress: &mut Progress,
    ) -> Result<Result<Option<Vec<Run>>, String>> {
        let Some(first) = before.first() else { return Ok(Err("there is no test in it".into())) };
        let connections = before.iter().map(|run| run.plan.all_connections()).max().unwrap_or(1);
        let (target, protocol) = (&first.plan.target, first.plan.protocol);
        let reached = TestBed::reach(target, protocol, connections, None, self.interrupted);
        let mut bed = match reached {
            Ok(bed) => bed,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        bed.settings.journal = true;
        let (was, is) = (first.server.name(), bed.server.facts.name());
        if was != is {
            let unknown = || "an unknown server".to_owned();
            let (was, is) = (was.unwrap_or_else(unknown), is.unwrap_or_else(unknown));
            return Ok(Err(format!(
                "it was measured on {was}, and {} is {is}",
                bed.server.address
            )));
        }
        let mut round = first.repeat.map_or(1, |repeat| repeat.number);
        let mut runs = Vec::new();
        for run in before {
            let number = run.repeat.map_or(round, |repeat| repeat.number);
            if bed.server.is_own() && number != round {
                bed.restart(&run.plan.target)?;
            }
            round = number;
            progress.begin(report::escape(&run.plan.name), planned_s(&run.plan), 0.0);
            let again = bed.run(&run.plan, None, progress);
            progress.end();
            let again = Run { repeat: run.repeat, slo: run.slo.clone(), ..again? };
            match &again.measurement.ending {
                Ending::Complete => runs.push(again),
                Ending::Interrupted => return Ok(Ok(None)),
                Ending::Failed(failure) => bail!("{failure}"),
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(Ok(None));
            }
        }
        Ok(Ok(Some(runs)))
    }
}

/// Returns whether the entries belong to the same series.
fn are_alike(a: &[Entry], b: &[Entry]) -> bool {
    let of = |entry: &Entry| (entry.test.clone(), entry.load.clone(), entry.target.clone());
    a.iter().map(of).eq(b.iter().map(of))
}

fn file_name(name: &str) -> String {
    Path::new(name).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The first number from 2 for which no file exists; makes the file, so that no other process takes it.
fn free_number(place: &dyn Fn(usize) -> PathBuf) -> Result<usize> {
    for number in 2.. {
        let path = place(number);
        match fs::File::create_new(&path) {
            Ok(_) => return Ok(number),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("{OPTION} {}", path.display()));
            }
        }
    }
    bail!("{OPTION}: there is no free name")
}

/// Returns the reason why runs cannot be repeated here; `None` if they can.
fn refusal(runs: &[Run], any_machine: bool) -> Option<String> {
    let here = machine();
    for run in runs {
        if !run.plan.secrets().is_empty() {
            return Some("it needs a password, which is not saved".to_owned());
        }
        if run.plan.recorded.is_some() {
            return Some("it sends recorded traffic".to_owned());
        }
        if run.clients.is_some() {
            return Some("several clients carried it out".to_owned());
        }
        if run.version != env!("CARGO_PKG_VERSION") {
            let own = env!("CARGO_PKG_VERSION");
            return Some(format!("keystorm {} carried it out, and this is {own}", run.version));
        }
        let of = run.host.as_ref();
        let (was, is) = if any_machine {
            (of.and_then(|host| host.cpu.model.clone()), here.cpu.model.clone())
        } else {
            (of.and_then(|host| host.hostname.clone()), here.hostname.clone())
        };
        if was != is {
            let unknown = || "another machine".to_owned();
            return Some(format!("it was measured from {}", was.unwrap_or_else(unknown)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_is_known_by_its_original() {
        let known = BTreeSet::from(["a.json", "a-2.json", "below/b-3.json", "20261125-0a.json"]);
        assert_eq!(original("a-2.json", &known), "a.json");
        assert_eq!(original("a-12.json", &known), "a.json");
        assert_eq!(original("a.json", &known), "a.json");
        assert_eq!(
            original("below/b-3.json", &known),
            "below/b-3.json",
            "there is no below/b.json"
        );
        assert_eq!(original("20261125-0a.json", &known), "20261125-0a.json");
        assert_eq!(repeat_name("below/b.json", 4), "below/b-4.json");
    }

    #[test]
    fn nobody_gets_a_number_twice() {
        let dir = tempfile::tempdir().unwrap();
        let place = |number| dir.path().join(repeat_name("a.json", number));
        let numbers = [2, 3, 4].map(|_| free_number(&place).unwrap());
        assert_eq!(numbers, [2, 3, 4]);
    }
}
