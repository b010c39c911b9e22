//! The command line of a run; `redis-benchmark` and `valkey-benchmark` share it.
//!
//! [`options`] holds what was typed, with the load as a [`spec::LoadSpec`]; [`plans`] turns it into a job.

mod clients;
mod options;
mod output;
mod persona;
mod phases;
mod plans;
mod verdict;

use std::borrow::Cow;
use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use naming::OptionId;
use report::Persona;
use serde_json::Value;
use spec::delivery::KindOfDelivery;
use spec::document::{self, Fields};
use spec::values::Seconds;
use spec::write::settings;
use spec::{KeyRange, LoadOptions, LoadSpec, OptionsAfterUri, Rate, Size, TlsArgs, dialect};

use super::ks_options::{PREFIX, check_output};
use super::suggestions::{explained, one_of};
use super::{FrontEnd, Intent, Job, UsageError, VerdictTo, help};
pub(super) use options::{Options, vocabulary};

/// Function that completes a load that was typed.
type Completion = Rc<dyn Fn(&mut LoadSpec)>;

/// The front end of a run: `keystorm`, `redis-benchmark` and `valkey-benchmark`.
pub(crate) struct RunFront;

impl FrontEnd for RunFront {
    fn names(&self) -> &'static [&'static str] {
        &persona::PEERS
    }

    fn command(&self) -> Option<Command> {
        Some(Options::command())
    }

    fn parse(&self, called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let name = called_as.unwrap_or("keystorm");
        Self::meaning(name, args, |_| ())
    }
}

impl RunFront {
    /// Returns what the words of a run mean; `complete` completes their load.
    ///
    /// # Errors
    /// Returns an error if they make no sense.
    pub(crate) fn meaning(
        name: &str,
        args: Vec<OsString>,
        complete: impl FnOnce(&mut ParsedArgs),
    ) -> Result<Intent, UsageError> {
        let usage = format!("{name} [OPTIONS] [--] [COMMAND ARGS...]");
        let (help, args) = help::of_run(name, args);
        let mut typed =
            match ParsedArgs::read(name, |command| help(command.override_usage(usage)), args)? {
                Ok(typed) => typed,
                Err(intent) => return Ok(intent),
            };
        complete(&mut typed);
        if typed.matches.get_flag("print_workload") {
            return phases::printed(&typed).map(Intent::Say);
        }
        let job = typed.job(|_| ())?;
        if typed.matches.get_flag("print_plan") {
            return Intent::plans(&job.plans);
        }
        Ok(Intent::Run(Box::new(job)))
    }
}

/// The options behind `--set`, with their values.
fn set_options(matches: &ArgMatches) -> Result<Fields, UsageError> {
    let mut options = Fields::new();
    for text in matches.get_many::<String>("settings").into_iter().flatten() {
        let (name, value) = match text.split_once('=') {
            Some((name, "true")) => (name, Value::Bool(true)),
            Some((name, "false")) => (name, Value::Bool(false)),
            Some((name, value)) => (name, Value::from(value)),
            None => (&**text, Value::Bool(true)),
        };
        if !settings().contains(&name) {
            return Err(UsageError(format!("--set: {}", one_of("setting", name, settings()))));
        }
        let value = document::value(name, value);
        let value = value.map_err(|why| UsageError(format!("--set {why}")))?;
        options.insert(name.to_owned(), value.unwrap_or_default());
    }
    Ok(options)
}

/// Refuses a setting that is typed as an option of its own.
fn refuse_bare_settings(matches: &ArgMatches) -> Result<(), UsageError> {
    let given = settings().iter().find(|name| {
        matches.value_source(&name.replace('-', "_")) == Some(ValueSource::CommandLine)
    });
    let Some(name) = given else { return Ok(()) };
    Err(UsageError(format!(
        "--{name}: no such option; {name} is a setting, written behind --set: see keystorm help settings"
    )))
}

/// Another tool, whose command line describes the load and its target.
pub struct Tool {
    /// Differences of its reports.
    pub persona: Persona,
    /// Layout of its reports; `None` if one of keystorm's was asked for.
    pub format: Option<&'static str>,
    /// Destination of verdicts, if its command line names one.
    pub verdict: Option<OsString>,
    /// Advice if an option of keystorm conflicts with the tool's own words.
    pub instead: &'static str,
}

