use clap::Arg;

use super::*;
use crate::delivery::{KINDS, KindOfDelivery};
use crate::values::Count;

/// The words of an option with a value that it takes.
fn words(option: &Arg) -> Vec<String> {
    let name = format!("--{}", option.get_long().unwrap());
    if !option.get_action().takes_values() {
        return vec![name];
    }
    let choice = option.get_possible_values().last().map(|value| value.get_name().to_owned());
    let value = match option.get_value_names().unwrap_or_default().first().map(|name| &**name) {
        Some("NUM") => "3".to_owned(),
        Some("TIME") => "2s".to_owned(),
        Some("HOST:PORT") => "a:1,b:2".to_owned(),
        Some("LOCAL,REPLICAS") => "1,2".to_owned(),
        _ => choice.unwrap(),
    };
    vec![name, value]
}

fn load(kind: &KindOfDelivery, words: &[String]) -> LoadSpec {
    let line = std::iter::once(kind.name).chain(words.iter().map(String::as_str));
    let matches = kind.vocabulary().try_get_matches_from(line).unwrap();
    let delivery = Some((kind.read)(&matches).unwrap());
    LoadSpec { delivery, ..LoadSpec::default() }
}

#[test]
fn every_option_of_every_kind_is_typed_saved_and_printed_alike() {
    for kind in KINDS {
        let command = kind.vocabulary();
        for option in command.get_arguments() {
            let given = words(option);
            let typed = load(kind, &given);
            // How many send is said by -c.
            let is_of_load = option.get_help_heading() == Some("Load");
            let printed = if is_of_load { Vec::new() } else { given };
            assert_eq!(typed.words().unwrap(), printed, "{}", kind.name);
            let saved = serde_json::to_value(&typed).unwrap();
            assert_eq!(saved["delivery"]["kind"], kind.name);
            let loaded: LoadSpec = serde_json::from_value(saved).unwrap();
            assert_eq!(loaded.words().unwrap(), printed, "{}", kind.name);
        }
    }
}

#[test]
fn a_kind_makes_plans_with_receivers_and_none_of_another_command() {
    for kind in KINDS {
        let mut load = load(kind, &[]);
        (load.load.requests, load.data.seed) = (Some(Count(10)), Some(Count(1)));
        let plans = load.plans(&mut Vec::new()).unwrap();
        assert_eq!(plans.len(), 1);
        assert!(plans[0].has_receivers(), "{}", kind.name);
        // What is saved makes the same plan again.
        let again = LoadSpec::of_plan(&plans[0]).plans(&mut Vec::new()).unwrap();
        assert_eq!(format!("{:?}", again[0]), format!("{:?}", plans[0]), "{}", kind.name);
        load.command = vec!["get".into(), "k".into()];
        assert!(load.plans(&mut Vec::new()).unwrap_err().why.to_string().contains("word get"));
        load.command.clear();
        load.data.tests = Some("get".to_owned());
        let refused = load.plans(&mut Vec::new()).unwrap_err();
        assert_eq!(refused.option, Some(TESTS), "{}", kind.name);
    }
}
