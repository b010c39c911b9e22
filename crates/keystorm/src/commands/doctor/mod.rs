//! `keystorm doctor`: finds the server, gathers evidence, and prints the findings.

mod client;
mod client_table;
mod options;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::ArgMatches;
use cli::console::diagnostics;
use cli::front::{Front, command, with_matches};
use cli::job::{End, Intent, UsageError};
use host::Transport;
use host::doctor::gather::{gather, gather_memcache};
use host::doctor::{Area, Evidence, Finding, Level};
use host::machine::{Delays, Intrinsic};

use self::options::Options;
use crate::commands::run;
use crate::server::Server;
use crate::speaker::Speaker;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["doctor"],
    command: command::<Options>,
    parse: |args| with_matches(args, intent),
};

/// Returns what the options mean.
fn intent(options: Options, matches: &ArgMatches) -> Result<Intent, UsageError> {
    if options.client {
        let load = options.of_client(matches)?;
        return Ok(Intent::carry(move || client::measure(&options, &load)));
    }
    let options = options.of_server(matches)?;
    Ok(Intent::carry(move || doctor(&options)))
}

/// Looks, and prints.
///
/// # Errors
/// Returns an error if the result could not be printed.
fn doctor(job: &Options) -> Result<End> {
    job.server.notes.iter().try_for_each(diagnostics::say)?;
    let (mut evidence, subject) = look(job);
    evidence.intrinsic = job.intrinsic.map(Intrinsic::measure);
    let findings = host::doctor::examine(&evidence);
    if job.json {
        run::say(&json(&evidence, &subject, &findings)?)?;
    } else {
        let delays = evidence.intrinsic.as_ref().map(table).unwrap_or_default();
        say_in_colour(&(delays + &lines(&subject, &findings)))?;
    }
    let bad = findings.iter().any(|finding| finding.level == Level::Bad);
    let unasked = evidence.unasked();
    let lost = job.is_named && unasked.is_some();
    Ok(if bad || lost { End::Failed } else { End::Complete })
}

/// The evidence, and the name of its subject.
fn look(job: &Options) -> (Evidence, String) {
    let (load, target) = (job.load(), &job.server.target);
    let reached =
        Server::reach(target, job.server.protocol, load.connections, host::Questions::All);
    let asked = reached.and_then(|server| Ok((Speaker::open(&server, target)?, server)));
    let mut asked =
        asked.map_err(|error| diagnostics::concealed(&format!("{error:#}")).into_owned());
    let evidence = match &mut asked {
        Ok((Speaker::Resp(client), server)) => {
            gather(Ok((&server.address, &mut **client)), load, job.seconds)
        }
        Ok((Speaker::Memcache(client), server)) => {
            gather_memcache(Ok((&server.address, &mut **client)), load, job.seconds)
        }
        Err(why) if job.server.protocol.is_memcache() => {
            gather_memcache(Err(why.clone()), load, job.seconds)
        }
        Err(why) => gather::<Transport>(Err(why.clone()), load, job.seconds),
    };
    let subject = match &asked {
        Ok((_, server)) => format!("this machine and {}", server.address),
        Err(_) => "this machine".to_owned(),
    };
    (evidence, subject)
}

/// Counts the findings of each level.
fn counts(findings: &[Finding]) -> [(Level, usize); 4] {
    [Level::Ok, Level::Warn, Level::Bad, Level::Unknown]
        .map(|level| (level, findings.iter().filter(|f| f.level == level).count()))
}

/// The findings as JSON. Adding fields keeps the number of the schema; any other change raises it.
fn json(evidence: &Evidence, subject: &str, findings: &[Finding]) -> Result<String> {
    let counts = counts(findings).map(|(level, n)| (level_name(level).to_owned(), n.into()));
    let server = evidence.unasked();
    let trips = evidence.round_trips.as_ref().ok().map(|trips| {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        serde_json::json!({
            "count": trips.count,
            "min_us": us(trips.min),
            "median_us": us(trips.median),
            "p99_us": us(trips.p99),
            "max_us": us(trips.max),
        })
    });
    let json = serde_json::json!({
        "schema": "keystorm.doctor/1",
        "keystorm": env!("CARGO_PKG_VERSION"),
        "subject": subject,
        "no_server_because": server,
        "counts": serde_json::Map::from_iter(counts),
        "findings": findings,
        "round_trips": trips,
        "intrinsic": report::json::value(&evidence.intrinsic)?,
        "host": report::json::value(&evidence.host)?,
    });
    Ok(report::json::pretty(&json)? + "\n")
}

/// The name of a level in JSON.
fn level_name(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Warn => "warn",
        Level::Bad => "bad",
        Level::Unknown => "unknown",
    }
}

/// The name of a level at the beginning of a line.
fn label(level: Level) -> &'static str {
    if level == Level::Unknown { "?" } else { level_name(level) }
}

fn colour(level: Level) -> Style {
    let colour = match level {
        Level::Ok => AnsiColor::Green,
        Level::Warn => AnsiColor::Yellow,
        Level::Bad => AnsiColor::Red,
        Level::Unknown => AnsiColor::Cyan,
    };
    Style::new().fg_color(Some(colour.into()))
}

