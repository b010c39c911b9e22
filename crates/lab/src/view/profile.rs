//! Work for each request, as tables, charts and a page.

use report::compare::GateState;
use report::page::{Axis, Block, Chart, Column, DataPoint, Page, Section, Table, Unit, Verdict};

use super::{again, incomplete, or_dash, warnings};
use crate::Findings;
use crate::csv::Csv;
use crate::profile::{Counter, Figure, Profile, ProfiledTest, Work, is_library};

/// Functions that a terminal lists of each test, a line names, and a page draws and lists.
const LISTED: usize = 10;
const NAMED: usize = 4;
const DRAWN: usize = 15;
const ROWS_MAX: usize = 60;
/// Minimum share of work in unnamed functions that shows a program without symbols.
const NAMELESS_SHARE: f64 = 0.3;
const NAMELESS: &str = "its functions have no names, and are shown by library; build it with symbols (-g, not \
    stripped), or install its package of debug symbols";

impl Profile {
    /// The table of tests.
    pub fn table(&self) -> Table {
        let count =
            |of: &Option<Figure>| or_dash(of.as_ref().map(|of| format!("{:.2}", of.mean.max(0.0))));
        let columns: [Column<'_, (&ProfiledTest, &Work, &str)>; 6] = [
            ("test", &|(test, ..)| test.name.clone()),
            ("server", &|(.., server)| (*server).to_owned()),
            ("instructions/request", &|(_, work, _)| report::grouped(work.instructions.mean)),
            ("± %", &|(_, work, _)| {
                let Figure { mean, interval, .. } = &work.instructions;
                or_dash(interval.map(|(low, high)| format!("{:.2}", (high - low) / mean * 50.0)))
            }),
            ("system calls", &|(_, work, _)| count(&work.system_calls)),
            ("allocations", &|(_, work, _)| count(&work.allocations)),
        ];
        let rows = self.tests.iter().flat_map(|test| {
            let servers = self.servers.iter().map(|server| server.name.as_str());
            test.servers.iter().zip(servers).map(move |(work, server)| (test, work, server))
        });
        Table::of(&columns, rows)
    }

    /// The functions of a test, the costliest or most changed first.
    fn functions(test: &ProfiledTest, most: usize) -> Table {
        let mut table = if let Some(difference) = &test.difference {
            let mut table = Table::new(["function", "old", "new", "added"]);
            for change in difference.functions.iter().take(most) {
                let [old, new] = [0, 1].map(|at| report::grouped(own(test, at, &change.name)));
                table.row([change.name.clone(), old, new, signed(change.added)]);
            }
            table
        } else {
            let mut table = Table::new(["function", "own", "own %", "inclusive"]);
            for work in &test.servers {
                for of in work.functions.iter().take(most) {
                    let inclusive = or_dash(of.inclusive.map(report::grouped));
                    let share = format!("{:.1}", of.own / work.instructions.mean * 100.0);
                    table.row([of.name.clone(), report::grouped(of.own), share, inclusive]);
                }
            }
            table
        };
        table.caption = format!("Functions of {}, instructions/request", test.name);
        table
    }

    /// The difference of a test in a line: `GET +3.1 % (3.0 to 3.2) = 214 instructions: +120 lookupKey, …`.
    fn line(test: &ProfiledTest) -> Option<Block> {
        let of = test.difference.as_ref()?;
        let interval = of.percent_interval;
        let interval = interval.map(|(low, high)| minus(format!(" ({low:.2} to {high:.2})")));
        let changes = of.functions.iter().take(NAMED);
        let changes = changes.map(|change| format!("{} {}", signed(change.added), change.name));
        let line = format!(
            "{} {} %{} = {} instructions",
            test.name,
            minus(format!("{:+.2}", of.percent)),
            interval.unwrap_or_default(),
            signed(of.instructions.mean)
        );
        let changes: Vec<String> = changes.collect();
        let colon = if changes.is_empty() { "" } else { ": " };
        Some(Block::Text(format!("{line}{colon}{}", changes.join(", "))))
    }

    /// Describes the method of the figures, and their limits.
    fn method(&self) -> String {
        let counter = match self.counter {
            Counter::Callgrind => "callgrind",
            Counter::Perf => "the processor's counters, user code only",
        };
        let lengths = self.tests.first().map_or([0; 2], |test| test.requests);
        let [short, long] = lengths.map(|requests| report::grouped(requests as f64));
        let starts = match self.starts {
            1 => "one start".to_owned(),
            starts => format!("{starts} starts, with 95 % intervals"),
        };
        format!(
            "Instructions for each request of the threads that serve, counted by {counter} ({}): the slope between \
             runs of {short} and {long} requests, over {starts}. That is work alone, without \
             caches or contention; keystorm compare finds what makes a server wait.",
            self.counter_version
        )
    }

