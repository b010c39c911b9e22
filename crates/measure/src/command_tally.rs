//! What is counted of one command: outcomes, hits, bytes and latencies.

use crate::separate_failures::{SeparateFailures, merge_apart};
use crate::tally::merge_optional;
use crate::{KeyCounts, Latency, TallyShape};

/// Counts and latencies of one command.
#[derive(Debug, Clone)]
pub struct CommandTally {
    /// From sent to done.
    pub service: Latency,
    /// From due to done, where requests are due at times of their own.
    pub scheduled_response: Option<Latency>,
    /// From sent to the first byte of the pipeline's replies, where asked for.
    pub first_byte: Option<Latency>,
    /// Latencies of misses and errors, where they are not among the others.
    pub apart: Option<SeparateFailures>,
    /// Replies with a value.
    pub ok: u64,
    /// Replies with nothing.
    pub miss: u64,
    /// Error replies.
    pub errors: u64,
    /// Bytes sent, if the plan has several operations; otherwise 0.
    pub bytes_out: u64,
    /// Bytes received, if the plan has several operations; otherwise 0.
    pub bytes_in: u64,
    /// Keys, where its replies tell how many were there.
    pub keys: KeyCounts,
    /// Receivers of its messages, where its replies tell how many there were.
    pub receivers: u64,
    /// Hits and misses of each place of its replies, where they are counted one by one; those behind the
    /// last are of others' replies, and 0.
    pub places: Vec<[u64; 2]>,
}

impl CommandTally {
    pub(crate) fn new(shape: &TallyShape) -> Self {
        let latency = || Latency::new(shape.precision);
        Self {
            service: latency(),
            scheduled_response: shape.scheduled.then(latency),
            first_byte: shape.first_byte.then(latency),
            apart: shape.apart.then(|| SeparateFailures::new(shape.precision, shape.scheduled)),
            ok: 0,
            miss: 0,
            errors: 0,
            bytes_out: 0,
            bytes_in: 0,
            keys: KeyCounts::default(),
            receivers: 0,
            places: vec![[0; 2]; shape.places],
        }
    }

    /// Adds a reply that has so many places, of which some found what they are for.
    pub fn add_places(&mut self, found: &[bool]) {
        for (place, found) in self.places.iter_mut().zip(found) {
            place[usize::from(!found)] += 1;
        }
    }

    /// Hits and misses of what its requests looked up: of keys, fields or members where its replies tell how
    /// many were there, of replies otherwise.
    #[must_use]
    pub fn lookups(&self) -> [u64; 2] {
        let keys = self.keys;
        match keys.asked {
            0 => [self.ok, self.miss],
            asked => [keys.found, asked.saturating_sub(keys.found)],
        }
    }

    /// From due to done: what a user of the server would have waited.
    #[must_use]
    pub fn response(&self) -> &Latency {
        self.scheduled_response.as_ref().unwrap_or(&self.service)
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            service,
            scheduled_response,
            first_byte,
            apart,
            ok,
            miss,
            errors,
            bytes_out,
            bytes_in,
            keys,
            receivers,
            places,
        } = other;
        merge_apart(&mut self.apart, apart.as_ref());
        self.service.merge(service);
        merge_optional(&mut self.scheduled_response, scheduled_response.as_ref(), Latency::merge);
        merge_optional(&mut self.first_byte, first_byte.as_ref(), Latency::merge);
        self.ok = self.ok.saturating_add(*ok);
        self.miss = self.miss.saturating_add(*miss);
        self.errors = self.errors.saturating_add(*errors);
        self.bytes_out = self.bytes_out.saturating_add(*bytes_out);
        self.bytes_in = self.bytes_in.saturating_add(*bytes_in);
        self.keys.merge(keys);
        self.receivers = self.receivers.saturating_add(*receivers);
        self.places.resize(self.places.len().max(places.len()), [0; 2]);
        for (sum, place) in self.places.iter_mut().zip(places) {
            *sum = [sum[0].saturating_add(place[0]), sum[1].saturating_add(place[1])];
        }
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            service,
            scheduled_response: _,
            first_byte,
            apart,
            ok,
            miss,
            errors,
            bytes_out,
            bytes_in,
            keys,
            receivers,
            places,
        } = self;
        let latencies = [Some(service), first_byte.as_ref()];
        latencies.into_iter().flatten().all(|latency| latency.count() == 0)
            && apart.as_ref().is_none_or(SeparateFailures::is_empty)
            && [ok, miss, errors, bytes_out, bytes_in, receivers]
                .into_iter()
                .all(|count| *count == 0)
            && *keys == KeyCounts::default()
            && places.iter().all(|place| *place == [0; 2])
    }

    pub(crate) fn clear(&mut self) {
        let Self {
            service,
            scheduled_response,
            first_byte,
            apart,
            ok,
            miss,
            errors,
            bytes_out,
            bytes_in,
            keys,
            receivers,
            places,
        } = self;
        apart.iter_mut().for_each(SeparateFailures::clear);
        service.clear();
        scheduled_response.iter_mut().for_each(Latency::clear);
        first_byte.iter_mut().for_each(Latency::clear);
        (*ok, *miss, *errors) = (0, 0, 0);
        (*bytes_out, *bytes_in, *receivers) = (0, 0, 0);
        *keys = KeyCounts::default();
        places.fill([0; 2]);
    }
}
