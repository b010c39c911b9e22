//! Other tools that keystorm stands in for: a module for each, with its words, its layouts and what accompanies
//! its runs. `cli` reads what they have in common, the program carries out their jobs.

pub mod memtier;
pub mod rpc_perf;
pub mod ycsb;
