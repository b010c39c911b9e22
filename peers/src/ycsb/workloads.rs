//! The six workloads that come with YCSB, under the names of their files.

/// Content of the file of that name.
pub(super) fn named(name: &str) -> Option<&'static str> {
    Some(match name {
        "workloada" => include_str!("workloads/workloada.properties"),
        "workloadb" => include_str!("workloads/workloadb.properties"),
        "workloadc" => include_str!("workloads/workloadc.properties"),
        "workloadd" => include_str!("workloads/workloadd.properties"),
        "workloade" => include_str!("workloads/workloade.properties"),
        "workloadf" => include_str!("workloads/workloadf.properties"),
        _ => return None,
    })
}