impl Tool {
    /// The job of the tool's command line. `own` are its keystorm options; `mean` adds the tool's own,
    /// including the login, which is not read from the environment, and returns more for the tool.
    ///
    /// # Errors
    /// Returns an error if they make no sense.
    pub fn job<T, E: From<UsageError>>(
        self,
        own: Vec<OsString>,
        mean: impl FnOnce(&mut LoadSpec) -> Result<T, E>,
    ) -> Result<(Job, T), E> {
        let Ok(typed) = ParsedArgs::read("keystorm", |command| command, own)? else {
            let text = "--ks-help and --ks-version are not available; run keystorm --help";
            return Err(UsageError(text.to_owned()).into());
        };
        let mut options = typed.options;
        options.spec.dialect = dialect::OTHER_TOOL;
        let own = options.spec.clone();
        let more = mean(&mut options.spec)?;
        options.spec.load.repeats = None;
        let results = &options.results;
        let layouts =
            [("format", results.format.is_some()), ("csv", results.csv), ("quiet", results.quiet)];
        let mut layouts = layouts.into_iter().filter(|(_, given)| *given && self.format.is_some());
        if let Some(name) =
            own.overridden_in(&options.spec).or_else(|| Some(layouts.next()?.0.to_owned()))
        {
            let text = format!("{PREFIX}{name}: {}", self.instead);
            return Err(UsageError(text).into());
        }
        let mut job = plans::job(options, self.persona).map_err(UsageError::from)?;
        let output = &mut job.output;
        if let Some(format) = self.format {
            check_output(output).map_err(UsageError)?;
            (output.format, output.live) = (format, None);
        }
        if self.verdict.is_some() {
            output.verdict = verdict::place(self.persona, false, self.verdict);
            output.options.verdict = output.verdict == VerdictTo::Report;
        }
        Ok((job, more))
    }
}

/// A parsed command line. Front ends that carry out runs in other ways parse theirs with it, too, and add
/// options.
#[derive(Clone)]
pub struct ParsedArgs {
    command: Command,
    matches: ArgMatches,
    /// Options behind `--set`.
    set: Fields,
    options: Options,
    persona: Persona,
    /// Completions of the load, in order.
    completions: Vec<Completion>,
}

impl ParsedArgs {
    /// Reads arguments; returns a text to print if help or the version was requested. `own` adds options, or
    /// changes the help.
    ///
    /// # Errors
    /// Returns an error if they make no sense.
    pub(super) fn read(
        name: &str,
        own: impl FnOnce(Command) -> Command,
        args: Vec<OsString>,
    ) -> Result<Result<Self, Intent>, UsageError> {
        let mut command = own(Options::command().bin_name(name.to_owned()));
        let words = std::iter::once(OsString::from(name)).chain(args.iter().cloned());
        match command.try_get_matches_from_mut(words) {
            Ok(matches) => {
                refuse_bare_settings(&matches)?;
                let set = set_options(&matches)?;
                let called = matches.get_one::<String>("called");
                let persona = persona::named(called.map_or(name, String::as_str));
                if matches.get_flag("version") {
                    return Ok(Err(Intent::Say(persona::version(persona))));
                }
                let options = options(&command, &args, &matches, &set, persona)?;
                let completions = Vec::new();
                Ok(Ok(Self { command, matches, set, options, persona, completions }))
            }
            Err(is_shown) if !is_shown.use_stderr() => {
                Ok(Err(Intent::Say(is_shown.render().to_string())))
            }
            Err(error) => Err(explained(error, &command)),
        }
    }

    /// Completes the load: what this sets is as good as typed, and sets the same if it is called again.
    pub fn complete(&mut self, completion: impl Fn(&mut LoadSpec) + 'static) {
        let is_sent = self.options.spec.command.clone();
        completion(&mut self.options.spec);
        self.options.command_is_marked |= self.options.spec.command != is_sent;
        self.completions.push(Rc::new(completion));
    }

    /// Sets an option that was not given, unless the workload file sets it.
    pub fn set_default(&mut self, option: OptionId, set: impl FnOnce(&mut LoadSpec)) {
        if !self.has(option) {
            set(&mut self.options.spec);
        }
    }

