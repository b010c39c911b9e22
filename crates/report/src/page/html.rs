//! A [`Page`] as one HTML file that fetches nothing; its own policy forbids it.
//!
//! `maud` escapes all inserted text. Only charts, the style sheet and the script are inserted as they are;
//! charts escape their own text.

use crate::escape;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::page::definitions::definition;
use crate::page::{Block, Chart, Page, Section, Table, Tone, Verdict, chart};

const STYLE: &str = include_str!("style.css");
pub(crate) const SCRIPT: &str = include_str!("hover.js");
/// A page with more sections has a table of contents.
const SECTIONS_PLAIN: usize = 3;

/// The whole file.
pub fn html(page: &Page) -> String {
    let file = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&page.title, "", ""))
            body {
                main { (main(page)) }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    file.into_string()
}

/// The head of a file with this title, further allowed sources and further styles.
pub(crate) fn head(title: &str, allowed: &str, style: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy(allowed));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            link rel="icon" href="data:,";
            title { (escape(title)) }
            style { (PreEscaped(STYLE)) (PreEscaped(chart::dark_css())) (PreEscaped(style)) }
        }
    }
}

/// Renders the content, without the frame around it.
pub(crate) fn main(page: &Page) -> Markup {
    let ids = ids(&page.sections);
    html! {
        header {
            h1 { (escape(&page.title)) }
            @if !page.byline.is_empty() {
                p.byline {
                    @for line in &page.byline { span { (escape(line)) } " " }
                }
            }
            @for found in &page.lede { (verdict(found)) }
        }
        @if page.sections.len() > SECTIONS_PLAIN {
            nav aria-label="Contents" {
                @for (section, id) in page.sections.iter().zip(&ids) {
                    a href={ "#" (id) } { (escape(&section.heading)) } " "
                }
            }
        }
        @for (section, id) in page.sections.iter().zip(&ids) {
            section id=(id) {
                @if section.folded {
                    details {
                        summary { h2 { (escape(&section.heading)) } }
                        (blocks(&section.blocks))
                    }
                } @else {
                    h2 { (escape(&section.heading)) }
                    (blocks(&section.blocks))
                }
            }
        }
        footer { "Made by keystorm. This file needs no network." }
    }
}

/// All charts on the page as self-contained pictures, each with a unique file name.
pub fn pictures(page: &Page) -> Vec<(String, Chart)> {
    let mut named: Vec<(String, Chart)> = Vec::new();
    for section in &page.sections {
        for block in &section.blocks {
            let Block::Chart(chart) = block else { continue };
            let own = slug(&chart.title);
            let name = match page.sections.len() {
                1 => own,
                _ if own.contains(&slug(&section.heading)) => own,
                _ => slug(&format!("{} {}", section.heading, chart.title)),
            };
            let free = (2..).map(|n| format!("{name}-{n}"));
            let name = std::iter::once(name.clone())
                .chain(free)
                .find(|name| !named.iter().any(|(other, _)| other == name));
            let chart = Chart { of: describe_entry(page, section), ..chart.clone() };
            named.push((name.unwrap_or_default(), chart));
        }
    }
    named
}

/// The test, the server and the versions of a section, without repetition.
fn describe_entry(page: &Page, section: &Section) -> String {
    let mut label = page.title.clone();
    for part in std::iter::once(&section.heading).chain(&page.versions) {
        if !label.contains(part.as_str()) {
            label += &format!(" · {part}");
        }
    }
    escape(label)
}

/// Returns the content security policy of a page: a browser loads nothing but the page, and the sources in
/// `more`.
fn policy(more: &str) -> String {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    if more.is_empty() { policy.to_owned() } else { format!("{policy}; {more}") }
}

/// Letters, digits and single hyphens, no longer than a file's name may be.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 80 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "chart".to_owned() } else { slug.to_owned() }
}

/// Returns the ids that links point at; sections with the same name get different ids.
fn ids(sections: &[Section]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (n, section) in sections.iter().enumerate() {
        let id = slug(&section.heading);
        ids.push(if ids.contains(&id) { format!("{id}-{n}") } else { id });
    }
    ids
}

/// Blocks in order; adjacent charts share a grid, and those with a common x axis are below each other.
fn blocks(blocks: &[Block]) -> Markup {
    let alike = |a: &Block, b: &Block| match (a, b) {
        (Block::Chart(a), Block::Chart(b)) => a.extent.is_some() == b.extent.is_some(),
        _ => false,
    };
    html! {
        @for group in blocks.chunk_by(alike) {
            @if matches!(group, [Block::Chart(chart), ..] if chart.extent.is_some()) {
                div.course { @for one in group { (block(one)) } }
            } @else if matches!(group, [Block::Chart(_), Block::Chart(_), ..]) {
                div.charts { @for one in group { (block(one)) } }
            } @else {
                @for one in group { (block(one)) }
            }
        }
    }
}

fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Text(text) => p { (escape(text)) },
            Block::Note(tone, text) => p class={ "note " (class(*tone)) } { (escape(text)) },
            Block::Heading(text) => h3 { (escape(text)) },
            Block::Verdict(found) => (verdict(found)),
            Block::Table(rows) => (table(rows)),
            Block::Chart(chart) => (figure(chart)),
            Block::KeyValues(pairs) => dl {
                @for (name, value) in pairs {
                    div { dt { (escape(name)) } dd { (escape(value)) } }
                }
            },
            Block::Code(text) => pre {
                code { @for line in text.lines() { (escape(line)) "\n" } }
            },
        }
    }
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
    }
}

fn verdict(found: &Verdict) -> Markup {
    html! {
        div class={ "verdict " (class(found.tone)) } {
            p.headline { (escape(&found.headline)) }
            @if !found.text.is_empty() { p { (escape(&found.text)) } }
            @if !found.figures.is_empty() {
                ul.figures {
                    @for (name, value) in &found.figures {
                        li { span.value { (escape(value)) } " " span.name { (defined(name)) } }
                    }
                }
            }
            @if !found.events.is_empty() {
                ul.events { @for event in &found.events { li { (escape(event)) } } }
            }
        }
    }
}

/// The name of a figure with its definition.
fn defined(name: &str) -> Markup {
    html! {
        @match definition(name) {
            Some((meaning, chapter)) => a.def href=(chapter) title=(meaning) { (escape(name)) },
            None => (escape(name)),
        }
    }
}

