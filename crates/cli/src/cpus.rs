//! Lists of CPUs, as options name them.

use std::ops::RangeInclusive;

use host::machine::cpu_range;

/// Reads `0,2-3`, as the value of `option`.
///
/// # Errors
/// What is no list of CPUs.
pub fn cpu_list(option: &str, list: Option<&str>) -> Result<Vec<usize>, String> {
    const CPU_MAX: usize = 1023;
    let Some(list) = list else { return Ok(Vec::new()) };
    let fault = || format!("{option} {list}: CPUs are numbers and ranges such as 0,2-3");
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let known = |range: &RangeInclusive<usize>| !range.is_empty() && *range.end() <= CPU_MAX;
        cpus.extend(cpu_range(part).filter(known).ok_or_else(fault)?);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::cpu_list;

    #[test]
    fn cpu_lists_are_numbers_and_ranges() {
        let read = |list| cpu_list("--cpus", Some(list));
        assert_eq!(read("0,2-4").unwrap(), [0, 2, 3, 4]);
        assert_eq!(cpu_list("--cpus", None).unwrap(), [0; 0]);
        for bad in ["", "a", "3-1", "1,,2", "99999"] {
            assert!(read(bad).unwrap_err().contains("--cpus"), "{bad}");
        }
    }
}
