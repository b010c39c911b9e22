//! A workload as a file: key spaces, operations, steps, values, and phases one after another.
//!
//! Owns the file's model, how it is read from TOML and written as TOML. Options of a load are kept as their
//! specification has them ([`overlay`]), everything else as serde reads it. What a file means is left to the front end
//! whose options these are.

mod check;
mod of_load;
mod overlay;
mod read;
mod source;
mod values;

use std::ops::Not;

use serde::{Deserialize, Serialize};
use spec::values::Count;
use spec::write::inert;
use toml::Spanned;
use workload::{DrawnBy, KeyDist, StepCondition};

pub(super) use of_load::{commands_of, of_load};
pub(super) use overlay::{FILL_EXCLUDES, Settings};
pub(super) use read::read;
pub(super) use source::text;
pub use source::{Source, read_text};
pub(super) use values::{List, Table, Weight, When, Words};

/// A file, read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Workload {
    /// Source of the file.
    #[serde(skip)]
    pub(super) source: Source,
    /// Name in reports.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    /// A line for people who look for one.
    pub(super) description: Option<String>,
    /// Settings of all phases that say nothing else.
    #[serde(flatten, skip_deserializing)]
    pub(super) settings: Settings,
    /// Key spaces of operations.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub(super) keys: Table<Space>,
    /// Commands of all phases that send nothing else.
    pub(super) sequence: Option<List<Words>>,
    /// Operations of all phases that send nothing else.
    pub(super) operation: Option<List<Operation>>,
    /// Phases, one after another; none for one of everything above.
    #[serde(rename = "phase", skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub(super) phases: Vec<Phase>,
}

/// Load of a workload or phase.
#[derive(Debug, Clone)]
pub(super) enum Load {
    /// All of these, in this order, over and over.
    Sequence(Vec<Spanned<Words>>),
    /// Operations, one at a time, drawn by weight.
    Operations(Vec<Spanned<Operation>>),
}

/// A key space that operations name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Space {
    /// Number of keys; by default as many as its file needs.
    pub(super) range: Option<Count<u64>>,
    /// Distribution that they are drawn from.
    #[serde(with = "spec::text")]
    pub(super) dist: Option<KeyDist>,
    /// Number of the first key.
    pub(super) first: Option<Count<u64>>,
    /// Unit that a key is drawn for, such as each request.
    #[serde(with = "spec::text")]
    pub(super) by: Option<DrawnBy>,
    /// Set if key numbers have no leading zeros.
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) unpadded: bool,
    /// Set if those of a request are of one hash slot.
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) one_slot: bool,
}

/// An operation of a mix.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Operation {
    /// Name in reports; `None` for its commands.
    pub(super) name: Option<String>,
    /// Weight with which it is drawn, beside the others.
    pub(super) weight: Weight,
    /// The name of its key space, if it has one of its own.
    pub(super) keys: Option<Spanned<String>>,
    /// The one command.
    pub(super) command: Option<Spanned<Words>>,
    /// Commands that are sent together.
    pub(super) commands: Option<List<Words>>,
    /// Steps, one after another.
    pub(super) steps: Option<List<Step>>,
}

/// Commands that are sent together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Step {
    /// The one command.
    pub(super) command: Option<Spanned<Words>>,
    /// Commands, if they are several.
    pub(super) commands: Option<List<Words>>,
    /// Condition on which they are sent.
    pub(super) when: Option<Spanned<When>>,
}

/// A part of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Phase {
    /// Name in reports.
    pub(super) name: Option<String>,
    /// Set if the phase takes every key once, in order, as fast as it can.
    #[serde(skip_serializing_if = "Not::not")]
    pub(super) every_key: bool,
    /// Settings of the phase.
    #[serde(flatten, skip_deserializing)]
    pub(super) settings: Settings,
    /// Operations of the file that it has, with weights of its own.
    pub(super) mix: Option<Spanned<Table<Weight>>>,
    /// Commands of the phase, if not those of the file.
    pub(super) sequence: Option<List<Words>>,
    /// Operations of the phase, if not those of the file.
    pub(super) operation: Option<List<Operation>>,
    /// Position in the file.
    #[serde(skip)]
    pub(super) at: usize,
}

fn load(sequence: &Option<List<Words>>, operations: &Option<List<Operation>>) -> Option<Load> {
    let sequence = sequence.as_ref().map(|commands| Load::Sequence(commands.get_ref().clone()));
    sequence.or_else(|| Some(Load::Operations(operations.as_ref()?.get_ref().clone())))
}

