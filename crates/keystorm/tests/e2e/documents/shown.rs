//! Whether a command prints what a page shows of it.

use crate::mask::masked;

/// Compares what a page shows with what was printed. Figures, blanks, and lines that depend on what else the
/// machine does are not compared. In what is shown `...` stands for any lines, also at the end of a
/// line for its rest.
///
/// # Errors
/// The first line that is shown and was not printed there.
pub(super) fn shows(printed: &str, shown: &str) -> Result<(), String> {
    // Points alone would be taken for a figure.
    let shown = shown
        .lines()
        .map(|line| if line.trim() == "..." { "…\n".to_owned() } else { format!("{line}\n") });
    let (printed, shown) = (plain(printed), plain(&shown.collect::<String>()));
    let mut rest = printed.as_slice();
    let (mut skips, mut last) = (false, None);
    for line in shown {
        if line == "…" {
            skips = true;
            continue;
        }
        // Without their figures lines that follow each other are one.
        if skips && last.as_ref() == Some(&line) {
            skips = false;
            continue;
        }
        let is = |printed: &String| match line.strip_suffix("...") {
            Some(begin) => printed.starts_with(begin),
            None => *printed == line,
        };
        let at = rest.iter().take(if skips { usize::MAX } else { 1 }).position(is);
        match at {
            Some(at) => {
                rest = &rest[at + 1..];
                last = Some(line);
            }
            None => return Err(line),
        }
        skips = false;
    }
    match rest {
        [] => Ok(()),
        _ if skips => Ok(()),
        [line, ..] => Err(format!("(nothing more; it goes on with: {line})")),
    }
}

/// The lines of a text without figures, blank lines and what depends on the machine.
fn plain(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut outages = false;
    for line in masked(text).lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        // One number, however it is written: 1,000, 20k, 5M, -3.
        let line = line.replace("#,#,#", "#").replace("#,#", "#").replace("-#", "#");
        let line = line.replace("#k", "#").replace("#M", "#");
        // Whether a percentile is marked depends on the length of the run, which is shorter here.
        let line = line.replace("#*", "#");
        outages = line.starts_with("Outages (") || outages && !line.is_empty();
        let depends = [": warning: ", ": limited by: ", ": not saturated: ", "warning: "];
        let depends =
            depends.iter().any(|part| line.contains(part)) || line.starts_with("schedule: ");
        if line.is_empty() || outages || depends {
            continue;
        }
        let line = match line.split_once(", # outage") {
            Some((before, _)) => format!("{before}, limited by ..."),
            None => line,
        };
        lines.push(line);
    }
    lines
}

#[test]
fn a_word_that_is_not_printed_is_noticed() {
    let printed = "Started redis 7.0.15 on 127.0.0.1:33207\nSET: 11.5 requests per second, p50=0.4 msec, \
                   limited by server\nGET: 1,200 requests per second, p50=0.4 msec, limited by client\n";
    let shows = |shown: &str| shows(printed, shown);
    assert_eq!(shows("Started redis 8 on 127.0.0.1:1\n...\n"), Ok(()));
    let get = "GET: 9 requests per second, p50=1.25 msec, limited by server";
    assert_eq!(shows(&format!("...\n{get}\n")), Ok(()));
    assert_eq!(shows("...\nSET: ...\nGET: ...\n"), Ok(()));
    let steps = "a:\n 50 % <= 1 ms 2\n 70 % <= 1 ms 2\n 100 % <= 2 ms 3\nb:\n 100 % <= 2 ms 3\n";
    let shown = "a:\n 50 % <= 9 ms 2\n...\n 100 % <= 9 ms 2\nb:\n...\n 100 % <= 9 ms 2\n";
    assert_eq!(super::shown::shows(steps, shown), Ok(()));
    for wrong in [
        "...\nGET: 9 queries per second, p50=1.25 msec, limited by server\n",
        "...\nGET: 9 requests per second, p99=1.25 msec, limited by server\n",
        "...\nSET: 11.5 requests per second, p50=0.4 msec, limited by server\n",
        "Started redis 8 on 127.0.0.1:1\nGET: ...\n",
        "...\nHSET: ...\n",
        "...\nGET: ...\nSET: ...\n",
    ] {
        assert!(shows(wrong).is_err(), "{wrong}");
    }
}