    /// The result of the gate in a sentence.
    fn verdict(&self) -> Option<Verdict> {
        let (threshold, (state, tests)) = self.threshold.zip(self.gate())?;
        let (tests, more) = (tests.join(", "), format!("over {threshold} % more instructions"));
        Some(state.verdict(match state {
            GateState::Passed => format!("no test takes {more}"),
            GateState::Failed => format!("{tests}: {more}"),
            GateState::Undecided if tests.is_empty() => {
                "it ended before every test was counted".to_owned()
            }
            GateState::Undecided => {
                format!("the starts do not say if it takes {more}: {tests}; use more --starts")
            }
        }))
    }

    /// Servers whose program does not name its functions.
    fn notes(&self) -> Vec<String> {
        let is_nameless = |at: usize| {
            self.tests.iter().filter_map(|test| test.servers.get(at)).any(|work| {
                let least = NAMELESS_SHARE * work.instructions.mean;
                work.functions.iter().any(|of| is_library(&of.name) && of.own > least)
            })
        };
        let nameless = self.servers.iter().enumerate().filter(|(at, _)| is_nameless(*at));
        nameless.map(|(_, server)| format!("{}: {NAMELESS}", server.name)).collect()
    }

    /// The table of tests with its explanations.
    fn summary(&self) -> Vec<Block> {
        let lines = self.tests.iter().filter_map(Self::line);
        std::iter::once(Block::Table(self.table())).chain(lines).collect()
    }

    /// Draws own instructions of the functions that a table begins with.
    fn chart(&self, test: &ProfiledTest, table: &Table) -> Chart {
        let names: Vec<&str> = table.rows.iter().take(DRAWN).map(|row| &*row[0]).collect();
        let title = format!("Own instructions of functions: {}", test.name);
        let axis = Axis::linear("instructions/request", Unit::Count);
        let mut chart = Chart::bars(title, names.clone(), axis);
        for (at, server) in self.servers.iter().enumerate().take(test.servers.len()) {
            let points = names.iter().enumerate();
            let points = points.map(|(row, name)| DataPoint::at(row as f64, own(test, at, name)));
            chart = chart.with(server.name.clone(), points);
        }
        chart
    }
}

/// Own instructions of a function on a server.
fn own(test: &ProfiledTest, server: usize, name: &str) -> f64 {
    let functions = test.servers.get(server).map_or(&[][..], |work| &work.functions);
    functions.iter().find(|function| function.name == name).map_or(0.0, |function| function.own)
}

fn minus(text: String) -> String {
    text.replace('-', "−")
}

/// `+214`, `−3`.
fn signed(value: f64) -> String {
    // Zero has no minus.
    minus(format!("{:+.0}", value.round() + 0.0))
}

impl Findings for Profile {
    fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    fn is_conclusive(&self) -> bool {
        self.gate().is_none_or(|(state, _)| state != GateState::Undecided)
    }

    fn set_complete(&mut self) {
        self.complete = true;
    }

