//! Comparison of saved runs that did the same work.

use measure::Ending;
use workload::Plan;
use workload::quantity::counted;

use super::{ComparedTest, Comparison, Pairing, RunDigest, Setup, Subject, TestComparison, name};
use crate::differ::{Difference, differences, load_data};
use crate::{LoadedRecord, RecordError, Run};

/// Paths at which compared plans may differ: those that identify the server. The seed is the time unless it
/// was given, and the drawn keys do not matter if there are many.
const MAY_DIFFER: [&str; 10] = [
    "target.endpoint",
    "target.credentials",
    "target.db",
    "target.tls.sni",
    "target.tls.cacert",
    "target.tls.cacertdir",
    "target.tls.cert",
    "target.tls.key",
    "load.seed",
    "data.loaded_by",
];

/// Returns the load of a plan as text that is equal for two plans of the same load on any servers.
///
/// # Errors
/// Returns an error if the plan has no JSON form.
pub fn load_of(plan: &Plan) -> Result<String, RecordError> {
    let mut data = load_data(plan)?;
    for path in MAY_DIFFER {
        let (above, key) = path.rsplit_once('.').unwrap_or(("", path));
        let pointer = above.split('.').filter(|part| !part.is_empty());
        let pointer: String = pointer.map(|part| format!("/{part}")).collect();
        if let Some(fields) = data.pointer_mut(&pointer).and_then(serde_json::Value::as_object_mut)
        {
            fields.remove(key);
        }
    }
    Ok(data.to_string())
}

/// The options for a plan's load, with their values, without those that name the server.
pub fn options_of(plan: &Plan) -> Vec<(String, String)> {
    const SERVER_OPTIONS: [&str; 6] = ["-h", "-p", "-s", "-u", "-a", "--seed"];
    let all = crate::differ::options_of(plan).into_iter();
    all.filter(|(option, _)| {
        !SERVER_OPTIONS.contains(&option.as_str()) && !option.starts_with("--spawn")
    })
    .collect()
}

/// Paths that may differ between compared servers, and are reported; runs of a series over time must agree on
/// them.
const CONNECTION_PATHS: [&str; 1] = ["target.tls"];

/// Paths at which equal loads in different protocols differ.
const PROTOCOL_PATHS: [&str; 3] = ["protocol", "sequence", "data.fill"];

/// Differences between two plans of a test to compare, a line for each path; `translated` plans were derived from one
/// for different protocols.
///
/// # Errors
/// Returns an error if a plan has no JSON form.
pub fn unlike(
    names: [&str; 2],
    a: &Plan,
    b: &Plan,
    translated: bool,
) -> Result<Vec<String>, RecordError> {
    let words = if translated { &PROTOCOL_PATHS[..] } else { &[] };
    let passed_over = [&MAY_DIFFER[..], &CONNECTION_PATHS, words].concat();
    let found = differences(a, b, &|path| passed_over.contains(&path))?;
    let lines = found.into_iter().map(|Difference { what, ours, theirs }| {
        format!("{what} is {ours} in {} and {theirs} in {}", names[0], names[1])
    });
    Ok(lines.collect())
}

/// Returns notable differences of two runs outside their plans.
pub fn beside(names: &[String; 2], a: &Run, b: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, a: Option<String>, b: Option<String>| {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            let [first, second] = names;
            found.push(format!("{what} differs: {a} on {first}, {b} on {second}"));
        }
    };
    let [host_a, host_b] = [a, b].map(|run| run.host.as_ref()?.hostname.clone());
    differ("the client machine", host_a, host_b);
    differ("the keystorm version", Some(a.version.clone()), Some(b.version.clone()));
    let [engine_a, engine_b] = [a, b].map(|run| Some(run.measurement.engine.clone()));
    differ("the I/O engine", engine_a, engine_b);
    let [way_a, way_b] = [a, b].map(way);
    if way_a != way_b {
        let [first, second] = names;
        found.push(format!("{first} is reached over {way_a}, {second} over {way_b}"));
    }
    found
}

/// Describes the connection to a server: its kind, and the settings of TLS.
fn way(run: &Run) -> String {
    fn is_unix(endpoint: &workload::Endpoint) -> bool {
        use workload::Endpoint;
        match endpoint {
            Endpoint::Unix(_) => true,
            Endpoint::Spawned { unix, .. } => *unix,
            Endpoint::Ring { servers, .. } | Endpoint::Pool { servers } => {
                servers.iter().all(is_unix)
            }
            Endpoint::Tcp { .. } | Endpoint::Sentinel { .. } | Endpoint::Replicated { .. } => false,
        }
    }
    let way = if is_unix(&run.plan.target.endpoint) { "a unix socket" } else { "TCP" };
    let options = crate::differ::options_of(&run.plan).into_iter();
    let options = options.filter(|(option, _)| option.starts_with("--tls-"));
    let options: Vec<String> =
        options.map(|(option, value)| format!(" {option} {value}").trim_end().to_owned()).collect();
    match run.plan.target.tls {
        Some(_) => format!("TLS on {way}{}", options.concat()),
        None => way.to_owned(),
    }
}

