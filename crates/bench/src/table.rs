//! Comparisons laid out: what was reached, and the figures behind it.
//!
//! Two tables of Markdown, aligned so that they read well on a terminal too.

use std::fmt::Write;

use crate::case::Clock;
use crate::figures::{Comparison, Figures, Ratio};

/// Renders both tables and the meaning of the columns.
pub(crate) fn render(comparisons: &[Comparison]) -> String {
    let ratios = comparisons.iter().map(ratio_row);
    let figures = comparisons.iter().map(figure_row);
    let reached = comparisons.iter();
    let reached = reached.filter(|c| targets(c).iter().flatten().all(|of| of.is_met)).count();
    let mut out = String::from(
        "\nOurs / theirs, and ours / bare loop: the median of the rounds, and the least and greatest in \
         brackets.\n\n",
    );
    out += &aligned(&RATIO_HEAD, ratios);
    out += "\nMedians of keystorm, the other tool and the bare loop.\n\n";
    let head: Vec<&str> =
        ["case", "-n"].into_iter().chain(FIGURES.iter().map(|(name, ..)| *name)).collect();
    out += &aligned(&head, figures);
    out += "\nThroughput that is compared: requests per second as each tool says, which leaves \
            connecting out; with *\nrequests over the wall time of the client process, connecting \
            included. Client CPU: user and system time of\nthe whole client process per request. \
            Server busy: its CPU time (INFO) over the wall time of the client.\nBare \
            loop: fixed bytes over the same kernel interfaces, without plan, clock, histogram or \
            decoder\n(crates/engine/examples/bare), under TLS with OpenSSL's own calls; of a mix, the same \
            client with its GETs and its\nSETs of 2,050 bytes one after another; of an option, the same \
            client without it. Client MB: the most memory it held.\n\n";
    let _ = writeln!(out, "{reached} of {} cases reached.", comparisons.len());
    out
}

const RATIO_HEAD: [&str; 7] =
    ["case", "client CPU", "target", "throughput", "target", "CPU / bare loop", "target"];

fn ratio_row(c: &Comparison) -> Vec<String> {
    let by_wall = if c.case.clock == Clock::Wall { "*" } else { "" };
    let cells = targets(c).into_iter().zip(["", by_wall, ""]).flat_map(|(target, mark)| {
        target.map_or(["-", "-"].map(str::to_owned), |Target { ratio, sign, bound, is_met }| {
            let verdict = if is_met { "ok" } else { "miss" };
            [format!("{ratio}{mark}"), format!("{sign} {bound:.2} {verdict}")]
        })
    });
    std::iter::once(c.case.title.to_owned()).chain(cells).collect()
}

/// A ratio and what it is to be.
struct Target {
    ratio: Ratio,
    sign: &'static str,
    bound: f64,
    is_met: bool,
}

/// The targets of client CPU, throughput, and client CPU beside the bare loop, where there is another client.
fn targets(c: &Comparison) -> [Option<Target>; 3] {
    let at_most = |ratio: Option<Ratio>, bound: f64| {
        ratio.map(|ratio| Target { ratio, sign: "<=", bound, is_met: ratio.median <= bound })
    };
    let bound = c.case.rate_least;
    let rate = c.rate().map(|ratio| {
        let is_met = ratio.median >= bound;
        Target { ratio, sign: ">=", bound, is_met }
    });
    [at_most(c.cpu(), c.case.cpu_most), rate, at_most(c.above_bare(), c.case.above_base_most)]
}

/// A heading, the figure of a run below it, and its digits.
type Column = (&'static str, fn(&Figures) -> f64, usize);

const FIGURES: [Column; 5] = [
    ("client µs/request", |figures| figures.cpu_us, 2),
    ("requests/s, own", |figures| figures.rate, 0),
    ("requests/s, wall", |figures| figures.wall_rate, 0),
    ("server busy %", |figures| figures.server_busy * 100.0, 0),
    ("client MB", |figures| figures.memory_mb, 0),
];

fn figure_row(c: &Comparison) -> Vec<String> {
    let cells = FIGURES.iter().map(|(_, figure, digits)| {
        let (ours, theirs, bare) = c.medians(figure);
        let theirs = theirs.map_or("-".to_owned(), |theirs| format!("{theirs:.digits$}"));
        let bare = bare.map_or(String::new(), |bare| format!(" {bare:.digits$}"));
        format!("{ours:.digits$} {theirs}{bare}")
    });
    [c.case.title.to_owned(), c.requests.to_string()].into_iter().chain(cells).collect()
}

/// A table whose columns are as wide as their widest cell: the first to the left, the rest to
/// the right.
fn aligned(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().map(|&name| name.to_owned()).collect();
    let mut rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let columns = 0..rows[0].len();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.map(width).collect();
    let rules = widths.iter().enumerate().map(|(column, width)| match column {
        0 => "-".repeat(*width),
        _ => "-".repeat(width - 1) + ":",
    });
    rows.insert(1, rules.collect());
    let mut out = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 {
                write!(out, "| {cell:<width$} ")
            } else {
                write!(out, "| {cell:>width$} ")
            };
        }
        out += "|\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::comparison;

    #[test]
    fn each_target_has_its_verdict() {
        let mut without_bare = comparison(7, &[(5.0, 10.0)]);
        without_bare.rounds[0].bare = None;
        let mut alone = comparison(8, &[(4.0, 10.0)]);
        alone.rounds[0].theirs = None;
        let text_alone = render(&[alone]);
        let row = "| memcached get, 100 B |          - |      - |          - |      - |";
        let squeezed = |text: &str| text.replace(' ', "");
        assert!(squeezed(&text_alone).contains(&squeezed(row)), "{text_alone}");
        let text = render(&[comparison(0, &[(4.0, 10.0), (4.4, 10.0), (4.8, 10.0)]), without_bare]);
        for line in [
            "| SET, P1, c50    | 0.440 (0.400-0.480) | <= 0.45 ok |  2.273 (2.083-2.500) |   >= 1.60 ok | 1.250 (1.250-1.250) | <= 1.15 miss |",
            "| SET, P1, c10000 | 0.500 (0.500-0.500) | <= 0.60 ok | 2.000 (2.000-2.000)* | >= 2.50 miss |                   - |            - |",
            "| SET, P1, c50    | 1000 |   4.40 10.00 3.52 | 227273 100000 284091 | 113636 50000 142045 |      50 50 50 |     8 8 8 |",
            "| SET, P1, c10000 | 1000 |        5.00 10.00 |        200000 100000 |        100000 50000 |         50 50 |       8 8 |",
            "0 of 2 cases reached.",
        ] {
            assert!(text.contains(line), "{text}\nshould contain\n{line}");
        }
    }
}
