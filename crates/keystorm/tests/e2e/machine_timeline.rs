//! What this machine did through a run: kept, in the timeline and on the page.

use crate::program::Keystorm;
use crate::record::{json, place, valid};
use crate::server::{Server, called};

#[test]
fn waiting_for_a_cpu_is_kept_and_shown_over_the_time_of_the_run() {
    let server = Server::redis();
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    // More threads than any machine has CPUs: some wait.
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let line = format!(
        "--json {} --html {} --threads {} -c 100 --duration 1.5 get k",
        file.display(),
        page.display(),
        cpus + 4
    );
    server.run(&line).ok();
    let document = json(&file);
    valid(&document);
    let spans = document["tests"][0]["watched"]["machine"].as_array().unwrap();
    assert!((3..=20).contains(&spans.len()), "{spans:#?}");
    let sum = |name: &str| spans.iter().filter_map(|span| span[name].as_f64()).sum::<f64>();
    assert!(sum("lasted_s") > 1.4, "{spans:#?}");
    assert!(sum("wait_s") > 0.01, "{spans:#?}");
    assert!(sum("interrupts") > 100.0, "{spans:#?}");
    assert!(spans.iter().all(|span| span["server_wait_s"].is_number()), "it is here");
    let shown = Keystorm::new(&format!("show {} --format timeline", file.display())).run().ok();
    let rows =
        shown.out.lines().map(|row| row.split(',').map(|cell| cell.trim_matches('"')).collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    let column = rows[0].iter().position(|name| *name == "client_waited").unwrap();
    let waited: f64 = rows[1..].iter().filter_map(|row| row[column].parse::<f64>().ok()).sum();
    assert!(waited > 0.0, "{}", shown.out);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("CPU time that this machine did not give"));
}

#[test]
fn by_a_peers_name_this_machine_is_not_looked_at() {
    let server = Server::redis();
    let (_link_dir, peer) = called("redis-benchmark");
    let (_dir, file) = place();
    let line = format!("--json {} -n 1000 -t get -q", file.display());
    server.keystorm(&line).called(&peer).run().ok();
    assert!(json(&file)["tests"][0]["watched"]["machine"].is_null());
}
