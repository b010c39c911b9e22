//! The words of `keystorm deliver invalidate`.

use clap::Args;
use naming::{SIZE, Text, text};
use serde::{Deserialize, Serialize};
use workload::key_event::SET_AND_DELETE;
use workload::{
    CacheTracking, Delivery, DeliveryKind, Piece, PlanParts, ProtocolKind, TrackingMode,
};

use super::common::{CommonOptions, Kind, Senders, choice, named, number};
use super::message::{end_in_message, pieces, tag, tagged};
use super::notify::TAGS;
use crate::values::Count;

/// Measures how long a write takes until clients with a cache drop the key (CLIENT TRACKING), and how long what they
/// answer with is stale.
///
/// Latency counts from when the key was due to be written. With --tracking bcast each message is a key of its own; in
/// the other modes caches read a key again when it was invalidated. Invalidations are pushes of RESP3, or with
/// --redirect messages to a second connection.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Messages", after_help = EXAMPLES)]
pub struct InvalidateOptions {
    /// Connections that write keys, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Load")]
    #[serde(skip_serializing)]
    pub writers: Option<Count<u32>>,
    /// Connections that track the keys, as clients with a cache do [default: 10]
    #[arg(long, value_name = "NUM")]
    pub caches: Option<Count<u32>>,
    /// Keys that the server tracks: bcast (all with a prefix), default (those that a cache has read), optin or optout
    /// [default: bcast]
    #[arg(long, value_name = "MODE", hide_possible_values = true, value_parser = choice::<TrackingMode>())]
    #[serde(with = "named")]
    pub tracking: Option<TrackingMode>,
    /// Keys that are written, and that every cache holds; not with bcast [default: 100]
    #[arg(long, value_name = "NUM")]
    pub keys: Option<Count<u32>>,
    /// Prefixes of the keys, with bcast: each cache tracks some of them, in turn [default: 1]
    #[arg(long, value_name = "NUM")]
    pub prefixes: Option<Count<u32>>,
    /// Prefixes that each cache tracks [default: 1]
    #[arg(long, value_name = "NUM")]
    pub prefixes_per_cache: Option<Count<u32>>,
    /// Ask for no invalidations of a cache's own writes (NOLOOP), so that the server tells them apart for each cache
    #[arg(long)]
    pub noloop: bool,
    /// Take invalidations over a second connection of each cache (REDIRECT), as clients of RESP2 do
    #[arg(long)]
    pub redirect: bool,
    /// Options of every kind.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: CommonOptions,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = include_str!("../../help/deliver-invalidate.txt").trim_ascii_end();

/// Default number of bytes of a value, in broadcast mode and in others.
const VALUE_BYTES: u32 = 3;
const ENTRY_BYTES: u32 = 128;

/// Default number of keys.
const KEYS: u32 = 100;

/// Entries that a key keeps, at least: more than come between two reads of a cache.
const ENTRIES: &str = "10000";

impl InvalidateOptions {
    fn mode(&self) -> TrackingMode {
        self.tracking.unwrap_or(TrackingMode::Bcast)
    }

    /// Sets what is written, and returns how many places it has, each of which is the prefix of its keys.
    fn broadcast(&self, prefix: &str, parts: &mut PlanParts) -> Result<u32, Text> {
        if self.keys.is_some() {
            return Err(text!(
                "--keys: with --tracking bcast every message is a key of its own; use another mode of --tracking"
            ));
        }
        let in_cluster = parts.target.is_cluster();
        let prefixes = self.prefixes_in(in_cluster);
        let differ = parts.data.values.is_some();
        tag(parts, 3, prefix)?;
        let key = pieces(parts, 3)?;
        match prefixes {
            1 if !in_cluster => key.truncate(1),
            _ if differ => {
                return Err(text!("{SIZE}: with several --prefixes values are of one size"));
            }
            _ => {}
        }
        key.push(Piece::Message);
        Ok(prefixes)
    }

    /// In a cluster, the hash tags of keys.
    fn prefixes_in(&self, in_cluster: bool) -> u32 {
        number(self.prefixes, if in_cluster { TAGS } else { 1 })
    }

    /// Sets what is written, and returns how many keys it is written to.
    fn keys(&self, prefix: &str, parts: &mut PlanParts) -> Result<u32, Text> {
        if self.prefixes.or(self.prefixes_per_cache).is_some() {
            return Err(text!(
                "--prefixes: only --tracking bcast has prefixes; the other modes have --keys"
            ));
        }
        tag(parts, 1, prefix)?;
        end_in_message(parts, XADD_WORDS)?;
        Ok(number(self.keys, KEYS))
    }
}

/// Words of the XADD before the message.
const XADD_WORDS: usize = 7;

impl Kind for InvalidateOptions {
    fn senders(&self) -> Senders {
        let (size, title, mode) = match self.mode() {
            TrackingMode::Bcast => (VALUE_BYTES, "SET and DEL", " BCAST"),
            TrackingMode::Default => (ENTRY_BYTES, "XADD", ""),
            TrackingMode::Optin => (ENTRY_BYTES, "XADD", " OPTIN"),
            TrackingMode::Optout => (ENTRY_BYTES, "XADD", " OPTOUT"),
        };
        let follows_reads = self.mode().follows_reads();
        let places = if follows_reads { number(self.keys, KEYS) } else { self.prefixes_in(false) };
        let before: [_; XADD_WORDS] = ["xadd", "__key__", "maxlen", "~", ENTRIES, "*", "m"];
        let command = if follows_reads {
            &[&before[..], &["__data__"]].concat()
        } else {
            // Both changes are in one push, and no key stays behind.
            &["eval", SET_AND_DELETE, "1", "__key__", "__data__"][..]
        };
        let name = format!("{title} to CLIENT TRACKING{mode}");
        Senders::new(number(self.writers, 10), places, size, name, command)
    }

    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, Text> {
        let (mode, prefix) = (self.mode(), tagged(prefix, parts));
        let places = if mode.follows_reads() {
            self.keys(&prefix, parts)?
        } else {
            self.broadcast(&prefix, parts)?
        };
        if parts.protocol == ProtocolKind::Resp2 && !self.redirect {
            parts.protocol = ProtocolKind::Resp3;
        }
        let tracking = CacheTracking { mode, noloop: self.noloop, redirect: self.redirect };
        // In a cluster a cache has all prefixes, unless the command line names some.
        let has_all = parts.target.is_cluster() && self.prefixes.is_none();
        let each = if mode.follows_reads() || has_all {
            places
        } else {
            number(self.prefixes_per_cache, 1)
        };
        parts.data.keys.range = Some(places.into());
        let kind = DeliveryKind::Invalidate { tracking };
        Ok(self.common.delivery(kind, number(self.caches, 10), prefix, places, each))
    }
}
