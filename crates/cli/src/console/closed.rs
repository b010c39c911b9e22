//! Standard output that the caller closed (`>&-`).
//!
//! The runtime then opens /dev/null before `main`, for reading and writing, so that printing does not fail. A
//! shell's `>/dev/null` opens it for writing only, which distinguishes the two.

use std::fs;
use std::path::Path;

/// Returns whether there is no standard output; `false` if unknown.
pub fn has_no_output() -> bool {
    let to = fs::read_link("/proc/self/fd/1");
    let info = fs::read_to_string("/proc/self/fdinfo/1").unwrap_or_default();
    to.is_ok_and(|to| to == Path::new("/dev/null")) && is_read_and_written(&info)
}

/// Parses the kernel's description of an open file: its flags are octal, and the last two bits are the
/// access.
fn is_read_and_written(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 0o3 == 0o2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_written_is_reported_by_its_flags() {
        assert!(is_read_and_written("pos:\t0\nflags:\t0100002\nmnt_id:\t24\n"));
        assert!(!is_read_and_written("pos:\t0\nflags:\t0100001\n"));
        assert!(!is_read_and_written(""));
    }
}