fn table(table: &Table) -> Markup {
    let side = |column: usize| if table.numeric(column) { "n" } else { "t" };
    html! {
        div.scroll tabindex="0" {
            p.more hidden { "The table is wider than the screen: scroll it sideways →" }
            table {
                @if !table.caption.is_empty() { caption { (escape(&table.caption)) } }
                thead {
                    tr {
                        @for (column, title) in table.columns.iter().enumerate() {
                            th scope="col" class=(side(column)) { (defined(title)) }
                        }
                    }
                }
                tbody {
                    @for row in 0..table.rows.len() {
                        tr class=[table.faint.contains(&row).then_some("faint")] {
                            @for column in 0..table.columns.len() {
                                td class=(side(column)) { (escape(table.cell(row, column))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A chart in two widths, one of which the style sheet shows.
fn figure(chart: &Chart) -> Markup {
    // For tests, and for programs that parse a page.
    let counts: Vec<String> = chart.points_by_series().iter().map(ToString::to_string).collect();
    let drawn = |width, class| PreEscaped(chart::inline(chart, width, class));
    html! {
        figure data-points=(counts.join(" ")) {
            figcaption { (escape(&chart.title)) }
            (drawn(if chart.extent.is_some() { chart::BROAD } else { chart::WIDE }, "wide"))
            (drawn(chart::NARROW, "narrow"))
            @if !chart.note.is_empty() { p.caption { (escape(&chart.note)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Axis, Band, Guide, Series, Unit, svg};

    const HOSTILE: &str = "</script><script>alert(1)</script>\u{1b}[31m\"'&";

    fn everything() -> Page {
        let mut chart = Chart::lines(
            HOSTILE,
            Axis::log(HOSTILE, Unit::Count),
            Axis::linear(HOSTILE, Unit::PerSecond),
        );
        chart.note = HOSTILE.into();
        chart.guides = vec![Guide::X(5.0, HOSTILE.into()), Guide::Y(3e4, HOSTILE.into())];
        chart.bands = vec![Band { from: 2.0, to: 3.0, name: HOSTILE.into(), note: HOSTILE.into() }];
        for name in [HOSTILE, "other"] {
            let mut series = Series::new(name, [(1.0, 2e4), (10.0, 9e4), (0.0, 1.0)]);
            series.points[0].note = HOSTILE.into();
            series.points[1].interval = Some((8e4, 1e5));
            chart.series.push(series);
        }
        let mut bars = Chart::bars(HOSTILE, [HOSTILE, "b"], Axis::linear("", Unit::PerSecond));
        bars.series = vec![Series::new(HOSTILE, [(0.0, 5.0), (1.0, 0.0), (7.0, 1.0)])];
        let mut table = Table::new([HOSTILE, "n"]);
        table.caption = HOSTILE.into();
        table.row([HOSTILE, "1,234"]).row(["short"]);
        let blocks = [
            Block::Text(HOSTILE.into()),
            Block::Note(Tone::Bad, HOSTILE.into()),
            Block::Heading(HOSTILE.into()),
            Block::Verdict(Verdict::new(HOSTILE, HOSTILE)),
            Block::Table(table),
            Block::Chart(chart),
            Block::Chart(bars),
            Block::KeyValues(vec![(HOSTILE.into(), HOSTILE.into())]),
            Block::Code(HOSTILE.into()),
        ];
        Page {
            title: HOSTILE.into(),
            byline: vec![HOSTILE.into()],
            versions: vec![HOSTILE.into()],
            lede: vec![Verdict {
                figures: vec![(HOSTILE.into(), HOSTILE.into())],
                events: vec![HOSTILE.into()],
                ..Verdict::new(HOSTILE, HOSTILE)
            }],
            sections: (0..4).map(|_| Section::new(HOSTILE, blocks.clone())).collect(),
        }
    }

    #[test]
    fn text_of_anybody_never_becomes_markup() {
        let html = super::html(&everything());
        assert_eq!(html.matches("<script").count(), 1);
        assert_eq!(html.matches("</script").count(), 1);
        assert!(!html.contains('\u{1b}'));
        assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("//cdn"));
    }

    #[test]
    fn every_point_has_its_mark_in_every_picture() {
        let page = everything();
        for (_, chart) in pictures(&page) {
            let shown = chart.points_shown();
            assert!(shown == 4 || shown == 2, "{shown}");
            let inline = [chart::WIDE, chart::NARROW].map(|w| chart::inline(&chart, w, ""));
            for svg in inline.into_iter().chain([svg(&chart)]) {
                assert_eq!(svg.matches("class=\"m ").count(), shown);
                assert!(!svg.contains("<script"), "{svg}");
            }
        }
    }

    #[test]
    fn names_of_files_are_plain_and_differ() {
        let page = everything();
        let names: Vec<String> = pictures(&page).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 8);
        for (at, name) in names.iter().enumerate() {
            assert!(
                name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && name.len() < 100
            );
            assert!(!names[..at].contains(name), "{names:?}");
        }
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("???"), "chart");
    }

    #[test]
    fn a_picture_says_of_what_it_is() {
        let mut chart = Chart::lines(
            "Rate",
            Axis::linear("time", Unit::Seconds),
            Axis::linear("rate", Unit::PerSecond),
        );
        chart.series.push(Series::new("a", [(1.0, 2.0)]));
        let page = Page {
            title: "2 tests on redis 7.0.15".into(),
            versions: vec!["redis 7.0.15".into(), "keystorm 0.1.0".into()],
            sections: vec![Section::new("SET", [Block::Chart(chart)])],
            ..Page::default()
        };
        let [(_, picture)] = &pictures(&page)[..] else { panic!("one chart") };
        let of = "2 tests on redis 7.0.15 · SET · keystorm 0.1.0";
        assert!(svg(picture).contains(of), "{}", picture.of);
        assert!(!super::html(&page).contains(of), "a page says it elsewhere");
    }

    #[test]
    fn lines_are_distinguished_without_colours() {
        let mut chart = Chart::lines(
            "Rate",
            Axis::linear("time", Unit::Seconds),
            Axis::linear("rate", Unit::PerSecond),
        );
        for n in 0..8 {
            chart.series.push(Series::new(n.to_string(), [(1.0, 2.0), (2.0, f64::from(n))]));
        }
        let svg = svg(&chart);
        let strokes = |start: &str| -> std::collections::BTreeSet<String> {
            let shapes = svg.lines().filter(|l| l.starts_with(start) && l.contains("s-c"));
            let dashes = shapes.map(|l| {
                let after = l.split("stroke-dasharray=\"").nth(1).unwrap_or_default();
                after.split('"').next().unwrap_or_default().to_owned()
            });
            dashes.collect()
        };
        assert_eq!((strokes("<line ").len(), strokes("<polyline ").len()), (8, 8), "{svg}");
        assert_eq!(strokes("<line "), strokes("<polyline "));
    }

    #[test]
    fn a_band_is_shaded_where_it_is_also_beyond_the_points() {
        let seconds = Axis::linear("time", Unit::Seconds);
        let mut chart = Chart::lines("x", seconds, Axis::log("", Unit::Nanoseconds));
        chart.series.push(Series::new("a", [(0.0, 1e6), (1.0, 2e6)]));
        let band =
            |from, to| Band { from, to, name: "outage".into(), note: format!("{from} to {to}") };
        chart.bands = vec![band(0.5, 0.5), band(2.0, 4.0), band(9.0, 12.0)];
        chart.extent = Some((0.0, 10.0));
        for svg in [chart::inline(&chart, chart::BROAD, ""), svg(&chart)] {
            let widths: Vec<f64> = svg
                .lines()
                .filter(|line| line.contains("data-band="))
                .map(|line| line.split(" width=\"").nth(1).unwrap().split('"').next().unwrap())
                .map(|width| width.parse().unwrap())
                .collect();
            let [point, whole, cut] = widths[..] else { panic!("{svg}") };
            assert!(point >= 2.0 && (whole - 2.0 * cut).abs() < 0.5, "{widths:?}");
            assert_eq!(svg.matches(">outage</text>").count(), 1, "{svg}");
            assert!(svg.contains("<title>2 to 4</title>"));
        }
    }

    #[test]
    fn a_chart_without_data_says_so() {
        let chart = Chart::lines("x", Axis::nines(), Axis::log("", Unit::Nanoseconds));
        assert!(svg(&chart).contains("nothing was measured"));
        let page =
            Page { sections: vec![Section::new("s", [Block::Chart(chart)])], ..Page::default() };
        assert!(super::html(&page).contains("data-points=\"\""));
    }
}