    /// Returns whether the load says what to send.
    pub fn names_test(&self) -> bool {
        let data = &self.asked().data;
        data.tests.is_some() || data.workload.is_some() || !self.asked().is_suite()
    }

    /// Completes a load that does not say what to send.
    pub fn default_tests(&mut self, tests: &'static str) {
        if !self.names_test() {
            self.complete(move |spec| spec.data.tests = Some(tests.to_owned()));
        }
    }

    /// Gives an end to a load that has none, not in its workload file either. A schedule may have one
    /// (`10k..100k/30s`).
    pub fn default_length(&mut self, end: impl Fn(&mut LoadOptions) + 'static) {
        let ended = move |spec: &mut LoadSpec| {
            let LoadOptions { requests, duration, rate, .. } = &spec.load;
            let has_end = rate.as_ref().is_some_and(Rate::is_schedule);
            if requests.is_none() && duration.is_none() && !has_end {
                end(&mut spec.load);
            }
        };
        if self.asked().data.workload.is_some() {
            // Only the file's settings tell.
            self.completions.push(Rc::new(ended));
        } else {
            self.complete(ended);
        }
    }

    /// Gives the load the receivers of a kind whose options were added.
    ///
    /// # Errors
    /// Returns an error if their values make no sense.
    pub(super) fn receive(&mut self, kind: &KindOfDelivery) -> Result<(), UsageError> {
        let receivers = (kind.read)(&self.matches);
        let receivers = receivers.map_err(|error| explained(error, &self.command))?;
        self.complete(move |spec| spec.delivery = Some(receivers.clone()));
        Ok(())
    }

    /// Returns whether an option was given.
    pub fn has(&self, option: OptionId) -> bool {
        self.typed().any(|id| id == option.field())
    }

    /// Returns what was asked for, with what completes it.
    pub fn asked(&self) -> &LoadSpec {
        &self.options.spec
    }

    /// Returns the word that says what is sent, if it is not an option that does.
    pub fn first_word(&self) -> Option<Cow<'_, str>> {
        match (&self.asked().delivery, self.asked().load.per_request.connect) {
            (Some(_), _) => Some("deliver".into()),
            (None, true) => Some("connect".into()),
            (None, false) => Some(self.asked().command.first()?.to_string_lossy()),
        }
    }

    /// Returns the parsed values, for the options that were added.
    pub(super) fn matches(&self) -> &ArgMatches {
        &self.matches
    }

    /// The options that were given, by the names of their fields.
    pub(super) fn typed(&self) -> impl Iterator<Item = &str> {
        let ids = self.command.get_arguments().map(|arg| arg.get_id().as_str());
        ids.filter(|id| {
            self.matches.value_source(id) == Some(ValueSource::CommandLine)
                || self.set.contains_key(&id.replace('_', "-"))
        })
    }

    /// An option as it is written.
    pub(super) fn written(&self, id: &str) -> String {
        let arg = self.command.get_arguments().find(|arg| arg.get_id() == id);
        match arg.map(|arg| (arg.get_short(), arg.get_long())) {
            Some((Some(short), _)) => format!("-{short}"),
            Some((None, Some(long))) => format!("--{long}"),
            _ => "a command".to_owned(),
        }
    }

    /// The job of the load, with changes.
    ///
    /// # Errors
    /// Returns an error if the load makes no sense.
    pub fn job(&self, change: impl Fn(&mut LoadSpec)) -> Result<Job, UsageError> {
        self.job_with(|options| change(&mut options.spec))
    }

    /// The job of the command line, with changes.
    pub(super) fn job_with(&self, change: impl Fn(&mut Options)) -> Result<Job, UsageError> {
        let mut options = self.options.clone();
        // One of a load with receivers is refused, so it is not read.
        let workload = options.spec.data.workload.as_deref();
        if let Some(workload) = workload.filter(|_| options.spec.delivery.is_none()) {
            return phases::job(self, workload, &change);
        }
        change(&mut options);
        Ok(plans::job(options, self.persona)?)
    }
}

