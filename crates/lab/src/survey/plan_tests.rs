//! Plans of surveys for different machines.

use spec::Program;
use spec::values::Threads;

use super::*;

fn spec(spawned: bool, quick: bool) -> SurveySpec {
    let mut server = LoadSpec::default();
    server.server.spawn = spawned.then_some(Program(None));
    server.server.socket = (!spawned).then(|| "/run/s".into());
    SurveySpec {
        server,
        spawned,
        unix: !spawned,
        memcached: false,
        quick,
        all: false,
        seconds: None,
        keys: 1_000_000,
        clients_max: None,
        with_memcached: false,
        lacks: Vec::new(),
    }
}

/// Two sockets of four cores with two threads each; each socket has two caches.
fn large() -> Machine {
    let cores = (0..8).map(|core| vec![core, core + 8]).collect();
    let group = |first: usize| vec![first, first + 1, first + 8, first + 9];
    Machine {
        cpus: (0..16).collect(),
        cores,
        caches: (0..4).map(|n| group(2 * n)).collect(),
        nodes: vec![(0..4).chain(8..12).collect(), (4..8).chain(12..16).collect()],
        files: 1_000_000,
        ports: 28_000,
    }
}

fn small() -> Machine {
    Machine {
        cpus: vec![0, 1],
        cores: vec![vec![0], vec![1]],
        caches: vec![vec![0, 1]],
        nodes: vec![vec![0, 1]],
        files: 20_000,
        ports: 28_000,
    }
}

fn texts(chapter: &Chapter) -> Vec<String> {
    let loads = chapter.steps.iter().flat_map(|step| &step.loads);
    loads.map(|load| load.words().unwrap().join(" ")).collect()
}

fn chapter(plan: &SurveyPlan, key: &str) -> Chapter {
    plan.chapters.iter().find(|c| c.key == key).unwrap().clone()
}

#[test]
fn a_large_machine_has_every_step() {
    let plan = SurveyPlan::new(&spec(true, false), &large());
    assert!(plan.chapters.iter().all(|c| c.left_out.is_empty() && !c.steps.is_empty()));
    let placed = texts(&chapter(&plan, "placement"));
    for cpus in [(0, 0), (0, 8), (0, 1), (0, 2), (0, 4)] {
        let part = format!("--server-cpus {} ", cpus.0);
        let client = format!(" --cpus {} ", cpus.1);
        let found = placed.iter().filter(|l| l.contains(&part) && l.contains(&client));
        assert_eq!(found.count(), 2, "{cpus:?} in {placed:#?}");
    }
    let instances = chapter(&plan, "instances");
    assert_eq!(instances.steps[1].loads.len(), 2);
    assert!(texts(&instances)[2].contains(" --cpus 3 "), "{:?}", texts(&instances));
}

#[test]
fn a_small_machine_says_what_is_not_possible() {
    let plan = SurveyPlan::new(&spec(true, false), &small());
    let placement = chapter(&plan, "placement");
    assert_eq!(placement.steps.len(), 4, "{:?}", texts(&placement));
    assert_eq!(placement.left_out.len(), 3, "{:?}", placement.left_out);
    assert!(chapter(&plan, "instances").left_out[0].contains("there are 2"));
    let all = SurveyPlan::new(&SurveySpec { all: true, ..spec(true, false) }, &small());
    assert_eq!(chapter(&all, "instances").steps.len(), 2);
}

#[test]
fn a_given_server_is_neither_moved_nor_doubled() {
    let plan = SurveyPlan::new(&spec(false, false), &large());
    for key in ["transport", "placement", "instances"] {
        let chapter = chapter(&plan, key);
        assert!(chapter.steps.is_empty() && chapter.left_out[0].contains("--spawn"), "{key}");
    }
    let lines: Vec<String> = plan.chapters.iter().flat_map(texts).collect();
    assert!(lines.iter().all(|line| line.starts_with("-s /run/s ")), "{lines:#?}");
}

#[test]
fn connections_go_as_far_as_the_limits() {
    let counts = |machine: &Machine, spec: &SurveySpec| -> Vec<String> {
        let plan = SurveyPlan::new(spec, machine);
        chapter(&plan, "connections").steps.into_iter().map(|s| s.label).collect()
    };
    let all = ["1", "10", "100", "1000", "10000"];
    assert_eq!(counts(&small(), &spec(true, false)), [&all[..], &["19800"]].concat());
    let given = SurveySpec { clients_max: Some(10_000), ..spec(false, false) };
    assert_eq!(counts(&large(), &given), ["1", "10", "100", "1000", "9800"]);
    let few = Machine { files: 1024, ..small() };
    assert_eq!(counts(&few, &spec(true, false)), ["1", "10", "100", "824"]);
}

