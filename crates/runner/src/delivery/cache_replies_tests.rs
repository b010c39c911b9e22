//! Messages of a server to clients with a cache.

use wire::resp::RespDecoder;
use wire::{Decode, Reply};
use workload::{CacheTracking, DeliveryKind, TrackingMode};

use super::{Conversation, PLACE, SETTLED, Step, array, bulks, delivery, heard, message, requests};
use crate::delivery::kind::Received;
use crate::delivery::kinds::from_delivery;
use crate::delivery::reply_strings::ReplyStrings;

pub(super) const fn invalidate(mode: TrackingMode) -> DeliveryKind {
    let tracking = CacheTracking { mode, noloop: true, redirect: false };
    DeliveryKind::Invalidate { tracking }
}

fn push(keys: &[u8]) -> Vec<u8> {
    [b">2\r\n", &bulks(&[b"invalidate"])[..], keys].concat()
}

fn reread(place: u32, after: Option<u64>, count: usize, reply: Vec<u8>) -> Step {
    (Received::Reread { place, invalidated_ns: after }, count, reply)
}

/// Replies and pushes to a cache of 4 places, in this mode and with this null.
pub(super) fn conversation(mode: TrackingMode, payload: &[u8], nil: &str) -> Conversation {
    let ok = b"+OK\r\n".to_vec();
    let all = (Received::Flush, 0, push(nil.as_bytes()));
    if mode == TrackingMode::Bcast {
        let two = push(&array(2, &[bulks(&[payload, payload])]));
        let foreign = push(&array(1, &[bulks(&[b"somebody's key"])]));
        return vec![
            (Received::Confirmation, 0, ok),
            (Received::Messages(2), 2, two),
            (Received::Foreign, 0, foreign),
            all,
        ];
    }
    let none = || b"*0\r\n".to_vec();
    let entry = |id: &[u8]| array(2, &[bulks(&[id]), array(2, &[bulks(&[b"m", payload])])]);
    let setting = (SETTLED, 0, ok);
    let read = |step: Step| match mode {
        TrackingMode::Optin => vec![setting.clone(), step],
        _ => vec![step],
    };
    let first = (0..4).flat_map(|place| read(reread(place, None, 0, none())));
    let second = (0..3).flat_map(|place| read(reread(place, None, 0, none())));
    let changed = (Received::Unchanged, 0, push(&array(1, &[bulks(&[PLACE])])));
    let two = array(2, &[entry(b"17-1"), entry(b"17-2")]);
    let void = (Received::Unchanged, 2, two.clone());
    // The void read had the place tracked, so that a write is reported before the read from the beginning has it.
    let behind = [read(reread(3, None, 2, two.clone())), read(reread(3, Some(0), 0, none()))];
    [
        vec![setting.clone()],
        first.collect(),
        vec![(Received::Confirmation, 0, b"+PONG\r\n".to_vec())],
        vec![changed.clone()],
        read(reread(3, Some(0), 2, two)),
        vec![changed.clone(), all],
        read(void),
        vec![changed],
        second.collect(),
        behind.concat(),
    ]
    .concat()
}

/// Returns the meaning, for a cache, of a RESP2 message with these keys to its listener.
fn redirected(mode: TrackingMode, keys: &[u8]) -> (Received, Vec<u8>) {
    let delivery = delivery(invalidate(mode), 4);
    let kind = from_delivery(&delivery, false);
    let mut cache = kind.consumer(0);
    cache.redirect_to(77);
    let mut asked = Vec::new();
    cache.ask(&mut asked);
    let first = [&["CLIENT", "TRACKING", "ON", "REDIRECT", "77"][..]].concat();
    assert_eq!(requests(&asked)[0][..5], words(&first));
    let names = bulks(&[b"message", b"__redis__:invalidate"]);
    let message = array(3, &[names, keys.to_vec()]);
    let mut strings = ReplyStrings::new(kind.capture());
    RespDecoder::default().decode_shown(&message, &mut strings).unwrap();
    asked.clear();
    (cache.invalidation(&strings, &mut asked), asked)
}

#[test]
fn a_message_to_a_listener_means_what_a_push_does() {
    let payload = message().to_bytes();
    let both = array(2, &[bulks(&[&payload, &payload])]);
    assert_eq!(redirected(TrackingMode::Bcast, &both).0, Received::Messages(2));
    let foreign = array(1, &[bulks(&[b"somebody's key"])]);
    assert_eq!(redirected(TrackingMode::Bcast, &foreign).0, Received::Foreign);
    for null in ["$-1\r\n", "*-1\r\n", "_\r\n"] {
        assert_eq!(redirected(TrackingMode::Bcast, null.as_bytes()).0, Received::Flush, "{null}");
        let (meaning, asked) = redirected(TrackingMode::Default, null.as_bytes());
        assert_eq!((meaning, requests(&asked).len()), (Received::Flush, 4), "{null}");
    }
}

