//! A workload as TOML that reads as the same workload.

use std::fmt::Write;

use workload::{DrawnBy, StepCondition};

use super::{Command, Form, Load, Operation, Settings, Step, Workload, settings};

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
    if let Some(Load::Sequence(commands)) = &workload.load {
        line(&mut out, "sequence", &list(commands));
    }
    for space in &workload.spaces {
        head(&mut out, &format!("[keys.{}]", key(&space.name)));
        if let Some(range) = space.range {
            line(&mut out, "range", &number_or_text(&range.to_string()));
        }
        line(&mut out, "dist", &text(&space.dist.to_string()));
        if space.numbered.first > 0 {
            line(&mut out, "first", &number_or_text(&space.numbered.first.to_string()));
        }
        if space.numbered.by != DrawnBy::default() {
            line(&mut out, "by", &text(&space.numbered.by.to_string()));
        }
        for (key, is) in [("unpadded", space.numbered.bare), ("one-slot", space.one_slot)] {
            if is {
                line(&mut out, key, "true");
            }
        }
    }
    if let Some(Load::Operations(all)) = &workload.load {
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
        if let Some(mix) = &phase.mix {
            let parts =
                mix.iter().map(|part| format!("{} = {}", key(&part.name.name), part.weight));
            let parts = parts.collect::<Vec<_>>().join(", ");
            line(&mut out, "mix", &format!("{{ {parts} }}"));
        }
        match &phase.load {
            Some(Load::Sequence(commands)) => line(&mut out, "sequence", &list(commands)),
            Some(Load::Operations(all)) => operations(&mut out, "phase.operation", all),
            None => {}
        }
    }
    out
}

fn write_settings(out: &mut String, given: &Settings) {
    for setting in settings::settings() {
        let Some(set) = given.get(setting.key) else { continue };
        let value = set.value.as_deref().unwrap_or_default();
        let written = match setting.form {
            Form::Flag => "true".to_owned(),
            Form::Either(yes, _) => (value == yes).to_string(),
            Form::Value => number_or_text(value),
        };
        line(out, setting.key, &written);
    }
}

fn operations(out: &mut String, called: &str, operations: &[Operation]) {
    for operation in operations {
        head(out, &format!("[[{called}]]"));
        if let Some(name) = &operation.name {
            line(out, "name", &text(name));
        }
        line(out, "weight", &operation.weight.to_string());
        if let Some(keys) = &operation.keys {
            line(out, "keys", &text(&keys.name));
        }
        match &operation.steps[..] {
            [Step { commands, .. }] => {
                let (key, value) = commands_of(commands);
                line(out, key, &value);
            }
            steps => {
                let steps = steps.iter().map(|step| {
                    let (key, value) = commands_of(&step.commands);
                    let when = match step.when {
                        StepCondition::Always => String::new(),
                        StepCondition::OnMiss => ", when = \"miss\"".to_owned(),
                        StepCondition::ForEach => ", when = \"each\"".to_owned(),
                        StepCondition::OnCursor { most: None } => ", when = \"cursor\"".to_owned(),
                        StepCondition::OnCursor { most: Some(most) } => {
                            format!(", when = \"cursor:{most}\"")
                        }
                    };
                    format!("  {{ {key} = {value}{when} }},\n")
                });
                line(out, "steps", &format!("[\n{}]", steps.collect::<String>()));
            }
        }
    }
}

fn commands_of(commands: &[Command]) -> (&'static str, String) {
    match commands {
        [one] => ("command", command(one)),
        several => {
            let several: Vec<String> = several.iter().map(command).collect();
            ("commands", format!("[{}]", several.join(", ")))
        }
    }
}

fn list(commands: &[Command]) -> String {
    let lines: String = commands.iter().map(|one| format!("  {},\n", command(one))).collect();
    format!("[\n{lines}]")
}

fn command(command: &Command) -> String {
    text(&shell_words::join(&command.words))
}

fn head(out: &mut String, head: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{gap}{head}");
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

/// A whole number as it is, anything else in quotes.
fn number_or_text(value: &str) -> String {
    let plain = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if plain { value.to_owned() } else { text(value) }
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_bare = !name.is_empty() && name.chars().all(bare);
    if is_bare { name.to_owned() } else { text(name) }
}

/// A basic string (<https://toml.io/en/v1.0.0#string>).
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