#[test]
fn a_quick_survey_is_under_a_minute_and_a_whole_one_about_three() {
    let length = |plan: &SurveyPlan, quick: bool| {
        plan.chapters.iter().map(|c| c.runs(quick)).sum::<usize>() as f64 * plan.seconds
    };
    for machine in [small(), large()] {
        let quick = length(&SurveyPlan::new(&spec(true, true), &machine), true);
        assert!((30.0..45.0).contains(&quick), "{quick}");
        let whole = length(&SurveyPlan::new(&spec(true, false), &machine), false);
        assert!((140.0..180.0).contains(&whole), "{whole}");
    }
}

#[test]
fn memcached_gets_the_same_load_on_the_same_cores() {
    let mut spec = SurveySpec { with_memcached: true, ..spec(true, false) };
    spec.server.server.user = Some("hunter2".to_owned());
    spec.server.load.threads = Some(Threads::Number(2));
    let plan = SurveyPlan::new(&spec, &small());
    let beside = chapter(&plan, "memcached");
    let lines = texts(&beside);
    assert_eq!(lines.len(), 8);
    for pair in lines.chunks(2) {
        let [of_redis, of_memcached] = [0, 1].map(|at| pair[at].split_once(" -P ").unwrap().1);
        assert_eq!(of_redis.replace(" --fill", ""), of_memcached, "{pair:?}");
        assert!(pair[1].contains("--spawn=memcached") && !pair[1].contains("hunter2"), "{pair:?}");
        assert!(pair.iter().all(|line| line.contains("--threads 2") && line.contains("--cpus 1")));
        assert!(pair.iter().all(|line| line.contains("--server-cpus 0")), "{pair:?}");
    }
    spec.spawned = false;
    let given = chapter(&SurveyPlan::new(&spec, &small()), "memcached");
    assert!(given.steps.is_empty() && given.left_out[0].contains("--spawn"));
}

#[test]
fn kinds_of_messages_that_a_server_lacks_are_left_out() {
    let whole = chapter(&SurveyPlan::new(&spec(false, true), &small()), "messages");
    assert_eq!((whole.steps.len(), whole.left_out.len()), (4, 0));
    let lacks = vec![("stream", "this server has no XREADGROUP".to_owned())];
    let spec = SurveySpec { lacks, ..spec(false, true) };
    let some = chapter(&SurveyPlan::new(&spec, &small()), "messages");
    assert_eq!(some.left_out, ["Messages, stream: this server has no XREADGROUP."]);
    assert!(texts(&some).iter().all(|line| !line.contains("stream")) && some.steps.len() == 3);
}

#[test]
fn what_a_step_reads_is_there() {
    for (spawned, quick) in [(true, false), (true, true), (false, false)] {
        let plan = SurveyPlan::new(&spec(spawned, quick), &large());
        for chapter in &plan.chapters {
            // Those of the main server come in this order; the others have a server of their own.
            let own = ["transport", "placement", "instances", "memcached"].contains(&chapter.key);
            for line in texts(chapter) {
                let test = line.split(" -t ").nth(1).and_then(|rest| rest.split(' ').next());
                let Some(test) = test else { continue };
                let pops = ["lpop", "rpop", "spop", "zpopmin"].contains(&test);
                let filled = line.contains("--fill");
                assert!(filled || !(pops || own && test == "get"), "{line}");
                assert!(pops || test.split(',').all(|test| !test.contains("pop")), "{line}");
            }
        }
    }
    let suite = chapter(&SurveyPlan::new(&spec(true, false), &large()), "suite");
    let pop = suite.steps.iter().find(|step| step.takes).unwrap();
    let counts = |requests| {
        let load = pop.loads_after(requests).remove(0);
        (load.load.requests.unwrap().0, load.data.key_range.unwrap().0)
    };
    assert_eq!(counts(123_456), (123_456, 123_456), "as many as there are");
    assert_eq!(counts(0), (1000, 1000));
    assert_eq!(counts(u64::MAX), (1_000_000, 1_000_000));
    let mut of_cluster = spec(false, false);
    of_cluster.server.server.cluster = true;
    let suite = chapter(&SurveyPlan::new(&of_cluster, &large()), "suite");
    assert!(suite.steps.iter().all(|step| !step.takes));
    assert_eq!(suite.left_out.len(), 2, "{:?}", suite.left_out);
}
