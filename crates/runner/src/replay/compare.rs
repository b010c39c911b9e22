//! Two servers compared on fake time: how often real differences are found, and false ones.
//!
//! Whole runs, in blocks of A B B A, through the decision that `keystorm compare` prints. Each server wavers
//! by 0.7 % from run to run and by 1 % from request to request, and the machine gets steadily slower.

use host::{ServerFacts, WatchRecord};
use measure::statistics::{Conclusion, Noise};
use report::compare::{ERRORS_DEFAULT, Pairing, RunDigest, Setup, TestComparison};
use report::{Metric, Run};
use workload::Stop;

use super::server::Server;
use super::{MS, parts, replay};

const BLOCKS: usize = 5;
const SEEDS: u64 = 300;

/// A run of a server that takes about this long for a request.
fn run(service_ns: f64, seed: u64, noise: &mut Noise) -> RunDigest {
    let service_ns = service_ns * (0.007 * noise.normal()).exp();
    // Of throughput, which is what is judged, histograms say nothing; small ones are fast.
    let mut parts = parts(1, 1, Stop::Requests(60));
    parts.recording.precision = 1;
    let server = Server::taking(service_ns as u64).wavering(0.01, seed);
    let (measured, _) = replay(parts.clone(), server);
    let facts = ServerFacts::default();
    let run =
        Run::new(parts.build().unwrap(), measured, facts, String::new(), WatchRecord::default());
    RunDigest::from_run(&run).unwrap()
}

/// Returns the conclusion about a server that is slower by this share.
fn concluded(slower: f64, seed: u64) -> (Conclusion, f64) {
    let mut noise = Noise::new(seed);
    let mut sides = [Vec::new(), Vec::new()];
    for n in 0..BLOCKS * 4 {
        let side = [0, 1, 1, 0][n % 4];
        let base_ns = [MS as f64, MS as f64 * (1.0 + slower)][side];
        let drift = 1.0 + 0.001 * n as f64;
        sides[side].push(run(base_ns * drift, seed * 20 + n as u64, &mut noise));
    }
    let [a, b] = &sides;
    let setup = Setup {
        names: ["A", "B"].map(str::to_owned),
        pairing: Pairing::Blocks,
        precision: 1,
        open_loop: false,
        unit: report::CountUnit::Request,
        errors_allowed: ERRORS_DEFAULT,
        looks: 1,
        headlines: 1,
        by_command: false,
    };
    let test = TestComparison::new("SET", &setup, a, b);
    let ratio = &test.row(Metric::Throughput).unwrap().ratio;
    (ratio.conclusion(), ratio.ratio)
}

#[test]
fn a_server_that_is_two_per_cent_slower_is_found_out() {
    let found: Vec<_> = (0..SEEDS).map(|seed| concluded(0.02, seed)).collect();
    let differ = found.iter().filter(|(c, ratio)| *c == Conclusion::Differ && *ratio < 1.0);
    let differ = differ.count();
    assert!(differ >= SEEDS as usize * 95 / 100, "{differ} of {SEEDS}");
    let mean = found.iter().map(|(_, ratio)| ratio).sum::<f64>() / SEEDS as f64;
    assert!((mean - 1.0 / 1.02).abs() < 0.001, "{mean}");
}

#[test]
fn equals_are_distinguished_one_time_in_twenty_at_most() {
    let differ = (0..SEEDS).filter(|seed| concluded(0.0, *seed).0 == Conclusion::Differ).count();
    // 15 are one in twenty; three standard deviations are 11. Blocks that agree by chance alone do not count.
    assert!((4..=26).contains(&differ), "{differ} of {SEEDS}");
}
