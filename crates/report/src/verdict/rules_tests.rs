use super::super::wording;
use super::*;
use cases::{cases, idle};

#[path = "rules_cases/mod.rs"]
mod cases;

#[test]
fn evidence_speaks_for_one_limit() {
    for (name, evidence, finding, limit, words) in cases() {
        assert_eq!(find(&evidence), finding, "{name}");
        let verdict = wording::verdict(finding, &evidence);
        assert_eq!(verdict.limited_by, limit, "{name}");
        assert!(verdict.text.contains(words), "{name}: {}", verdict.text);
    }
}

#[test]
fn a_text_is_one_line_that_begins_with_its_limit() {
    for (name, evidence, finding, limit, _) in cases() {
        let text = wording::verdict(finding, &evidence).text;
        let word = match limit {
            LimitedBy::Schedule if finding == Finding::ScheduleKept => "not saturated: ",
            LimitedBy::Server => "server: ",
            LimitedBy::Client => "client: ",
            LimitedBy::Network => "network: ",
            LimitedBy::Concurrency => "concurrency: ",
            LimitedBy::Backlog => "backlog: ",
            LimitedBy::Schedule => "schedule: ",
            LimitedBy::Errors => "errors: ",
            LimitedBy::Outage => "outage: ",
            LimitedBy::Contention => "contention: ",
            LimitedBy::Unknown => "unknown: ",
        };
        assert!(text.starts_with(word) && !text.contains('\n'), "{name}: {text}");
        assert!(text.contains("; ") && !text.ends_with('.'), "{name}: {text}");
    }
}

#[test]
fn evidence_is_finite_and_shares_are_shares() {
    for (name, evidence, finding, ..) in cases() {
        for evidence in wording::verdict(finding, &evidence).evidence {
            assert!(evidence.value.is_finite(), "{name}: {evidence:?}");
            let share = evidence.unit == "share";
            assert!(!share || (0.0..=1.0).contains(&evidence.value), "{name}: {evidence:?}");
        }
    }
}

#[test]
fn words_of_others_steer_no_terminal() {
    let evidence = Evidence { server: None, unseen: Some("\x1b[31mno\n".into()), ..idle() };
    let text = wording::verdict(find(&evidence), &evidence).text;
    assert!(!text.contains(char::is_control), "{text:?}");
}
