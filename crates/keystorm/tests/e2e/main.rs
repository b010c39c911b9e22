//! End to end: the built program against real servers.
//!
//! One crate, so that linking happens once. What a server has executed is asked of the server
//! (`INFO commandstats`), never read from what keystorm prints.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../page/tests/pages/browser.rs"]
mod browser;
#[path = "../../../engine/tests/conformance/certificates.rs"]
mod certificates;
mod listener;
mod mask;
mod memcached;
mod program;
mod real_clock;
mod server;

mod calibrate;
mod cluster;
mod compare;
mod connections;
mod counts;
mod dataset;
mod doctor;
mod documents;
mod dropin;
mod endings;
mod errors;
mod failures;
mod fleet;
mod fleet_loss;
mod fleet_places;
mod fleet_tools;
mod help;
mod keys;
mod limits;
mod links;
mod login;
mod manual;
mod memcache;
mod memcache_reads;
mod memcache_ring;
mod memcache_versions;
mod memcache_words;
mod memtier;
mod memtier_import;
mod memtier_later;
mod memtier_refused;
mod memtier_reports;
mod metrics;
mod misses;
mod mix;
mod output;
mod pace;
mod pages;
mod parity;
mod placeholders;
mod plan;
mod protocol;
mod reach;
mod record;
mod refused;
mod repeat;
mod rpc_perf;
mod rpc_perf_admin;
mod rpc_perf_keys;
mod rpc_perf_refused;
mod rpc_perf_verbs;
mod saved;
mod search;
mod secrets;
mod sequence;
mod sink;
mod spawn;
mod suite;
mod survey;
mod sweep;
mod terminal;
mod terms;
mod tls;
mod typed;
mod values;
mod verdict;
mod verify;
mod workload;
mod ycsb;
mod ycsb_memcached;
mod ycsb_peer;
