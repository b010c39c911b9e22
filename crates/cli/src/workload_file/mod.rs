//! A workload as a file: key spaces, operations, steps, values, and phases one after another.
//!
//! Owns the file's model, how it is read from TOML and written as TOML. Whatever the command line has
//! an option for is kept as it is written there ([`settings`]), so that a file says it in the same
//! words and both mean the same. What a file means is left to the front end whose options these are.

mod check;
mod of_plan;
mod read;
pub(super) mod settings;
mod source;
mod write;

use workload::{KeyDist, KeyNumbering, StepCondition};

pub(super) use of_plan::of_plan;
pub(super) use read::read;
pub(super) use settings::{Form, Setting, Settings};
pub(super) use source::open;
pub use source::{Source, read_text};
pub(super) use write::write;

/// A file, read.
#[derive(Debug, Clone, Default)]
pub(super) struct Workload {
    /// Source of the file.
    pub(super) source: Source,
    /// Name in reports.
    pub(super) name: String,
    /// A line for people who look for one.
    pub(super) description: Option<String>,
    /// Settings of all phases that say nothing else.
    pub(super) settings: Settings,
    /// Key spaces of operations.
    pub(super) spaces: Vec<Space>,
    /// Load of all phases that say nothing else.
    pub(super) load: Option<Load>,
    /// Phases, one after another; none for one of everything above.
    pub(super) phases: Vec<Phase>,
}

/// Load of a workload or phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Load {
    /// All of these, in this order, over and over.
    Sequence(Vec<Command>),
    /// Operations, one at a time, drawn by weight.
    Operations(Vec<Operation>),
}

/// A key space that operations name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Space {
    /// Name of the space.
    pub(super) name: String,
    /// Number of keys; by default as many as its file needs.
    pub(super) range: Option<u64>,
    /// Distribution that they are drawn from.
    pub(super) dist: KeyDist,
    /// Numbering of the keys.
    pub(super) numbered: KeyNumbering,
    /// Set if those of a request are of one hash slot.
    pub(super) one_slot: bool,
    /// Position in the file.
    pub(super) at: usize,
}

/// An operation of a mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    /// Name in reports; `None` for its commands.
    pub(super) name: Option<String>,
    /// Weight with which it is drawn, beside the others.
    pub(super) weight: u32,
    /// The name of its key space, if it has one of its own.
    pub(super) keys: Option<LocatedName>,
    /// At least one.
    pub(super) steps: Vec<Step>,
    /// Position in the file.
    pub(super) at: usize,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedName {
    pub(super) name: String,
    pub(super) at: usize,
}

/// Commands that are sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Condition on which they are sent.
    pub(super) when: StepCondition,
    /// At least one.
    pub(super) commands: Vec<Command>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// Words of the command, at least one.
    pub(super) words: Vec<String>,
    /// Position in the file.
    pub(super) at: usize,
}

/// A part of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Phase {
    /// Name in reports.
    pub(super) name: Option<String>,
    /// Set if the phase takes every key once, in order, as fast as it can.
    pub(super) every_key: bool,
    /// Settings of the phase.
    pub(super) settings: Settings,
    /// Operations of the file that it has, with weights of its own.
    pub(super) mix: Option<Vec<Part>>,
    /// Load of the phase, if not that of the file.
    pub(super) load: Option<Load>,
    /// Position in the file.
    pub(super) at: usize,
}

/// An operation's part in the mix of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The operation.
    pub(super) name: LocatedName,
    /// Weight in the phase.
    pub(super) weight: u32,
}

impl Workload {
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

    /// Returns what a phase sends; `None` for tests of the suite.
    pub(super) fn load_of(&self, phase: &Phase) -> Option<Load> {
        if phase.load.is_some() || phase.settings.get("tests").is_some() {
            return phase.load.clone();
        }
        let (Some(Load::Operations(operations)), Some(mix)) = (&self.load, &phase.mix) else {
            return self.load.clone();
        };
        let named =
            |part: &Part| operations.iter().find(|o| o.name.as_ref() == Some(&part.name.name));
        let parts = mix
            .iter()
            .filter_map(|part| Some(Operation { weight: part.weight, ..named(part)?.clone() }));
        Some(Load::Operations(parts.collect()))
    }

    /// Returns what holds in a phase: its own settings, and those of the file that it leaves open.
    pub(super) fn settings_of(&self, phase: &Phase) -> Settings {
        let mut settings = self.settings.clone();
        if self.load_of(phase).is_some() {
            settings.remove("tests");
        }
        if phase.every_key {
            settings.remove_all(&settings::OF_NO_FILL);
        }
        settings.overlaid(&phase.settings)
    }

    /// The key space of a name.
    pub(super) fn space(&self, name: &str) -> Option<&Space> {
        self.spaces.iter().find(|space| space.name == name)
    }
}
