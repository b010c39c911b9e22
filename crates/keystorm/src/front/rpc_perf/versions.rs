//! Files of versions before 5: which one a file is of.

use super::fault::Fault;
use super::table::Table;

/// Refuses a file of an older version, by its name.
pub(super) fn check(root: &Table<'_, '_>) -> Result<(), Fault> {
    let Some(version) = version(root)? else { return Ok(()) };
    Err(root.broken(
        "",
        format!(
            "this is a file of rpc-perf {version}; keystorm reads those of 5.x, in which \
             [workload.ratelimit] and [[workload.keyspace]] say what is sent (docs/rpc-perf.md)"
        ),
    ))
}

/// Which of the older versions a file is of, if it is of one.
fn version(root: &Table<'_, '_>) -> Result<Option<&'static str>, Fault> {
    if root.has("workload") && root.table("workload").is_err() {
        return Ok(Some("1.x or 2.x"));
    }
    if !root.has("keyspace") {
        return Ok(None);
    }
    let flat = !root.has("request") && !root.has("target");
    Ok(Some(if flat { "3.x" } else { "4.0" }))
}
