//! Constraints of a plan with receivers.

use std::borrow::Cow;

use naming::{
    BETWEEN_CLIENTS, CLUSTER, DRAIN, GROUPS, PIPELINE, RECEIVER_THREADS, SIZE, Text, WAIT, WAITAOF,
    WRITERS, text,
};

use super::{Delivery, DeliveryKind, NAME_PREFIX, TAG};
use crate::plan::{check::refuse, limits};
use crate::{Arg, CommandSpec, Endpoint, Piece, Plan, PlanError, PlanParts};

impl PlanParts {
    /// Number of receiving threads, beside the senders'; 0 without receivers.
    pub fn receiver_threads(&self) -> u16 {
        self.delivery.as_ref().map_or(0, |delivery| delivery.threads)
    }

    /// Number of receiving threads, to be changed; `None` without receivers.
    pub fn receiver_threads_mut(&mut self) -> Option<&mut u16> {
        self.delivery.as_mut().map(|delivery| &mut delivery.threads)
    }

    /// Returns whether it has receivers: then its requests are messages.
    pub fn has_receivers(&self) -> bool {
        self.delivery.is_some()
    }

    /// Receivers of this share of the plan, if it has any.
    pub fn own_receivers(&self) -> Option<Delivery> {
        self.delivery.as_ref().map(|delivery| delivery.own(self.load.shard))
    }

