//! Pages of every kind of chart, opened in a real browser.
#![allow(missing_docs, clippy::unwrap_used)]

mod browser;

use report::page::{
    Axis, Block, Chart, DataPoint, Guide, Page, Section, Series, Table, Unit, Verdict,
};

const LONG: &str =
    "a very long name of a series that nobody would give, but somebody's server does";

fn sweep() -> Chart {
    let mut chart = Chart::lines(
        "Requests per second by connections",
        Axis::log("connections", Unit::Count),
        Axis::linear("requests per second", Unit::PerSecond),
    );
    let connections = [1.0, 2.0, 3.0, 5.0, 10.0, 11.0, 50.0, 100.0, 1000.0, 10_000.0];
    for (n, depth) in [1, 4, 16, 64].into_iter().enumerate() {
        let points = connections.iter().map(|c| {
            let rate = 20e3 * (n + 1) as f64 * c / (c + 8.0);
            DataPoint::at(*c, rate).within(rate * 0.95, rate * 1.06).noted("limited by the server")
        });
        chart.series.push(Series::new(format!("pipeline of {depth}"), points));
    }
    chart.series.push(Series::new(LONG, [(1.0, 5e3), (f64::NAN, 1.0), (0.0, 9.0)]).dashed());
    chart
}

fn compared() -> Chart {
    let ratio = Axis::linear("candidate / base", Unit::Ratio);
    let mut chart = Chart::bars("Ratio of throughput", ["SET", "GET", LONG], ratio);
    let points = [(0.0, 1.04, 0.03), (1.0, 0.99, 0.05), (2.0, 1.0, 0.001)];
    let points =
        points.map(|(x, y, d)| DataPoint::at(x, y).within(y - d, y + d).noted("of 8 pairs"));
    chart.series.push(Series::new("candidate", points));
    chart.guides.push(Guide::Y(1.0, "no difference".into()));
    chart
}

fn searched() -> Chart {
    let points =
        [(10e3, 90e3), (20e3, 95e3), (40e3, 120e3), (80e3, 400e3), (90e3, 2e6), (95e3, 4e7)];
    Chart::rate_curve(
        "Latency by rate",
        vec![Series::new("p99", points)],
        Some((1e6, "p99 < 1 ms".into())),
        Some((84e3, "84k/s keeps it".into())),
    )
}

fn others() -> [Chart; 2] {
    let mut nines = Chart::lines("Nines", Axis::nines(), Axis::log("latency", Unit::Nanoseconds));
    let left = |n: i32| 10f64.powf(-f64::from(n) / 5.0);
    nines.series.push(Series::new("a", (0..40).map(|n| (1.0 - left(n), 1e5 * f64::from(n + 1)))));
    let seconds = Axis::linear("time", Unit::Seconds);
    let empty = Chart::lines("Empty", seconds, Axis::linear("busy", Unit::Share));
    [nines, empty]
}

#[test]
fn every_kind_of_chart_is_drawn_whole_and_quietly() {
    let charts: Vec<Chart> =
        [sweep(), compared(), searched()].into_iter().chain(others()).collect();
    let mut table =
        Table::new(["connections", "requests/s", "p50", "p99", "max", "limited by", LONG]);
    table.row(["1", "21,000", "41 µs", "90 µs", "1.2 ms", "the server", LONG]);
    let counts: Vec<(&str, Vec<usize>)> =
        charts.iter().map(|chart| (chart.title.as_str(), chart.points_by_series())).collect();
    assert_eq!(counts[0].1, [10, 10, 10, 10, 1]);
    assert_eq!(counts[3].1, [40]);
    let page = Page {
        title: format!("Charts <script>alert(1)</script> {}", LONG.replace(' ', "")),
        byline: vec!["2026-11-21".into(), LONG.replace(' ', "_")],
        lede: vec![Verdict::new("Limited by the server", LONG)],
        sections: vec![
            Section::new("Charts", charts.iter().cloned().map(Block::Chart)),
            Section::new("Tables", [Block::Table(table), Block::Code(LONG.replace(' ', "/"))]),
        ],
        ..Page::default()
    };
    browser::holds(&report::page::html(&page), &counts);
}

#[test]
fn a_page_that_asks_for_something_is_caught() {
    let page = Page { title: "x".into(), ..Page::default() };
    let image = "<img src=\"https://example.com/x.png\"></main>";
    let seen = browser::open(&report::page::html(&page).replacen("</main>", image, 1), 1280);
    assert!(seen.probe["asked"].to_string().contains("example.com"), "{seen:?}");
    assert!(!seen.console.is_empty());
    let fault = "<script>nothing.at.all</script></main>";
    let seen = browser::open(&report::page::html(&page).replacen("</main>", fault, 1), 1280);
    assert!(!seen.console.is_empty(), "{seen:?}");
}

/// A page that grows, as a browser has it after two drawings and the last; `EventSource` is a stand-in that sends them
/// at once, since a file has no server.
#[test]
fn a_page_that_grows_is_drawn_as_the_finished_one() {
    let page = |rate: f64| {
        let seconds = Axis::linear("time", Unit::Seconds);
        let mut chart =
            Chart::lines("Throughput over time", seconds, Axis::linear("", Unit::PerSecond));
        chart.series.push(Series::new("answered", (1..20).map(|n| (f64::from(n), rate))));
        chart.guides.push(Guide::X(7.0, "deployed here".into()));
        let folded = Section::new("Machine", [Block::Text(LONG.into())]).folded();
        let sections = vec![Section::new("GET", [Block::Chart(chart)]), folded];
        Page { title: "GET on redis".into(), sections, ..Page::default() }
    };
    let events = [(1e3, false), (2e3, false), (3e3, true)];
    let events = events
        .map(|(rate, ended)| report::page::live::event(&page(rate), "Running GET: 3 s", 7, ended));
    let events = serde_json::to_string(&events).unwrap().replace("</", "<\\/");
    let stand_in = format!(
        "<script>window.EventSource = function () {{\
           this.close = function () {{}};\
           this.addEventListener = function (name, draw) {{\
             {events}.forEach(function (data) {{ draw({{ data: data }}); }});\
           }};\
         }};</script></head>"
    );
    let frame = report::page::live::frame("keystorm", true).replace("</head>", &stand_in);
    browser::holds(&frame, &[("Throughput over time", vec![19])]);
}
