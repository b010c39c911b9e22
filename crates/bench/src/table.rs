//! Comparisons laid out: what was reached, and the figures behind it.
//!
//! Two tables of Markdown, aligned so that they read well on a terminal too.

use std::fmt::Write;

use crate::case::Clock;
use crate::figures::{Comparison, Ratio};

/// Renders both tables and the meaning of the columns.
pub(crate) fn render(comparisons: &[Comparison]) -> String {
    let ratios = comparisons.iter().map(ratio_row);
    let figures = comparisons.iter().map(figure_row);
    let reached = comparisons.iter().filter(|c| reached(c)).count();
    let mut out = String::from(
        "\nOurs / theirs, and ours / bare loop: the median of the rounds, and the least and greatest in \
         brackets.\n\n",
    );
    out += &aligned(&RATIO_HEAD, &ratios.collect::<Vec<_>>());
    out += "\nMedians of keystorm, the other tool and the bare loop.\n\n";
    out += &aligned(&FIGURE_HEAD, &figures.collect::<Vec<_>>());
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

fn ratio_row(c: &Comparison) -> [String; 7] {
    let verdict = |ok| if ok { "ok" } else { "miss" };
    let (cpu, rate, above) = (c.cpu(), c.rate(), c.above_bare());
    let star = if c.case.clock == Clock::Wall { "*" } else { "" };
    let (most, least) = (c.case.cpu_most, c.case.rate_least);
    let describe = |ratio: Option<Ratio>, mark: &str| {
        ratio.map_or("-".to_owned(), |ratio| format!("{ratio}{mark}"))
    };
    let at_most = |ratio: Option<Ratio>, most: f64| {
        ratio.map_or("-".to_owned(), |ratio| {
            format!("<= {most:.2} {}", verdict(ratio.median <= most))
        })
    };
    [
        c.case.title.to_owned(),
        describe(cpu, ""),
        at_most(cpu, most),
        describe(rate, star),
        rate.map_or("-".to_owned(), |rate| {
            format!(">= {least:.2} {}", verdict(rate.median >= least))
        }),
        describe(above, ""),
        at_most(above, c.case.above_base_most),
    ]
}

fn reached(c: &Comparison) -> bool {
    c.cpu().is_none_or(|cpu| cpu.median <= c.case.cpu_most)
        && c.rate().is_none_or(|rate| rate.median >= c.case.rate_least)
        && c.above_bare().is_none_or(|above| above.median <= c.case.above_base_most)
}

const FIGURE_HEAD: [&str; 7] = [
    "case",
    "-n",
    "client µs/request",
    "requests/s, own",
    "requests/s, wall",
    "server busy %",
    "client MB",
];

fn figure_row(c: &Comparison) -> [String; 7] {
    let all = |(ours, theirs, bare): (f64, Option<f64>, Option<f64>), digits: usize| {
        let theirs = theirs.map_or("-".to_owned(), |theirs| format!("{theirs:.digits$}"));
        let bare = bare.map_or(String::new(), |bare| format!(" {bare:.digits$}"));
        format!("{ours:.digits$} {theirs}{bare}")
    };
    [
        c.case.title.to_owned(),
        c.requests.to_string(),
        all(c.medians(|f| f.cpu_us), 2),
        all(c.medians(|f| f.rate), 0),
        all(c.medians(|f| f.wall_rate), 0),
        all(c.medians(|f| f.server_busy * 100.0), 0),
        all(c.medians(|f| f.memory_mb), 0),
    ]
}

/// A table whose columns are as wide as their widest cell: the first to the left, the rest to
/// the right.
fn aligned<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.fold(head[column].chars().count(), usize::max)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut out = String::new();
    let mut line = |cells: [&str; N]| {
        for (column, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            let _ = if column == 0 {
                write!(out, "| {cell:<width$} ")
            } else {
                write!(out, "| {cell:>width$} ")
            };
        }
        out += "|\n";
    };
    line(*head);
    let rules: [String; N] = std::array::from_fn(|column| match column {
        0 => "-".repeat(widths[0]),
        _ => "-".repeat(widths[column] - 1) + ":",
    });
    line(std::array::from_fn(|column| rules[column].as_str()));
    for row in rows {
        line(std::array::from_fn(|column| row[column].as_str()));
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
