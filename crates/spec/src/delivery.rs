//! The options that were given for the receivers of a delivery.
//!
//! The front end of deliveries knows the options of each kind and their meaning.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::Fields;
use crate::write::key;

/// Heading in the help of options that say something of receivers. Those of their senders are among those of a run.
const HEADING: &str = "Messages";

/// Receivers of what a load sends, as they were asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliveryOptions {
    /// Kind of delivery.
    pub kind: String,
    /// Options of the kind that differ from the default, with their values as typed.
    pub options: Fields,
}

impl DeliveryOptions {
    /// The options of the kind's command that were given.
    pub fn from_matches(kind: &str, command: &Command, matches: &ArgMatches) -> Self {
        let value = |option: &Arg| {
            let id = option.get_id().as_str();
            let typed: Vec<_> = matches.get_raw(id)?.collect();
            let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
            let is_default = typed.iter().eq(option.get_default_values());
            if !is_typed || is_default || option.get_help_heading() != Some(HEADING) {
                return None;
            }
            let texts: Vec<_> = typed.iter().map(|value| value.to_string_lossy()).collect();
            let takes_values = option.get_action().takes_values();
            Some(if takes_values { Value::from(texts.join(",")) } else { Value::Bool(true) })
        };
        let given =
            command.get_arguments().filter_map(|option| Some((key(option), value(option)?)));
        Self { kind: kind.to_owned(), options: given.collect() }
    }
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;
    use crate::LoadSpec;

    #[test]
    fn what_differs_from_the_default_is_written_as_it_was_given() {
        let option = |name: &'static str| Arg::new(name).long(name).help_heading(HEADING);
        let command = Command::new("kind")
            .arg(option("keys").default_value("1"))
            .arg(option("receivers").default_value("10"))
            .arg(option("block"))
            .arg(option("poll"))
            .arg(option("at").value_delimiter(',').action(ArgAction::Append))
            .arg(option("senders").help_heading("Load"))
            .arg(option("ordered").action(ArgAction::SetTrue))
            .arg(option("doubled").action(ArgAction::SetTrue));
        let typed =
            "kind --keys 3 --receivers 10 --block 2s --at a:1,b:2 --at c:3 --senders 4 --ordered";
        let matches = command.clone().try_get_matches_from(typed.split(' ')).unwrap();
        let delivery = Some(DeliveryOptions::from_matches("list", &command, &matches));
        let kept = serde_json::to_value(LoadSpec { delivery, ..LoadSpec::default() }).unwrap();
        let spec: LoadSpec = serde_json::from_value(kept).unwrap();
        let words = spec.words().unwrap().join(" ");
        assert_eq!(words, "--at a:1,b:2,c:3 --block 2s --keys 3 --ordered");
        assert_eq!(spec.delivery.unwrap().kind, "list");
    }
}
