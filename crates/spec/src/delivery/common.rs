//! Parts of every kind of delivery: options that all have, the load of its senders, and choices by name.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use naming::Text;
use serde::{Deserialize, Serialize};
use workload::{Delivery, DeliveryKind, Named, PlanParts};

use crate::values::{Count, Seconds};

/// Default of `--drain`, in nanoseconds.
const DRAIN_NS: u64 = 5_000_000_000;

/// Meaning of the options of a kind.
pub(crate) trait Kind {
    /// The load of the senders.
    fn senders(&self) -> Senders;

    /// Puts the message, and names that begin with this prefix, into the command, and returns its receivers.
    ///
    /// # Errors
    /// Returns an error if the options ask for something impossible.
    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, Text>;
}

/// Options of every kind.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct CommonOptions {
    /// Wait this long for the last messages [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Messages", allow_hyphen_values = true)]
    pub drain: Option<Seconds>,
    /// Threads that receive [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages")]
    pub receiver_threads: Option<Count<u32>>,
}

impl CommonOptions {
    /// Returns a delivery through `places` channels or keys, whose names begin with `prefix`, to this many receivers,
    /// each of which listens to `places_each` of them.
    pub(super) fn delivery(
        &self,
        kind: DeliveryKind,
        receivers: u32,
        prefix: String,
        places: u32,
        places_each: u32,
    ) -> Delivery {
        Delivery {
            kind,
            receivers,
            threads: u16::try_from(number(self.receiver_threads, 1)).unwrap_or(u16::MAX),
            prefix,
            places,
            places_each,
            at: Vec::new(),
            exchange: None,
            node_receivers: Vec::new(),
            wait: None,
            drain_ns: self.drain.map_or(DRAIN_NS, Seconds::ns),
        }
    }
}

/// Options of kinds whose messages may go from one client to another.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ExchangeOptions {
    /// Let the receivers of each client of --on get what the senders of all clients send; latencies are then only as
    /// exact as the clients' clocks are known
    #[arg(long, help_heading = "Messages")]
    pub between_clients: bool,
}

/// Load of the senders where no option says otherwise.
pub(crate) struct Senders {
    /// Connections.
    pub(crate) connections: u32,
    /// Channels or keys that messages go through.
    pub(crate) places: u32,
    /// Size of a message in bytes.
    pub(crate) size: u32,
    /// Name of the run.
    pub(crate) name: String,
    /// Command that each sends, as it is typed.
    pub(crate) command: Vec<String>,
}

impl Senders {
    /// Senders on so many connections, with messages of `size` bytes through `places` channels or keys; the name of
    /// their run, and the command that each sends, as it is typed.
    pub(super) fn new(
        connections: u32,
        places: u32,
        size: u32,
        name: impl Into<String>,
        command: &[&str],
    ) -> Self {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Self { connections, places, size, name: name.into(), command }
    }
}

/// The number of an option, or its default.
pub(super) fn number(option: Option<Count<u32>>, default: u32) -> u32 {
    option.map_or(default, |Count(number)| number)
}

/// Nanoseconds of an option that is 0 by default.
pub(super) fn nanoseconds(time: Option<Seconds>) -> u64 {
    time.map_or(0, Seconds::ns)
}

/// Reads one of the names of a choice.
pub(super) fn choice<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(T::NAMES.iter().map(|(_, name)| *name));
    names.try_map(|name| T::named(&name).ok_or("unknown"))
}

/// Choices in documents, by their names.
pub(super) mod named {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};
    use workload::Named;

    pub(crate) fn serialize<S: Serializer>(
        of: &Option<impl Named>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        of.map(Named::name).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Named>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let names: Vec<&str> = T::NAMES.iter().map(|(_, name)| *name).collect();
        let known = T::named(&name).map(Some);
        known.ok_or_else(|| {
            D::Error::custom(format!("{name}: expected one of {}", names.join(", ")))
        })
    }
}