    /// Plural noun for its requests: `requests` or `messages`.
    pub fn sends(&self) -> &'static str {
        if self.has_receivers() { "messages" } else { "requests" }
    }

    pub(crate) fn check_messages(&self) -> Result<(), PlanError> {
        let Some(delivery) = &self.delivery else {
            return refuse(!self.carries_messages(), || {
                "__message__ requires receivers: use keystorm deliver".to_owned()
            });
        };
        // A sender that waits for replicas does so in a step of its own.
        let is_known = match &self.sequence[..] {
            [command] => has_one_message(command) && self.mix.is_none(),
            [command, _] => has_one_message(command) && delivery.wait.is_some(),
            _ => false,
        };
        refuse(is_known, || {
            "deliver sends one command, of which one argument ends in __message__, and before or behind it no argument \
             varies"
                .to_owned()
        })?;
        refuse(!self.protocol.is_memcache(), || {
            "deliver: memcached has nothing that a client could wait for".to_owned()
        })?;
        let one = !matches!(self.target.endpoint, Endpoint::Ring { .. } | Endpoint::Pool { .. });
        refuse(one, || {
            "deliver: messages of servers that know nothing of each other reach no common receiver; name one server \
             or a cluster"
                .to_owned()
        })?;
        let depth = self.load.concurrency.pipeline_depth;
        refuse(delivery.wait.is_none() || depth == 1, || {
            text!(
                "{PIPELINE} {depth}: a connection that waits for replicas ({WAIT}, {WAITAOF}) sends nothing else; use more \
                 {WRITERS}"
            )
        })?;
        self.check_cluster(delivery)?;
        self.check_exchange(delivery)?;
        self.check_receivers(delivery)
    }

    /// Refuses deliveries whose number of receivers a cluster does not tell: PUBLISH counts those of one node.
    fn check_cluster(&self, delivery: &Delivery) -> Result<(), PlanError> {
        if !self.target.is_cluster() {
            return Ok(());
        }
        if delivery.kind.is_at_each_node() {
            return check_each_node(delivery);
        }
        let Delivery { receivers, places, places_each, .. } = *delivery;
        if delivery.kind.has_slots() {
            let names = delivery.kind.names();
            return refuse(places_each == 1, || {
                format!(
                    "{} {places_each}: must be 1 in a cluster, for each of {}: others may be on other nodes",
                    names.places_each, names.receivers
                )
            });
        }
        let subscriptions = u64::from(receivers) * u64::from(places_each);
        refuse(subscriptions.is_multiple_of(places.into()), || {
            text!(
                "{CLUSTER}: PUBLISH does not say who gets a message on other nodes, so every channel must have \
                 the same number of subscribers: {receivers} subscribers of {places_each} channels each are no \
                 multiple of {places} \
                 channels"
            )
        })
    }

    /// Between clients, a message must carry its time of sending, and the message that marks the end must come
    /// last.
    fn check_exchange(&self, delivery: &Delivery) -> Result<(), PlanError> {
        if delivery.exchange.is_none() {
            return Ok(());
        }
        let fault = |what: Text| PlanError(text!("{BETWEEN_CLIENTS}: {what}"));
        let pieces =
            self.sequence.iter().flat_map(|command| &command.args).flat_map(|arg| &arg.pieces);
        let is_short = pieces.into_iter().any(|piece| *piece == Piece::MessageNumber);
        match delivery.kind {
            DeliveryKind::Pubsub { .. } if self.target.is_cluster() => {
                Err(fault(text!("takes one server; name a node, without {CLUSTER}")))
            }
            _ if is_short => Err(fault(text!(
                "payloads have at least 32 bytes, which say when they were sent; use {SIZE}"
            ))),
            DeliveryKind::Notify { .. }
            | DeliveryKind::Invalidate { .. }
            | DeliveryKind::Replica => {
                Err(fault("messages of this kind do not go from one client to another".into()))
            }
            _ => Ok(()),
        }
    }

    fn check_receivers(&self, delivery: &Delivery) -> Result<(), PlanError> {
        let Delivery { receivers, threads, places, places_each, drain_ns, .. } = *delivery;
        let names = delivery.kind.names();
        refuse((1..=limits::CONNECTIONS_MAX).contains(&receivers), || {
            format!(
                "{} {receivers}: must be between 1 and {}",
                names.receivers,
                limits::CONNECTIONS_MAX
            )
        })?;
        refuse((1..=limits::WORKERS_MAX).contains(&threads), || {
            text!("{RECEIVER_THREADS} {threads}: must be between 1 and {}", limits::WORKERS_MAX)
        })?;
        refuse((1..=limits::PLACES_MAX).contains(&places), || {
            format!("{} {places}: must be between 1 and {}", names.places, limits::PLACES_MAX)
        })?;
        refuse((1..=places).contains(&places_each), || {
            format!(
                "{} {places_each}: must be between 1 and {places} ({})",
                names.places_each, names.places
            )
        })?;
        check_takers(delivery)?;
        let subscriptions = u64::from(receivers) * u64::from(places_each);
        refuse(subscriptions <= limits::SUBSCRIPTIONS_MAX, || {
            format!("{subscriptions} subscriptions; the maximum is {}", limits::SUBSCRIPTIONS_MAX)
        })?;
        // Where messages name their place, each receiver tells its places apart.
        let distinguished = delivery.distinguished_places();
        let senders = u64::from(self.load.concurrency.connections);
        let pairs = u64::from(receivers) * senders * u64::from(distinguished);
        refuse(pairs <= limits::PAIRS_MAX, || {
            format!(
                "{pairs} pairs of a sender and a receiver; the maximum is {}",
                limits::PAIRS_MAX
            )
        })?;
        refuse(drain_ns <= limits::TIMEOUT_NS_MAX, || {
            text!("{DRAIN} {}: the maximum is 1 hour", drain_ns as f64 / 1e9)
        })?;
        refuse(self.data.keys.range == Some(u64::from(places)), || {
            "the keys of a plan with receivers are the places that they get messages from"
                .to_owned()
        })
    }
}

impl Plan {
    /// The plan with the receivers and the places of its own share; `None` if that is the whole.
    ///
    /// # Errors
    /// Returns an error if the share has too few receivers.
    pub fn own_messages(&self) -> Result<Option<Self>, PlanError> {
        let Some(delivery) = self.delivery.as_ref().filter(|_| !self.load.shard.is_whole()) else {
            return Ok(None);
        };
        let (of, names) = (self.load.shard.of, delivery.kind.names());
        let is_replica = delivery.kind == DeliveryKind::Replica;
        refuse(delivery.receivers >= of || is_replica, || {
            format!("{} {}: each of {of} clients requires one", names.receivers, delivery.receivers)
        })?;
        self.delivering(delivery, delivery.own(self.load.shard)).map(Some)
    }

