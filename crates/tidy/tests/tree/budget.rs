//! The areas of the program and the product lines that each may have: a limit that may only be lowered.

use std::fs;

use tidy::Area;

use crate::{WRITE, root, sources};

/// Page with the table of areas.
const PAGE: &str = "docs/architecture.md";
/// Marks around the table.
const MARKS: (&str, &str) = ("<!-- product lines -->\n", "<!-- end of product lines -->\n");

/// Files that only tests use, although it is compiled into the program or stands among its files.
const SUPPORT: &[&str] = &[
    "crates/engine/src/scripted.rs",
    "crates/report/src/conformance.rs",
    "crates/report/src/verdict/contradictions.rs",
    "crates/traffic/src/conformance.rs",
    "fuzz/",
];

/// The areas of the program.
const AREAS: &[Area] = &[
    Area {
        name: "carries load",
        paths: &[
            "crates/workload/",
            "crates/wire/",
            "crates/engine/",
            "crates/measure/",
            "crates/runner/",
        ],
        budget: 28_839,
    },
    Area {
        name: "says what happened: figures, verdict, documents, pages, live",
        paths: &["crates/report/", "crates/cli/src/console/"],
        budget: 14_896,
    },
    Area {
        name: "experiments: search, sweep, survey, impact, suite, footprint, profile, durability, connect, their frame",
        paths: &[
            "crates/lab/",
            "crates/cli/src/connect.rs",
            "crates/cli/src/experiment.rs",
            "crates/cli/src/experiment/",
            "crates/keystorm/src/experiment/",
            "crates/keystorm/src/commands/search/",
            "crates/keystorm/src/commands/suite/",
            "crates/keystorm/src/commands/survey/",
            "crates/keystorm/src/commands/sweep/",
            "crates/keystorm/src/commands/impact/",
            "crates/keystorm/src/commands/footprint/",
            "crates/keystorm/src/commands/profile/",
            "crates/keystorm/src/commands/durability/",
        ],
        budget: 13_439,
    },
    Area { name: "imitated tools: memtier, YCSB, rpc-perf", paths: &["peers/"], budget: 9_953 },
    Area {
        name: "recorded traffic",
        paths: &[
            "crates/traffic/",
            "crates/wire/src/quoted.rs",
            "crates/workload/src/due_requests.rs",
            "crates/runner/src/source/",
            "crates/lab/src/answers.rs",
            "crates/lab/src/head_room.rs",
            "crates/cli/src/replay.rs",
            "crates/keystorm/src/records.rs",
            "crates/keystorm/src/commands/describe/",
            "crates/keystorm/src/commands/record/",
            "crates/keystorm/src/commands/replay.rs",
        ],
        budget: 9_131,
    },
    Area {
        name: "deliveries",
        paths: &[
            "crates/runner/src/delivery/",
            "crates/runner/src/messages/",
            "crates/workload/src/delivery/mod.rs",
            "crates/workload/src/named.rs",
            "crates/workload/src/delivery/queue.rs",
            "crates/cli/src/deliver/",
            "crates/spec/src/delivery/",
            "crates/spec/src/receivers.rs",
            "crates/measure/src/deliveries.rs",
            "crates/measure/src/invalidations.rs",
            "crates/measure/src/waits.rs",
            "crates/report/src/deliveries.rs",
            "crates/report/src/waits.rs",
            "crates/report/src/page/runs/deliveries.rs",
            "crates/keystorm/src/deliveries/mod.rs",
            "crates/keystorm/src/deliveries/node_receivers.rs",
        ],
        budget: 6_507,
    },
    Area {
        name: "host, doctor, sink",
        paths: &[
            "crates/host/",
            "crates/sink/",
            "crates/keystorm/src/commands/doctor/",
            "crates/keystorm/src/commands/sink.rs",
            "crates/keystorm/src/server/",
        ],
        budget: 8_547,
    },
    Area {
        name: "command line, workload files, help",
        paths: &[
            "crates/cli/",
            "crates/naming/",
            "crates/spec/",
            "crates/keystorm/src/commands/completions.rs",
            "crates/keystorm/src/commands/man.rs",
            "crates/keystorm/src/commands/merge.rs",
            "crates/keystorm/src/commands/presets.rs",
            "crates/keystorm/src/commands/show.rs",
            "crates/keystorm/src/markdown.rs",
        ],
        budget: 8_684,
    },
    Area {
        name: "compare",
        paths: &[
            "crates/report/src/compare/",
            "crates/report/src/page/comparison/",
            "crates/lab/src/terms/",
            "crates/cli/src/compare/",
            "crates/keystorm/src/commands/compare/",
            "crates/keystorm/src/commands/history/options.rs",
        ],
        budget: 6_870,
    },
    Area {
        name: "several clients",
        paths: &[
            "crates/fleet/",
            "crates/report/src/clients.rs",
            "crates/report/src/merge/",
            "crates/keystorm/src/commands/client.rs",
        ],
        budget: 2_679,
    },
    Area {
        name: "history, statistics, bench, tidy, main",
        paths: &[
            "crates/lab/src/history/",
            "crates/lab/src/bisect.rs",
            "crates/lab/src/view/bisect.rs",
            "crates/measure/src/statistics/",
            "crates/bench/",
            "crates/tidy/",
            "crates/keystorm/",
        ],
        budget: 7_315,
    },
];

#[test]
fn the_program_stays_within_its_budget_of_lines() {
    let counts = match tidy::count(&sources(), AREAS, SUPPORT) {
        Ok(counts) => counts,
        Err(strangers) => panic!("these files belong to no area: {strangers:?}"),
    };
    let table = tidy::table(&counts);
    println!("{table}");
    for count in counts.iter().filter(|count| count.lines > count.budget) {
        println!("{}: {} lines, {} allowed", count.name, count.lines, count.budget);
    }
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS.0).unwrap();
    let (shown, after) = rest.split_once(MARKS.1).unwrap();
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1)).unwrap();
    } else {
        assert_eq!(shown, table, "{PAGE} is out of date: {WRITE}=1 cargo test -p tidy writes it");
    }
    let over = counts.iter().filter(|count| count.lines > count.budget).count();
    assert_eq!(over, 0, "areas beyond their budget: remove what earns nothing, or pay elsewhere");
}