/// The whole answer for people.
fn lines(subject: &str, findings: &[Finding]) -> String {
    let bold = Style::new().bold();
    let mut out = format!("Checking {}\n", host::printable(subject));
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    for (area, title) in [
        (Area::Host, "This machine"),
        (Area::Network, "The network path"),
        (Area::Server, "The server"),
    ] {
        let _ = writeln!(out, "\n{bold}{title}{bold:#}");
        let of_area: Vec<&Finding> = findings.iter().filter(|f| f.area == area).collect();
        for group in of_area.chunk_by(|a, b| alike(a, b)) {
            let Some(first) = group.first() else { continue };
            let style = colour(first.level);
            let seen = host::printable(&first.seen);
            let names: Vec<&str> = group.iter().map(|f| f.name.as_str()).collect();
            let label = label(first.level);
            if let [name] = names[..] {
                let _ = writeln!(out, "{style}{label:<4}{style:#}  {name:<width$}  {seen}");
            } else {
                // One reason for many is printed once.
                let _ = writeln!(out, "{style}{label:<4}{style:#}  {}", names.join(", "));
                let _ = writeln!(out, "      {:<width$}  {seen}", "");
            }
        }
    }
    for finding in findings.iter().filter(|f| f.level >= Level::Warn) {
        let Finding { name, level, seen, why, mend, .. } = finding;
        let style = colour(*level);
        let label = label(*level);
        let [seen, why, mend] = [seen, why, mend].map(host::printable);
        let _ = writeln!(out, "\n{style}{label:<4}{style:#}  {bold}{name}{bold:#}: {seen}");
        let _ = writeln!(out, "      why   {why}\n      fix   {mend}");
    }
    let counts = counts(findings).map(|(level, n)| match level {
        Level::Unknown => format!("{n} not checked"),
        level => format!("{n} {}", level_name(level)),
    });
    let _ = writeln!(out, "\n{}", counts.join(", "));
    out
}

/// Formats the latency that this machine alone adds, as a table of percentiles in milliseconds.
fn table(intrinsic: &Intrinsic) -> String {
    let Intrinsic { seconds, busy, timers, interrupted, stolen, waited } = intrinsic;
    let bold = Style::new().bold();
    let mut out = format!(
        "{bold}Delays of this machine alone{bold:#} (ms; {seconds:.1} s each, no server)\n\
         {:<14}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "", "p50", "p90", "p99", "p99.9", "p99.99", "max"
    );
    for (name, delays) in [("busy thread", busy), ("timer of 1 ms", timers)] {
        let Delays { p50_us, p90_us, p99_us, p999_us, p9999_us, max_us, .. } = *delays;
        let _ = write!(out, "{name:<14}");
        for us in [p50_us, p90_us, p99_us, p999_us, p9999_us, max_us] {
            let _ = write!(out, "{:>9.3}", us / 1e3);
        }
        out.push('\n');
    }
    let _ = write!(
        out,
        "The busy thread had no CPU for {:.2} % of its time, in {} interruptions",
        interrupted * 100.0,
        busy.count
    );
    if let Some(waited) = waited {
        let _ = write!(out, "; other programs ran for {:.2} %", waited * 100.0);
    }
    if let Some(stolen) = stolen {
        let _ = write!(out, "; the hypervisor took {:.2} % of all CPUs", stolen * 100.0);
    }
    out + ".\n\n"
}

/// Returns whether two neighbouring checks are unknown for the same reason.
fn alike(a: &Finding, b: &Finding) -> bool {
    a.level == Level::Unknown && b.level == Level::Unknown && a.seen == b.seen
}

/// Prints in colour on a terminal only, and not if `NO_COLOR` forbids it.
fn say_in_colour(text: &str) -> Result<()> {
    let choice = anstream::AutoStream::choice(&io::stdout());
    let mut plain = anstream::AutoStream::new(Vec::new(), choice);
    plain.write_all(text.as_bytes())?;
    run::say(&String::from_utf8_lossy(&plain.into_inner()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(name: &str, level: Level, seen: &str) -> Finding {
        let text = |text: &str| if level >= Level::Warn { text.to_owned() } else { String::new() };
        Finding {
            area: Area::Server,
            name: name.to_owned(),
            level,
            seen: seen.to_owned(),
            why: text("because"),
            mend: text("do this"),
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn lines_are_aligned_and_one_reason_is_stated_once() {
        let findings = [
            finding("save", Level::Ok, "off"),
            finding("appendonly", Level::Bad, "yes"),
            finding("a", Level::Unknown, "refused"),
            finding("b", Level::Unknown, "refused"),
        ];
        let text = plain(&lines("x", &findings));
        for line in [
            "ok    save        off",
            "bad   appendonly  yes",
            "?     a, b",
            "bad   appendonly: yes",
            "      why   because",
            "      fix   do this",
            "1 ok, 0 warn, 1 bad, 2 not checked",
        ] {
            assert!(text.lines().any(|l| l == line), "no {line:?} in\n{text}");
        }
        assert_eq!(text.matches("refused").count(), 1);
    }

    #[test]
    fn what_a_server_says_steers_no_terminal() {
        let text = lines("x", &[finding("version", Level::Warn, "\x1b[2J\n9")]);
        assert!(!text.contains("\x1b[2J") && text.contains("\\u{1b}[2J\\n9"), "{text:?}");
    }
}