    /// The plan common to all runs of one command line: its names have no run's prefix, and its receivers are
    /// assigned to no node.
    ///
    /// # Errors
    /// Returns an error if its receivers do not match its places.
    pub fn of_any_run(&self) -> Result<Cow<'_, Self>, PlanError> {
        let Some(delivery) = &self.delivery else { return Ok(Cow::Borrowed(self)) };
        let mut any = delivery.clone();
        let tag = if any.prefix.ends_with(TAG) { String::from(TAG) } else { String::new() };
        any.prefix = NAME_PREFIX.to_owned() + &tag;
        if !any.node_receivers.is_empty() {
            any.receivers = any.logical_receivers();
            any.node_receivers.clear();
            any.at.clear();
        }
        self.delivering(delivery, any).map(Cow::Owned)
    }

    /// Returns the plan with this other delivery, and its places renamed.
    fn delivering(&self, delivery: &Delivery, other: Delivery) -> Result<Self, PlanError> {
        let mut parts: PlanParts = (**self).clone();
        let args = parts.sequence.iter_mut().flat_map(|command| &mut command.args);
        for piece in args.flat_map(|arg| &mut arg.pieces) {
            match piece {
                Piece::Bytes(text) if *text == delivery.prefix.as_bytes() => {
                    *text = other.prefix.clone().into_bytes();
                }
                _ => {}
            }
        }
        parts.data.keys.range = Some(other.places.into());
        parts.delivery = Some(other);
        parts.build()
    }
}

/// Receivers that are at each node of a cluster: places have slots, and each as many receivers as the others.
fn check_each_node(delivery: &Delivery) -> Result<(), PlanError> {
    let Delivery { receivers, places, node_receivers, at, .. } = delivery;
    refuse(delivery.prefix.ends_with(TAG), || {
        "deliver: in a cluster the numbers of places are hash tags".to_owned()
    })?;
    let by_place = || delivery.receivers_by_place();
    let is_whole = node_receivers.is_empty()
        || node_receivers.len() == *receivers as usize
            && node_receivers.iter().all(|node_receiver| {
                let has_address =
                    node_receiver.at.is_none_or(|number| (number as usize) < at.len());
                let has_home = node_receiver.at.is_some() || !node_receiver.places.is_empty();
                has_address && has_home && node_receiver.places.iter().all(|place| place < places)
            })
            && by_place().iter().min() == by_place().iter().max();
    refuse(is_whole, || {
        "deliver: receivers at the nodes of a cluster do not match places".to_owned()
    })
}

/// Checks that every key that keeps messages has a receiver.
fn check_takers(delivery: &Delivery) -> Result<(), PlanError> {
    let Delivery { receivers, places, places_each, .. } = delivery.of_all_clients();
    let names = delivery.kind.names();
    let groups = delivery.kind.groups();
    refuse(groups <= limits::GROUPS_MAX, || {
        text!("{GROUPS} {groups}: must be between 0 and {}", limits::GROUPS_MAX)
    })?;
    let takers = u64::from(receivers / groups);
    if !delivery.node_receivers.is_empty() {
        return Ok(());
    }
    let takes_all = takers * u64::from(places_each) >= u64::from(places);
    refuse(takes_all || !delivery.kind.keeps_messages(), || {
        format!(
            "{} {receivers} take messages from {places_each} of {places} keys each, so that some keys have no \
             receiver: use fewer {}, or more {}",
            names.receivers, names.places, names.places_each
        )
    })?;
    let of = names.places.trim_start_matches('-');
    let is_even = (takers * u64::from(places_each)).is_multiple_of(places.into());
    refuse(is_even || !delivery.kind.fans_out_unseen(), || {
        format!(
            "{} {receivers} of {places_each} of {places} {of} each: some {of} would have more receivers than others; \
             use a number that gives each the same",
            names.receivers
        )
    })
}

/// Returns whether the position of a message is fixed relative to the start or the end of a command.
fn has_one_message(command: &CommandSpec) -> bool {
    let is_message = |piece: &&Piece| piece.message_bytes() > 0;
    let pieces = command.args.iter().flat_map(|arg| &arg.pieces);
    let Some(at) =
        command.args.iter().position(|arg| arg.pieces.last().as_ref().is_some_and(is_message))
    else {
        return false;
    };
    let are_fixed = |args: &[Arg]| {
        let mut pieces = args.iter().flat_map(|arg| &arg.pieces);
        pieces.all(|piece| {
            matches!(
                piece,
                Piece::Bytes(_)
                    | Piece::Secret(_)
                    | Piece::Fill { .. }
                    | Piece::Message
                    | Piece::MessageNumber
            )
        })
    };
    let (before, behind) = (&command.args[..=at], &command.args[at + 1..]);
    !command.inline
        && pieces.filter(is_message).count() == 1
        && (are_fixed(behind) || are_fixed(before))
}