#[test]
fn a_message_that_overtakes_a_read_waits_for_its_reply() {
    let delivery = delivery(invalidate(TrackingMode::Default), 4);
    let kind = from_delivery(&delivery, false);
    let mut cache = kind.consumer(0);
    cache.redirect_to(77);
    cache.ask(&mut Vec::new());
    let mut strings = ReplyStrings::new(kind.capture());
    let names = bulks(&[b"message", b"__redis__:invalidate"]);
    let message = array(3, &[names, array(1, &[bulks(&[PLACE])])]);
    RespDecoder::default().decode_shown(&message, &mut strings).unwrap();
    let mut asked = Vec::new();
    cache.heard_at(5);
    assert_eq!(cache.invalidation(&strings, &mut asked), Received::Unchanged);
    let nothing = ReplyStrings::default();
    // The setting, and the reads of places 0 to 2.
    for _ in 0..4 {
        cache.answer(Reply::Done, &nothing, &mut asked);
    }
    assert!(asked.is_empty(), "place 3 is being read");
    cache.answer(Reply::Done, &nothing, &mut asked);
    assert_eq!(requests(&asked)[0][0], b"XRANGE");
    cache.answer(Reply::Done, &nothing, &mut asked);
    let again = cache.answer(Reply::Done, &nothing, &mut asked);
    assert_eq!(again, Received::Reread { place: 3, invalidated_ns: Some(5) });
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Returns the requests of a cache during this conversation.
fn asked(mode: TrackingMode) -> Vec<Vec<Vec<u8>>> {
    let delivery = delivery(invalidate(mode), 4);
    let payload = message().to_bytes();
    let conversation = conversation(mode, &payload, "_\r\n");
    let bytes: Vec<u8> = conversation.into_iter().flat_map(|(.., bytes)| bytes).collect();
    requests(&heard(&*from_delivery(&delivery, false), &bytes, 0).1)
}

#[test]
fn a_cache_reads_what_is_new_and_everything_after_a_flush() {
    let place = std::str::from_utf8(PLACE).unwrap();
    let asked = asked(TrackingMode::Default);
    assert_eq!(asked[0], words(&["CLIENT", "TRACKING", "ON", "NOLOOP"]));
    assert_eq!(asked[4], words(&["XRANGE", place, "0-1", "+"]));
    assert_eq!(asked[5], words(&["PING"]));
    assert_eq!(asked[6], words(&["XRANGE", place, "0-1", "+"]), "nothing was there before");
    assert_eq!(asked[7], words(&["XRANGE", place, "17-3", "+"]), "behind what it had");
    assert_eq!(asked[8 + 3], words(&["XRANGE", place, "0-1", "+"]), "from the beginning");
    assert_eq!(asked[12], words(&["XRANGE", place, "17-3", "+"]), "nothing is read twice");
    assert_eq!(asked.len(), 13);
}

#[test]
fn each_mode_asks_for_what_is_to_be_tracked() {
    let names = (0..4).map(|place| format!("keystorm:1:{place:012}")).collect::<Vec<_>>();
    let prefixes = names.iter().flat_map(|name| ["PREFIX", name]);
    let bcast: Vec<&str> = ["BCAST"].into_iter().chain(prefixes).chain(["NOLOOP"]).collect();
    for (mode, expected) in [
        (TrackingMode::Bcast, &bcast[..]),
        (TrackingMode::Default, &["NOLOOP"]),
        (TrackingMode::Optin, &["OPTIN", "NOLOOP"]),
        (TrackingMode::Optout, &["OPTOUT", "NOLOOP"]),
    ] {
        let asked = asked(mode);
        assert_eq!(asked[0], words(&[&["CLIENT", "TRACKING", "ON"], expected].concat()));
        let reads = asked.iter().filter(|words| words[0] == b"XRANGE").count();
        let wanted = asked.iter().filter(|asked| **asked == words(&["CLIENT", "CACHING", "YES"]));
        let of_optin = if mode == TrackingMode::Optin { reads } else { 0 };
        assert_eq!(wanted.count(), of_optin, "{mode:?}");
    }
}