/// The options that were typed.
fn options(
    command: &Command,
    args: &[OsString],
    matches: &ArgMatches,
    set: &Fields,
    persona: Persona,
) -> Result<Options, UsageError> {
    let refused = |error| explained(error, command);
    let mut options = Options::from_arg_matches(matches).map_err(refused)?;
    if !set.is_empty() {
        options.spec.set(set).map_err(|error| UsageError(format!("--set: {error}")))?;
        options.spec.check_relations().map_err(refused)?;
    }
    let before = args.len().checked_sub(options.spec.command.len() + 1);
    options.command_is_marked = before.is_some_and(|at| args[at] == "--");
    options.spec.server.after_uri = OptionsAfterUri::from_matches(matches);
    options.spec.dialect = persona.dialect;
    Ok(options)
}

impl Options {
    /// Drops the options of TLS unless `--tls` is given: they are for another server, whose address requests
    /// TLS.
    pub(super) fn leave_tls_to_others(&mut self) {
        if !self.spec.tls.tls {
            self.spec.tls = TlsArgs::default();
        }
    }

    /// Sends a command instead of tests. `keys` and `bytes` apply where the command line has no -r or -d.
    pub(super) fn send(&mut self, words: Vec<OsString>, keys: u64, bytes: u32) {
        let spec = &mut self.spec;
        (spec.command, spec.data.tests) = (words, None);
        spec.data.key_range.get_or_insert(KeyRange(keys));
        spec.data.size.get_or_insert(Size::Fixed(bytes));
    }

    /// Drops `--fill`, `--clean`, `--hit-ratio` and the checks of values, for a command that reads nothing.
    pub(super) fn read_nothing(&mut self) {
        let data = &mut self.spec.data;
        (data.fill, data.clean, data.hit_ratio) = (false, false, None);
        (data.verify, data.fail_on_miss) = (false, false);
    }

    /// A load for command lines that give none.
    pub(super) fn load_default(&mut self, tests: &str, seconds: f64, warmup: f64) {
        let spec = &mut self.spec;
        if spec.data.workload.is_some() {
            return;
        }
        if spec.is_suite() {
            spec.data.tests.get_or_insert_with(|| tests.to_owned());
        }
        // A ramp and steps have a length of their own.
        let timed = spec.load.rate.as_ref().is_some_and(Rate::is_schedule);
        if spec.load.requests.is_none() && spec.load.duration.is_none() && !timed {
            let seconds_of = |s| Seconds(Duration::from_secs_f64(s));
            spec.load.duration = Some(seconds_of(seconds));
            spec.load.warmup.get_or_insert(seconds_of(warmup));
        }
    }
}

#[cfg(test)]
mod tests {
    use naming::{CONNECTIONS, RATE};
    use spec::values::Count;
    use workload::{Plan, Stop};

    use super::*;

    fn plan_of(file: &str, typed: &[&str]) -> Plan {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("load.toml");
        std::fs::write(&path, file).unwrap();
        let words = ["--workload".into(), path.into()].into_iter();
        let words = words.chain(typed.iter().map(OsString::from)).collect();
        let Ok(Ok(mut load)) = ParsedArgs::read("keystorm", |command| command, words) else {
            panic!("{typed:?} is a load")
        };
        load.set_default(RATE, |spec| spec.load.rate = Some(Rate::constant(100.0)));
        load.set_default(CONNECTIONS, |spec| spec.load.connections = Some(Count(7)));
        load.default_length(|load| load.end_after(None, Some(Seconds(Duration::from_secs(1)))));
        load.job(|_| ()).unwrap().plans.swap_remove(0)
    }

    #[test]
    fn a_default_of_an_experiment_gives_way_to_a_workload_file_and_to_the_command_line() {
        let said = |file: &str, typed: &[&str]| {
            let load = &plan_of(&format!("tests = \"get\"\n{file}"), typed).load;
            let rate = load.pace.schedule().and_then(workload::Schedule::rate_per_s);
            (rate, load.concurrency.connections, load.stop)
        };
        let second = Stop::AfterNs(1_000_000_000);
        assert_eq!(said("", &[]), (Some(100.0), 7, second));
        let file = "rate = 300\nrequests = 50\nconnections = 3\n";
        assert_eq!(said(file, &[]), (Some(300.0), 3, Stop::Requests(50)));
        assert_eq!(said(file, &["--rps", "20", "-n", "4"]), (Some(20.0), 3, Stop::Requests(4)));
        let seconds = Stop::AfterNs(2_000_000_000);
        assert_eq!(said("duration = \"2s\"\n", &["-c", "5"]), (Some(100.0), 5, seconds));
    }
}
