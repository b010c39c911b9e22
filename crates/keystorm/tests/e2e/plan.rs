//! `--print-plan`: what would be done, as JSON.

use serde_json::Value;

use crate::program::Keystorm;
use crate::server::free_port;

fn printed(line: &str) -> String {
    Keystorm::new(&format!("--print-plan {line}")).run().ok().out
}

#[test]
fn the_plan_of_a_suite() {
    insta::assert_snapshot!(printed("-t set -n 10 -r 100 --seed 1"));
}

#[test]
fn the_plan_of_a_sequence() {
    let line = "-u redis://me:secret@10.0.0.1:7000/3 -3 --enable-tracking --threads 2 -c 4 -P 8 \
                --rps 1000 --duration 2 --warmup 0.5 --sequential -r 1000 -d 5 --seed 7 \
                --on-error count --first-byte 2 set k:__rand_1st__ __data__ ';' get k:__rand_int__";
    insta::assert_snapshot!(printed(line));
}

#[test]
fn a_plan_needs_no_server_and_is_json_for_every_test() {
    let plans: Value = serde_json::from_str(&printed(&format!("-p {}", free_port()))).unwrap();
    let plans = plans.as_array().unwrap();
    assert_eq!(plans.len(), 24);
    let fcall = plans.last().unwrap();
    assert_eq!(fcall["name"], "FCALL");
    assert_eq!(fcall["setup"].as_array().unwrap().len(), 1);
}

#[test]
fn a_gigabyte_of_data_is_a_short_plan() {
    assert!(printed("-t set -d 1073741824").len() < 10_000);
}

#[test]
fn a_plan_that_makes_no_sense_is_not_printed() {
    Keystorm::new("--print-plan -c 0").run().exits(2).says("-c");
}
