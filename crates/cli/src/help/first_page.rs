//! The first pages of help, of a run and of `compare`: a summary, examples, and the options that most people
//! use. Every option is in `--help all` and the man page.

/// First page of a run, at most 60 lines of 100 columns. A test runs every line that begins with `$`.
pub(super) const RUN: &str = include_str!("../../help/first-page-of-run.txt");

/// First page of `compare`.
pub(super) const COMPARE: &str = include_str!("../../help/first-page-of-compare.txt");

/// First page of deliveries.
pub(super) const DELIVER: &str = include_str!("../../help/first-page-of-deliver.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_on_a_page() {
        for page in [RUN, COMPARE, DELIVER] {
            assert!(page.lines().count() <= 60, "{} lines", page.lines().count());
            // An example must fit on one line.
            for line in page.lines().filter(|line| !line.starts_with("    $ ")) {
                assert!(line.chars().count() <= 100, "{line}");
            }
        }
    }
}
