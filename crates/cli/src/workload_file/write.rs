//! A workload as TOML that reads as the same workload: options as their specification writes them.

use std::fmt::{Display, Write};

use spec::LoadSpec;
use spec::write::toml_text as text;
use toml::Spanned;
use workload::KeyDist;

use super::{Load, Operation, Settings, Space, Words, Workload};

/// The file.
pub(crate) fn write(workload: &Workload) -> String {
    let mut out = String::new();
    if !workload.name.is_empty() {
        line(&mut out, "name", &text(&workload.name));
    }
    if let Some(description) = &workload.description {
        line(&mut out, "description", &text(description));
    }
    write_settings(&mut out, &workload.settings);
    let load = workload.own_load();
    if let Some(Load::Sequence(commands)) = &load {
        line(&mut out, "sequence", &list(commands));
    }
    for (name, keys) in workload.spaces() {
        head(&mut out, &format!("[keys.{}]", key(name.get_ref())));
        write_space(&mut out, keys);
    }
    if let Some(Load::Operations(all)) = &load {
        operations(&mut out, "operation", all);
    }
    for phase in &workload.phases {
        head(&mut out, "[[phase]]");
        if let Some(name) = &phase.name {
            line(&mut out, "name", &text(name));
        }
        if phase.every_key {
            line(&mut out, "every-key", "true");
        }
        write_settings(&mut out, &phase.settings);
        if let Some(parts) = phase.parts() {
            let parts = parts
                .iter()
                .map(|(name, weight)| format!("{} = {}", key(name.get_ref()), weight.0));
            let parts = parts.collect::<Vec<_>>().join(", ");
            line(&mut out, "mix", &format!("{{ {parts} }}"));
        }
        match phase.own_load() {
            Some(Load::Sequence(commands)) => line(&mut out, "sequence", &list(&commands)),
            Some(Load::Operations(all)) => operations(&mut out, "phase.operation", &all),
            None => {}
        }
    }
    out
}

fn write_settings(out: &mut String, given: &Settings) {
    let mut spec = LoadSpec::default();
    // They were read as options, so they can be set and written.
    if spec.set(&given.values()).is_ok() {
        *out += &spec.toml().unwrap_or_default();
    }
}

fn write_space(out: &mut String, keys: &Space) {
    let Space { range, dist, first, by, unpadded, one_slot } = keys;
    let mut optional = |key: &str, value: Option<&dyn Display>| {
        let Some(value) = value else { return };
        let value = value.to_string();
        let is_number = value.parse::<i64>().is_ok();
        line(out, key, &if is_number { value } else { text(&value) });
    };
    optional("range", range.as_ref().map(|range| range as &dyn Display));
    optional("dist", Some(dist.as_ref().unwrap_or(&KeyDist::UNIFORM)));
    optional("first", first.as_ref().map(|first| first as &dyn Display));
    optional("by", by.as_ref().map(|by| by as &dyn Display));
    for (key, is) in [("unpadded", unpadded), ("one-slot", one_slot)] {
        if *is {
            line(out, key, "true");
        }
    }
}

fn operations(out: &mut String, called: &str, operations: &[Spanned<Operation>]) {
    for operation in operations {
        let operation = operation.get_ref();
        head(out, &format!("[[{called}]]"));
        if let Some(name) = &operation.name {
            line(out, "name", &text(name));
        }
        line(out, "weight", &operation.weight.0.to_string());
        if let Some(keys) = &operation.keys {
            line(out, "keys", &text(keys.get_ref()));
        }
        match &operation.all()[..] {
            [step] => {
                let (key, value) = commands_of(&step.all());
                line(out, key, &value);
            }
            steps => {
                let steps = steps.iter().map(|step| {
                    let (key, value) = commands_of(&step.all());
                    let when = step.when.as_ref().map(|when| text(&when.get_ref().to_string()));
                    let when = when.map_or(String::new(), |when| format!(", when = {when}"));
                    format!("  {{ {key} = {value}{when} }},\n")
                });
                line(out, "steps", &format!("[\n{}]", steps.collect::<String>()));
            }
        }
    }
}

fn commands_of(commands: &[Spanned<Words>]) -> (&'static str, String) {
    match commands {
        [one] => ("command", command(one)),
        several => {
            let several: Vec<String> = several.iter().map(command).collect();
            ("commands", format!("[{}]", several.join(", ")))
        }
    }
}

fn list(commands: &[Spanned<Words>]) -> String {
    let lines: String = commands.iter().map(|one| format!("  {},\n", command(one))).collect();
    format!("[\n{lines}]")
}

fn command(command: &Spanned<Words>) -> String {
    text(&shell_words::join(&command.get_ref().0))
}

fn head(out: &mut String, head: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{gap}{head}");
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { text(name) }
}