    /// A row for each figure and function of each test.
    fn to_csv(&self) -> String {
        let figures = ["figure", "function", "per_request", "low", "high", "inclusive"];
        let mut table = Csv::new(&[&["test", "server"], &figures[..]].concat());
        let mut write = |words: [&str; 4], numbers: [Option<f64>; 4]| {
            let cells = numbers.map(|of| of.map_or(String::new(), |value| format!("{value:.2}")));
            table.write(words.map(report::escape).into_iter().chain(cells));
        };
        let all = |of: &Figure| {
            let (low, high) = of.interval.unzip();
            [Some(of.mean), low, high, None]
        };
        for test in &self.tests {
            for (work, server) in test.servers.iter().zip(&self.servers) {
                write([&test.name, &server.name, "instructions", ""], all(&work.instructions));
                let others =
                    [("system_calls", &work.system_calls), ("allocations", &work.allocations)];
                for (name, of) in others {
                    of.iter().for_each(|of| write([&test.name, &server.name, name, ""], all(of)));
                }
                for of in &work.functions {
                    let numbers = [Some(of.own), None, None, of.inclusive];
                    write([&test.name, &server.name, "own", &of.name], numbers);
                }
            }
            if let Some(of) = &test.difference {
                write([&test.name, "difference", "instructions", ""], all(&of.instructions));
            }
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks = self.summary();
        if !quiet && self.counter == Counter::Callgrind && self.servers.len() == 1 {
            let functions = self.tests.iter().map(|test| Self::functions(test, LISTED));
            blocks.splice(1..1, functions.map(Block::Table));
        }
        let gate = self.verdict().map(|of| Block::Text(format!("{}: {}.", of.headline, of.text)));
        blocks.extend(gate);
        if !quiet {
            blocks.push(Block::Text(self.method()));
            blocks.extend(warnings(self.notes()));
        }
        blocks
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete);
        lede.extend(self.verdict());
        let mut blocks = self.summary();
        blocks.push(Block::Text(self.method()));
        blocks.extend(warnings(self.notes()));
        let mut sections = vec![Section::new("Instructions per request", blocks)];
        for test in &self.tests {
            let table = Self::functions(test, ROWS_MAX);
            if !table.rows.is_empty() {
                let chart = Block::Chart(self.chart(test, &table));
                sections.push(Section::new(test.name.clone(), [chart, Block::Table(table)]));
            }
        }
        sections.push(again(command_line));
        let versions: Vec<_> = self.servers.iter().map(|server| server.name.clone()).collect();
        let title = format!("Work per request of {}", versions.join(" and "));
        Page { title, versions, lede, sections, ..Page::default() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::profile::tests::counts;
    use crate::profile::{Counts, Difference, ProfiledServer, SCHEMA};

    fn test(servers: &[&[Counts]]) -> ProfiledTest {
        let difference = servers.get(1).and_then(|new| Difference::between(servers[0], new, None));
        let work = servers.iter().filter_map(|starts| Work::from_starts(starts));
        ProfiledTest {
            name: "GET".into(),
            load: "a".into(),
            options: vec![],
            requests: [10_000, 20_000],
            servers: work.collect(),
            difference,
        }
    }

    /// A profile of a server by one test.
    pub(crate) fn profile() -> Profile {
        let starts =
            [1000.0, 1010.0].map(|own| counts(&[("lookupKey", own), ("[server]", 2000.0)]));
        Profile {
            schema: SCHEMA.into(),
            complete: false,
            counter: Counter::Callgrind,
            counter_version: "valgrind-3.19.0".into(),
            starts: 2,
            threshold: None,
            origin: Origin::default(),
            servers: vec![ProfiledServer { name: "valkey 8.1.8".into(), program: "server".into() }],
            tests: vec![test(&[&starts])],
        }
    }

    #[test]
    fn a_server_has_its_functions_and_a_hint_where_they_have_no_names() {
        let profile = profile();
        assert_eq!(profile.table().rows[0][..3], ["GET", "valkey 8.1.8", "3,005"]);
        let functions = Profile::functions(&profile.tests[0], 2);
        assert_eq!(functions.rows[0], ["[server]", "2,000", "66.6", "–"]);
        assert_eq!(functions.rows[1], ["lookupKey", "1,005", "33.4", "1,005"]);
        assert!(profile.notes()[0].contains("-g, not stripped"), "{:?}", profile.notes());
        let html = report::page::html(&profile.page("again"));
        assert!(html.contains("lookupKey") && html.contains("Incomplete") && html.contains("<svg"));
        assert!(profile.is_conclusive() && !profile.is_empty());
        assert!(
            profile.to_csv().contains("\"own\",\"lookupKey\",\"1005.00\""),
            "{}",
            profile.to_csv()
        );
    }

    #[test]
    fn a_difference_names_the_functions_that_changed() {
        let mut profile = profile();
        let side = |lookup: f64, free: f64| {
            [1.0, 0.0].map(|more| {
                counts(&[("lookupKey", lookup + more), ("free", free), ("call", 6000.0)])
            })
        };
        profile.tests = vec![test(&[&side(1000.0, 400.0), &side(1200.0, 390.0)])];
        profile.servers.push(profile.servers[0].clone());
        let line = format!("{:?}", Profile::line(&profile.tests[0]));
        assert!(
            line.contains(
                "GET +2.57 % (2.57 to 2.57) = +190 instructions: +200 lookupKey, −10 free"
            ),
            "{line}"
        );
        let table = Profile::functions(&profile.tests[0], 9);
        assert_eq!(
            table.rows,
            [["lookupKey", "1,000", "1,200", "+200"], ["free", "400", "390", "−10"]]
        );
        profile.threshold = Some(2.0);
        let shown = format!("{:?}", profile.shown(false));
        assert!(shown.contains("Gate failed: GET: over 2 % more instructions."), "{shown}");
    }
}
