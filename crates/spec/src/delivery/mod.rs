//! Receivers of what a load sends: a kind of delivery, with its options.
//!
//! A kind is a file here, and a row in [`kinds`]. Its options, and their help, are stated once, for command lines,
//! documents and printed words.

mod common;
mod invalidate;
mod message;
mod notify;
mod pubsub;
mod queue;
mod replica;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use naming::Text;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use workload::PlanParts;

pub(crate) use self::common::Senders;
pub use self::common::{CommonOptions, ExchangeOptions};
pub use self::invalidate::InvalidateOptions;
pub use self::notify::NotifyOptions;
pub use self::pubsub::PubsubOptions;
pub use self::queue::{KeysPerReceiver, ListOptions, QueueOptions, StreamOptions, ZsetOptions};
pub use self::replica::{Disks, ReplicaLagOptions};

/// A kind of delivery on the command line.
#[derive(Debug, Clone, Copy)]
pub struct KindOfDelivery {
    /// Name of the kind.
    pub name: &'static str,
    /// Function that adds its options to a command.
    pub augment: fn(Command) -> Command,
    /// Function that reads its options.
    pub read: fn(&ArgMatches) -> Result<DeliveryOptions, clap::Error>,
}

/// The kinds: each with its name and the struct of its options.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $options:ident,)+) => {
        /// Receivers of what a load sends, as they were asked for.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum DeliveryOptions {
            $($(#[$doc])* $kind($options),)+
        }

        impl DeliveryOptions {
            /// Name of the kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)+
                }
            }

            pub(crate) fn options(&self) -> &dyn common::Kind {
                match self {
                    $(Self::$kind(options) => options,)+
                }
            }

            fn document(&self) -> Result<Value, serde_json::Error> {
                match self {
                    $(Self::$kind(options) => serde_json::to_value(options),)+
                }
            }
        }

        /// The kinds of delivery.
        pub const KINDS: &[KindOfDelivery] = &[$(KindOfDelivery {
            name: $name,
            augment: $options::augment_args,
            read: |matches| $options::from_arg_matches(matches).map(DeliveryOptions::$kind),
        }),+];
    };
}

kinds! {
    /// PUBLISH to SUBSCRIBE.
    Pubsub "pubsub" PubsubOptions,
    /// LPUSH to BRPOP and others.
    List "list" ListOptions,
    /// ZADD to BZPOPMIN and others.
    Zset "zset" ZsetOptions,
    /// XADD to XREAD or XREADGROUP.
    Stream "stream" StreamOptions,
    /// A key that is written or expires, to the subscribers of its event.
    Notify "notify" NotifyOptions,
    /// A write at the primary to reads at replicas.
    Replica "replica" ReplicaLagOptions,
    /// A write to clients with a cache.
    Invalidate "invalidate" InvalidateOptions,
}

impl KindOfDelivery {
    /// Options of the kind alone.
    pub fn vocabulary(&self) -> Command {
        (self.augment)(Command::new(self.name).disable_help_flag(true))
    }

    /// Adds its options to those of a command, where they replace others of the same name.
    pub fn added_to(&self, mut command: Command) -> Command {
        for option in self.vocabulary().get_arguments() {
            let long = option.get_long();
            let same =
                command.get_arguments().find(|other| long.is_some() && other.get_long() == long);
            if let Some(id) = same.map(|same| same.get_id().clone()) {
                command =
                    command.mut_arg(&id, |same| same.long(format!("replaced-{id}")).hide(true));
            }
        }
        (self.augment)(command)
    }
}

impl DeliveryOptions {
    /// The options that were given, by their keys.
    pub(crate) fn given(&self) -> Result<Map<String, Value>, serde_json::Error> {
        let mut given = match self.document()? {
            Value::Object(given) => given,
            _ => Map::new(),
        };
        given.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(values) => !values.is_empty(),
            _ => true,
        });
        Ok(given)
    }

    /// Options of the kind, as a command has them.
    pub(crate) fn vocabulary(&self) -> Command {
        let kind = KINDS.iter().find(|kind| kind.name == self.kind());
        kind.map_or_else(|| Command::new(self.kind()), KindOfDelivery::vocabulary)
    }

    /// Gives a plan of the senders its receivers.
    ///
    /// # Errors
    /// Returns an error if the options ask for something impossible.
    pub(crate) fn add_to(&self, parts: &mut PlanParts) -> Result<(), Text> {
        parts.delivery = Some(self.options().receivers(message::prefix(parts), parts)?);
        Ok(())
    }
}

impl Serialize for DeliveryOptions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut document = self.given().map_err(serde::ser::Error::custom)?;
        document.insert("kind".to_owned(), self.kind().into());
        document.serialize(to)
    }
}
