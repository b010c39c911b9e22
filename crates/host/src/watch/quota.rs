//! Time for which the CPU quota of a control group throttled a process.
//!
//! A throttled thread looks like one that waits for a CPU; only the group's own count distinguishes them.
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files> and
//! <https://docs.kernel.org/scheduler/sched-bwc.html>

use std::fs;
use std::path::Path;

/// Throttled nanoseconds of the group of a process (a number, or `self`), since the group was made. `None` if
/// no group counts.
pub(super) fn throttled_ns(process: &str) -> Option<u64> {
    throttled_under(Path::new("/"), process)
}

/// Reads them from the tree below `root`.
fn throttled_under(root: &Path, process: &str) -> Option<u64> {
    let groups = fs::read_to_string(root.join(format!("proc/{process}/cgroup"))).ok()?;
    groups.lines().filter_map(|line| of_group(root, line)).max()
}

/// Longest throttled time of the group in this line of `/proc/PID/cgroup` and its ancestors, as a group
/// counts its own quota only.
fn of_group(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    // A group of another namespace, which is not mounted here.
    if group.split('/').any(|part| part == "..") {
        return None;
    }
    let bases: &[&str] = match controllers {
        "" => &["sys/fs/cgroup"],
        named if named.split(',').any(|name| name == "cpu") => {
            &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"]
        }
        _ => return None,
    };
    let counts = bases.iter().filter_map(|base| {
        let group = Path::new(group.trim_start_matches('/'));
        let folders = group.ancestors().map(|part| root.join(base).join(part));
        folders.filter_map(|folder| counted(&folder.join("cpu.stat"))).max()
    });
    counts.max()
}

/// Version 2 counts microseconds, version 1 nanoseconds.
fn counted(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let number = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(' '));
        fields.find(|(field, _)| *field == name)?.1.trim().parse::<u64>().ok()
    };
    number("throttled_usec")
        .map(|usec| usec.saturating_mul(1000))
        .or_else(|| number("throttled_time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the throttled time of process 7 from the files of such a tree.
    fn throttled(files: &[(&str, &str)]) -> Option<u64> {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        throttled_under(tree.path(), "7")
    }

    #[test]
    fn either_version_is_read_and_the_outer_groups_too() {
        let v2 = "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 70\n";
        let quiet = "usage_usec 9\nthrottled_usec 0\n";
        let of = ("proc/7/cgroup", "0::/pod/server\n");
        let inner = ("sys/fs/cgroup/pod/server/cpu.stat", quiet);
        assert_eq!(throttled(&[of, inner, ("sys/fs/cgroup/pod/cpu.stat", v2)]), Some(70_000));
        assert_eq!(throttled(&[of, inner]), Some(0));
        // In a container its own group is the root of what is mounted.
        assert_eq!(throttled(&[of, ("sys/fs/cgroup/cpu.stat", v2)]), Some(70_000));
        let v1 = ("proc/7/cgroup", "3:cpuset:/\n1:cpu,cpuacct:/pod\n0::/\n");
        let stat = ("sys/fs/cgroup/cpu,cpuacct/pod/cpu.stat", "nr_periods 5\nthrottled_time 80\n");
        assert_eq!(throttled(&[v1, stat]), Some(80));
    }

    #[test]
    fn what_is_not_reported_is_not_known() {
        assert_eq!(throttled(&[]), None);
        assert_eq!(
            throttled(&[("proc/7/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.stat", "x 1\n")]),
            None
        );
        let outside = ("sys/fs/cpu.stat", "throttled_usec 5\n");
        assert_eq!(throttled(&[("proc/7/cgroup", "0::/../../..\n"), outside]), None);
    }
}