/// Compares two named files: test by test, all repeats of one side with all of the other. `begun` is the comparison
/// without servers and tests.
///
/// # Errors
/// Returns the differences that forbid a comparison, or the reason why there is nothing to compare.
pub fn of_saved(
    names: [&str; 2],
    a: &LoadedRecord,
    b: &LoadedRecord,
    chosen: &[Option<String>],
    begun: Comparison,
) -> Result<Comparison, RecordError> {
    let sides = [tests(names[0], a)?, tests(names[1], b)?];
    check_alike(names, &sides)?;
    let [a, b] = &sides;
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
        return Err(RecordError::wrong(format!("{} has no tests", names[0])));
    };
    let first = [first_a[0], first_b[0]];
    let mut subjects = [0, 1].map(|at| Subject::of_run(first[at], names[at].to_owned()));
    name(&mut subjects, chosen);
    let called = subjects.each_ref().map(|subject| subject.name.clone());
    let mut warnings = beside(&called, first[0], first[1]);
    let mut compared = Vec::new();
    let headlines = a.len();
    for (a, b) in a.iter().zip(b) {
        let sides = complete(names, [a, b], &mut warnings)?;
        let plan = &a[0].plan;
        let [a, b] = &sides;
        let setup = Setup::new(plan, called.clone(), Pairing::None, begun.errors_allowed)
            .among(headlines, 1);
        let pair = TestComparison::new(&plan.name, &setup, a, b);
        compared.push(ComparedTest::of_pair(pair));
    }
    Ok(Comparison {
        how: format!(
            "Saved runs with the same plans, which were not made in turn: what another hour of the machine changes is \
             in the intervals; ratios are {} / {}",
            called[1], called[0]
        ),
        subjects: subjects.to_vec(),
        complete: true,
        tests: compared,
        warnings,
        looks: 1,
        ..begun
    })
}

/// Checks that both sides have the same tests, and that their plans differ only in the server.
fn check_alike(names: [&str; 2], sides: &[Vec<Vec<&Run>>; 2]) -> Result<(), RecordError> {
    let lists = sides.each_ref().map(|tests| {
        tests.iter().map(|runs| runs[0].plan.name.as_str()).collect::<Vec<_>>().join(", ")
    });
    if lists[0] != lists[1] {
        return Err(RecordError::wrong(format!(
            "{} has the tests {}, but {} has {}; compare needs the same tests",
            names[0], lists[0], names[1], lists[1]
        )));
    }
    let mut faults = Vec::new();
    for (a, b) in sides[0].iter().zip(&sides[1]) {
        for fault in unlike(names, &a[0].plan, &b[0].plan, false)? {
            faults.push(format!("in the test {}, {fault}", a[0].plan.name));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let faults = faults.join("; ");
    Err(RecordError::wrong(format!("the runs differ in more than the server: {faults}")))
}

/// The complete runs of a test, of each side; warns of the others.
fn complete(
    names: [&str; 2],
    sides: [&Vec<&Run>; 2],
    warnings: &mut Vec<String>,
) -> Result<[Vec<RunDigest>; 2], RecordError> {
    let complete =
        sides.map(|runs| runs.iter().filter_map(|run| RunDigest::from_run(run)).collect());
    for (name, (all, complete)) in names.iter().zip(sides.into_iter().zip(&complete)) {
        let (test, complete): (_, &Vec<RunDigest>) = (&all[0].plan.name, complete);
        if complete.is_empty() {
            let text = format!("{name}: no run of the test {test} completed");
            return Err(RecordError::wrong(text));
        }
        if complete.len() < all.len() {
            let broken = all.len() - complete.len();
            warnings.push(format!(
                "{name}: {test}: {} that did not complete {} left out",
                counted(broken as u64, "run"),
                if broken == 1 { "is" } else { "are" }
            ));
        }
    }
    Ok(complete)
}

/// The runs of each test, in order; repeats of a test must be adjacent and have equal plans.
fn tests<'l>(name: &str, loaded: &'l LoadedRecord) -> Result<Vec<Vec<&'l Run>>, RecordError> {
    let mut tests: Vec<Vec<&Run>> = Vec::new();
    for run in &loaded.runs {
        // The repeats of several tests may take turns.
        let goes_on = tests.iter_mut().find(|runs| {
            let before = runs.last().and_then(|run| run.repeat);
            before.zip(run.repeat).is_some_and(|(a, b)| b.number == a.number.saturating_add(1))
                && runs[0].plan.name == run.plan.name
        });
        let Some(runs) = goes_on else {
            tests.push(vec![run]);
            continue;
        };
        if let Some(fault) = unlike(["one", "another"], &runs[0].plan, &run.plan, false)?.first() {
            return Err(RecordError::wrong(format!(
                "{name}: the repeats of the test {} differ: {fault} repeat",
                run.plan.name
            )));
        }
        runs.push(run);
    }
    if loaded.runs.iter().all(|run| matches!(run.measurement.ending, Ending::Failed(_))) {
        return Err(RecordError::wrong(format!("{name}: every test failed")));
    }
    Ok(tests)
}