/// A value without a place in a file.
pub(super) fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

impl Step {
    /// A step that is sent on a condition.
    pub(super) fn new(when: StepCondition, mut commands: Vec<Spanned<Words>>) -> Self {
        let when = (when != StepCondition::Always).then(|| unplaced(When(when)));
        match commands.len() {
            1 => Self { command: commands.pop(), commands: None, when },
            _ => Self { command: None, commands: Some(unplaced(commands)), when },
        }
    }

    /// The commands, at least one.
    pub(super) fn all(&self) -> Vec<Spanned<Words>> {
        let several = self.commands.iter().flat_map(Spanned::get_ref);
        self.command.iter().chain(several).cloned().collect()
    }

    /// Condition on which they are sent.
    pub(super) fn condition(&self) -> StepCondition {
        self.when.as_ref().map_or(StepCondition::Always, |when| when.get_ref().0)
    }
}

impl Operation {
    /// An operation of these steps, one or more.
    pub(super) fn of(mut steps: Vec<Step>) -> Self {
        if let [Step { command, commands, .. }] = &mut steps[..] {
            return Self { command: command.take(), commands: commands.take(), ..Self::default() };
        }
        let steps = steps.into_iter().map(unplaced).collect();
        Self { steps: Some(unplaced(steps)), ..Self::default() }
    }

    /// The steps, of which what is written without any is one.
    pub(super) fn all(&self) -> Vec<Step> {
        if let Some(steps) = &self.steps {
            return steps.get_ref().iter().map(|step| step.get_ref().clone()).collect();
        }
        let Self { command, commands, .. } = self.clone();
        vec![Step { command, commands, when: None }]
    }
}

impl Phase {
    /// The load, if it has one of its own.
    pub(super) fn own_load(&self) -> Option<Load> {
        load(&self.sequence, &self.operation)
    }

    /// The operations that its mix names, in the order of the file, with their weights.
    pub(super) fn parts(&self) -> Option<Vec<(&Spanned<String>, &Weight)>> {
        Some(self.mix.as_ref()?.get_ref().entries())
    }
}

impl Workload {
    /// Returns the file as TOML.
    pub(super) fn text(&self) -> String {
        // Its keys are texts and its values are those of TOML, so there is no error to tell.
        inert(&toml::to_string_pretty(self).unwrap_or_default())
    }

    /// The phases, or the one that a file without phases is.
    pub(super) fn phases(&self) -> Vec<Phase> {
        if self.phases.is_empty() { vec![Phase::default()] } else { self.phases.clone() }
    }

    /// Returns the name of a phase in reports.
    pub(super) fn title(&self, phase: &Phase) -> String {
        match &phase.name {
            Some(name) => format!("{}: {name}", self.name),
            None => self.name.clone(),
        }
    }

    /// Load of all phases that have none of their own.
    pub(super) fn own_load(&self) -> Option<Load> {
        load(&self.sequence, &self.operation)
    }

    /// Every load in it.
    pub(super) fn loads(&self) -> impl Iterator<Item = Load> {
        self.own_load().into_iter().chain(self.phases.iter().filter_map(Phase::own_load))
    }

    /// Returns what a phase sends; `None` for tests of the suite.
    pub(super) fn load_of(&self, phase: &Phase) -> Option<Load> {
        if phase.own_load().is_some() || phase.settings.get("tests").is_some() {
            return phase.own_load();
        }
        let (Some(operations), Some(parts)) = (&self.operation, phase.parts()) else {
            return self.own_load();
        };
        let parts = parts.into_iter().filter_map(|(name, weight)| {
            let of = operations
                .get_ref()
                .iter()
                .find(|of| of.get_ref().name.as_ref() == Some(name.get_ref()))?;
            let operation = Operation { weight: *weight, ..of.get_ref().clone() };
            Some(Spanned::new(of.span(), operation))
        });
        Some(Load::Operations(parts.collect()))
    }

    /// Returns what holds in a phase: its own settings, and those of the file that it leaves open.
    pub(super) fn settings_of(&self, phase: &Phase) -> Settings {
        let mut settings = self.settings.clone();
        if self.load_of(phase).is_some() {
            settings.remove_all(&[naming::TESTS]);
        }
        if phase.every_key {
            settings.remove_all(&FILL_EXCLUDES);
        }
        settings.overlaid(&phase.settings)
    }
}
