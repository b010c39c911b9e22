//! What every kind of delivery must keep. A new kind is a row in [`KINDS`], with what a server says to its receivers.

use wire::Decode;
use wire::resp::{RespDecoder, Value};
use workload::{Delivery, DeliveryKind, KeyEvent, Message, Purpose};

use super::super::reply_strings::ReplyStrings;
use super::{Kind, Meaning, from_delivery};

const KINDS: [DeliveryKind; 4] = [
    DeliveryKind::Pubsub { patterns: false },
    DeliveryKind::Pubsub { patterns: true },
    notify(KeyEvent::Set),
    notify(KeyEvent::Expired),
];

const fn notify(event: KeyEvent) -> DeliveryKind {
    DeliveryKind::Notify { event, db: 2, ttl_ms: 50, enable: false }
}

const CHANNEL: &[u8] = b"keystorm:1:000000000003";

fn delivery(kind: DeliveryKind, places: u32) -> Delivery {
    let prefix = "keystorm:1:".to_owned();
    Delivery { kind, receivers: 4, threads: 1, prefix, places, places_each: places, drain_ns: 0 }
}

fn message() -> Message {
    Message { purpose: Purpose::Measured, run: 9, sender: 1, number: 77, due_ns: 5, sent_ns: 6 }
}

/// What a server says to receivers of a kind, in RESP2 and RESP3, and how many messages are in it.
fn replies(kind: DeliveryKind) -> Vec<(Meaning, usize, Vec<u8>)> {
    let payload = [&b"filler"[..], &message().to_bytes()].concat();
    match kind {
        DeliveryKind::Pubsub { patterns } => pushes(patterns, &payload),
        DeliveryKind::Notify { .. } => {
            let mut all = pushes(false, &payload);
            all.extend(
                pushes(false, b"somebody's key")
                    .into_iter()
                    .skip(1)
                    .step_by(2)
                    .map(|(_, _, bytes)| (Meaning::Foreign, 0, bytes)),
            );
            all
        }
    }
}

fn pushes(patterns: bool, payload: &[u8]) -> Vec<(Meaning, usize, Vec<u8>)> {
    let (confirmed, strings): (&[u8], Vec<&[u8]>) = match patterns {
        false => (b"subscribe", vec![b"message", CHANNEL, payload]),
        true => (b"psubscribe", vec![b"pmessage", b"keystorm:*", CHANNEL, payload]),
    };
    let mut all = Vec::new();
    for first in ['*', '>'] {
        let mut confirmation = format!("{first}3\r\n").into_bytes();
        confirmation.extend(bulks(&[confirmed, CHANNEL]));
        confirmation.extend_from_slice(b":1\r\n");
        all.push((Meaning::Confirmation, 0, confirmation));
        let mut delivery = format!("{first}{}\r\n", strings.len()).into_bytes();
        delivery.extend(bulks(&strings));
        all.push((Meaning::Messages(1), 1, delivery));
    }
    all
}

fn bulks(strings: &[&[u8]]) -> Vec<u8> {
    let bulk = |string: &&[u8]| {
        let mut bulk = format!("${}\r\n", string.len()).into_bytes();
        bulk.extend_from_slice(string);
        bulk.extend_from_slice(b"\r\n");
        bulk
    };
    strings.iter().flat_map(bulk).collect()
}

/// The requests in some bytes.
fn requests(mut bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut requests = Vec::new();
    while let Some((Value::Array(words), len)) = Value::parse(bytes).unwrap() {
        let word = |word: &Value| match word {
            Value::Bulk(bytes) => bytes.clone(),
            other => panic!("a request is made of strings: {other:?}"),
        };
        requests.push(words.iter().map(word).collect());
        bytes = &bytes[len..];
    }
    assert!(bytes.is_empty(), "requests are whole");
    requests
}

/// A receiver that is ready, and what reads its replies.
fn ready(kind: &dyn Kind) -> (Box<dyn super::Consumer + '_>, ReplyStrings) {
    let mut consumer = kind.consumer(0);
    assert!(consumer.ask(&mut Vec::new()) > 0, "it is confirmed that a receiver waits");
    (consumer, ReplyStrings::new(kind.capture()))
}

#[test]
fn what_receivers_ask_for_is_whole_requests_of_bounded_length() {
    for kind in KINDS {
        for places in [1, 3, 2_500] {
            let delivery = delivery(kind, places);
            let kind = from_delivery(&delivery);
            let mut consumer = kind.consumer(0);
            for _ in 0..2 {
                let mut out = Vec::new();
                let confirmations = consumer.ask(&mut out);
                let requests = requests(&out);
                let channels = match delivery.kind {
                    DeliveryKind::Pubsub { .. } => places,
                    DeliveryKind::Notify { .. } => 1,
                };
                assert!(requests.iter().all(|words| words.len() <= 1_001), "no request is endless");
                let names: usize = requests.iter().map(|words| words.len() - 1).sum();
                assert_eq!((confirmations, names), (channels, channels as usize));
            }
        }
    }
}

#[test]
fn replies_mean_the_same_in_any_pieces() {
    for kind in KINDS {
        let delivery = delivery(kind, 4);
        let kind = from_delivery(&delivery);
        for (meaning, messages, bytes) in replies(delivery.kind) {
            let mut whole = None;
            for at in 0..bytes.len() {
                let (mut consumer, mut strings) = ready(&*kind);
                let mut decoder = RespDecoder::default();
                let mut held = bytes[..at].to_vec();
                let step = decoder.decode_shown(&held, &mut strings).unwrap();
                assert_eq!(step.reply, None, "{at}");
                held.drain(..step.consumed);
                held.extend_from_slice(&bytes[at..]);
                let step = decoder.decode_shown(&held, &mut strings).unwrap();
                let mut next = Vec::new();
                let means = consumer.answer(step.reply.unwrap(), &strings, &mut next);
                assert_eq!(means, meaning, "{at}");
                let had: Vec<_> = strings.messages().iter().map(|had| had.message).collect();
                assert_eq!(had, vec![message(); messages], "{at}");
                requests(&next);
                assert_eq!(whole.get_or_insert(next.clone()), &next, "{at}");
            }
        }
    }
}

#[test]
fn an_error_is_no_message() {
    for kind in KINDS {
        let delivery = delivery(kind, 1);
        let kind = from_delivery(&delivery);
        let (mut consumer, mut strings) = ready(&*kind);
        let mut decoder = RespDecoder::default();
        let step = decoder.decode_shown(b"-NOPERM no\r\n", &mut strings).unwrap();
        let mut next = Vec::new();
        assert_eq!(consumer.answer(step.reply.unwrap(), &strings, &mut next), Meaning::Other);
        assert!(next.is_empty(), "nothing follows");
    }
}
