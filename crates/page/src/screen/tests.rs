//! Screens of several sizes.

use super::*;

fn screen() -> Screen {
    let mut course = Course::default();
    for second in 0..3_780_u64 {
        let frozen = (2_000..2_003).contains(&second);
        let requests = if frozen { 0 } else { 2_000 };
        let p99_ns = if frozen { None } else { Some(200_000 + second % 7 * 10_000) };
        course.push(Moment { span_ns: 1_000_000_000, requests, p99_ns });
    }
    Screen {
        progress: LiveProgress {
            title: "SET key:__rand_int__".into(),
            interval_rps: Some(1_998.0),
            overall_rps: Some(2_000.0),
            interval_p50_msec: Some(0.063),
            interval_p99_msec: Some(0.211),
            interval_max_msec: Some(1.203),
            wanted_rps: Some(2_000.0),
            behind: Some(0),
            timed: true,
            elapsed_s: 3_780.0,
            test_index: 1,
            test_count: 2,
            share_done: Some(0.131),
            time_left_s: Some(25_020.0),
            ..LiveProgress::default()
        },
        so_far_msec: [Some(0.061), Some(0.19), Some(3_012.3)],
        course,
        outages: (1..=9)
            .map(|n| format!("14:0{n}:22.150, 3.01 s; 5,000 requests timed out"))
            .collect(),
        events: vec!["14:03:23 nothing answered for 1.0 s".into(); 2],
        verdict: Some(Verdict {
            tone: Tone::Warning,
            ..Verdict::new(
                "SET: not saturated at 2,000 requests/s",
                "The schedule was kept, and the server's main thread was busy 12 % of the time. Ask for a higher rate.",
            )
        }),
    }
}

/// How many columns a line takes: colours take none.
fn width(line: &str) -> usize {
    let (mut count, mut colour) = (0, false);
    for character in line.chars() {
        colour |= character == '\x1b';
        count += usize::from(!colour);
        colour &= character != 'm';
    }
    count
}

#[test]
fn every_size_is_kept_to() {
    for columns in [1, 12, 40, 80, 200] {
        for rows in [1, 2, 5, 9, 12, 24, 50, 200] {
            for colour in [false, true] {
                let lines = screen().draw(columns, rows, colour);
                assert!(lines.len() <= rows, "{columns}x{rows}: {}", lines.len());
                let wide = lines.iter().find(|line| width(line) > columns);
                assert_eq!(wide, None, "{columns}x{rows}");
                // A colour that begins ends.
                assert!(lines.iter().all(|line| line.matches('\x1b').count() % 2 == 0));
            }
        }
    }
}

#[test]
fn a_usual_terminal_shows_it_all() {
    let text = screen().draw(80, 24, false);
    assert_eq!(text.len(), 24, "{text:#?}");
    assert!(text[0].starts_with("SET key:__rand_int__") && text[0].ends_with("test 1 of 2"));
    assert!(text[1].ends_with("  13 %, 1 h 3 min, 6 h 57 min left"), "{}", text[1]);
    let text = text.join("\n");
    for part in [
        "now              1,998         0.063         0.211         1.203",
        "so far           2,000         0.061         0.190         3,012",
        "2,000/s wanted, 0 behind, 0 errors",
        "requests/s, 0 to 2,000",
        "p99, 210 µs to 260 µs (logarithmic)",
        "9 outages so far, the latest\n  14:07:22.150",
        "  14:09:22.150, 3.01 s; 5,000 requests timed out",
        "So far: SET: not saturated at 2,000 requests/s\n  The schedule was kept",
    ] {
        assert!(text.contains(part), "{part:?}: {text}");
    }
}

#[test]
fn a_narrow_terminal_keeps_the_figures_and_a_large_one_shows_more() {
    let narrow = screen().draw(40, 12, false).join("\n");
    for part in ["now        1,998   0.063   0.211   1.203", "p99, ", "So far: SET: not saturated"]
    {
        assert!(narrow.contains(part), "{part:?}: {narrow}");
    }
    let large = screen().draw(200, 50, false).join("\n");
    for part in ["14:02:22.150", "nothing answered", "a higher rate.", "Ctrl-C ends the run"] {
        assert!(large.contains(part), "{part:?}: {large}");
    }
    let curve = large.lines().filter(|line| line.contains('█')).map(|line| line.chars().count());
    assert!(curve.max().is_some_and(|columns| columns > 150), "{large}");
}

#[test]
fn a_run_that_has_just_begun_has_a_screen_and_no_title_moves_the_cursor() {
    let text = Screen::default().draw(80, 24, false).join("\n");
    assert!(text.contains("for 0 s") && text.contains("No outage so far"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let hostile = Screen {
        progress: LiveProgress { title: "a\x1b[2J".into(), ..LiveProgress::default() },
        ..Screen::default()
    };
    assert!(hostile.draw(80, 24, false)[0].starts_with("a\\x1b[2J"));
}
