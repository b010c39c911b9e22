//! Reading and comparing of saved suites.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use cli::compare::CompareJob;
use cli::job::End;
use lab::Suite;
use lab::suite::SuiteComparison;
use report::Metric;

use crate::commands::pages::Pages;
use crate::commands::show;
use crate::experiment::terminal::Terminal;

/// A saved suite, and the name of its file.
///
/// # Errors
/// Returns an error with the file's name if it is invalid.
pub(super) fn read(path: &Path) -> Result<(String, Suite)> {
    let text = show::read_text(path)?;
    let suite = Suite::from_json(&String::from_utf8_lossy(&text));
    let name = path.display().to_string();
    suite.map(|suite| (name.clone(), suite)).map_err(|why| anyhow!("{name}: {why}"))
}

/// Returns whether a file is a saved suite.
pub(crate) fn saved(path: &Path) -> bool {
    path.is_file() && show::read_text(path).is_ok_and(|text| Suite::is_saved(&text))
}

/// Compares two saved suites for `keystorm compare`.
///
/// # Errors
/// Returns an error if a file is invalid, or a page cannot be written.
pub(crate) fn compare(paths: [&Path; 2], job: &CompareJob) -> Result<End> {
    let pages = Pages::open(&job.output.pages)?;
    let [(name_a, a), (name_b, b)] = [read(paths[0])?, read(paths[1])?];
    let given = |at: usize| job.names.get(at).cloned().flatten();
    let names = [given(0).unwrap_or(name_a), given(1).unwrap_or(name_b)];
    let threshold = job.fail_on_regression.map(|percent| percent / 100.0);
    let metric = match job.watched[..] {
        [metric @ (Metric::Throughput | Metric::ServerCpu)] => metric,
        _ if job.watched == report::compare::WATCHED => Metric::Throughput,
        _ => bail!("--metric: suites are compared by throughput, or by server-cpu"),
    };
    let compared = SuiteComparison::new(names, &a, &b, metric, threshold);
    print(&compared)?;
    if job.output.pages.any() {
        pages.write(&compared.page(&job.command_line))?;
    }
    Ok(end(&compared))
}

/// Prints the changes, in a sentence and a table.
pub(super) fn print(compared: &SuiteComparison) -> Result<()> {
    let terminal = Terminal::of_stdout();
    terminal.verdict(&compared.verdict())?;
    terminal.table(&compared.table())?;
    compared.left_out.iter().try_for_each(|line| terminal.line(line))
}

/// Returns how a comparison ends: only one with a gate can fail.
pub(super) fn end(compared: &SuiteComparison) -> End {
    match compared.threshold {
        None => End::Complete,
        Some(_) if compared.regressed() => End::Regressed,
        Some(_) if compared.undecided() => End::Inconclusive,
        Some(_) => End::Complete,
    }
}
