//! A load that has receivers: its senders' part, and the options that it cannot have.

use naming::{
    DATASET, FILL, HIT_RATIO, KEY_RANGE, MIX, OptionId, REPLAY, SHARD, TESTS, Text, VERIFY,
    WORKLOAD, text,
};
use workload::SizeBy;

use crate::delivery::{DeliveryOptions, Senders};
use crate::values::{Count, TestName, YesNo};
use crate::write::{given_fields, key};
use crate::{KeyRange, LoadSpec, Size};

/// Options of a load that one with receivers does not take: a message is one command of a known shape.
pub const REFUSED: [OptionId; 10] =
    [TESTS, KEY_RANGE, FILL, VERIFY, MIX, WORKLOAD, REPLAY, DATASET, SHARD, HIT_RATIO];

impl DeliveryOptions {
    /// The load of the senders, complete.
    ///
    /// # Errors
    /// Returns an error if it has options that a delivery decides itself.
    pub(crate) fn senders_of(&self, load: &LoadSpec) -> Result<LoadSpec, Text> {
        let given = given_fields(load).map_err(|error| text!("{error}"))?;
        if let Some(option) = REFUSED.iter().find(|option| given.contains_key(&option.key())) {
            let (kind, own) = (self.kind(), self.vocabulary());
            let mut places = own.get_arguments().map(key).filter(|_| *option == KEY_RANGE);
            let places = places.find(|key| ["channels", "keys"].contains(&&**key));
            let instead = places.map_or(String::new(), |places| format!("; use --{places}"));
            return Err(text!("{option}: deliver {kind} sends one command of its own{instead}"));
        }
        if let Some(word) = load.command.first() {
            let word = shell_words::quote(&word.to_string_lossy()).into_owned();
            return Err(text!(
                "unexpected word {word}: deliver has commands of its own; see keystorm deliver --help"
            ));
        }
        Ok(completed(load.clone(), self.options().senders()))
    }
}

/// The load of senders, with what no option says.
fn completed(mut load: LoadSpec, senders: Senders) -> LoadSpec {
    load.load.connections.get_or_insert(Count(senders.connections));
    load.data.key_range.get_or_insert(KeyRange(senders.places.into()));
    let size = load.data.size.get_or_insert(Size::Fixed(senders.size));
    // By default each key keeps one size, and here the key is a channel or a queue.
    if matches!(size, Size::Drawn(_)) {
        load.data.size_by.get_or_insert(SizeBy::Request);
    }
    load.recording.name.get_or_insert(TestName(senders.name));
    // Receivers do not busy-wait, so stamps would cost extra time.
    load.recording.kernel_stamps.get_or_insert(YesNo::No);
    load.command = senders.command.into_iter().map(Into::into).collect();
    load
}

#[cfg(test)]
#[path = "receivers_tests.rs"]
mod tests;
