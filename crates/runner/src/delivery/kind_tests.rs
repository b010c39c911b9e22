//! What every kind of delivery must keep. A new kind is a row in [`KINDS`].

use wire::Decode;
use wire::resp::{RespDecoder, Value};
use workload::{Delivery, DeliveryKind, Message, Purpose};

use super::super::reply_strings::ReplyStrings;
use super::{Meaning, of};

const KINDS: [DeliveryKind; 2] =
    [DeliveryKind::Pubsub { patterns: false }, DeliveryKind::Pubsub { patterns: true }];

fn delivery(kind: DeliveryKind) -> Delivery {
    let prefix = "keystorm:1:".to_owned();
    Delivery { kind, receivers: 4, threads: 1, prefix, places: 4, places_each: 1, drain_ns: 0 }
}

fn message() -> Message {
    Message { purpose: Purpose::Measured, run: 9, sender: 1, number: 77, due_ns: 5, sent_ns: 6 }
}

/// What a server says to receivers of a kind, in RESP2 and RESP3: confirmations and one message.
fn replies(kind: DeliveryKind) -> Vec<(Meaning, Vec<u8>)> {
    let payload = [&b"filler"[..], &message().to_bytes()].concat();
    let DeliveryKind::Pubsub { patterns } = kind;
    let channel = b"keystorm:1:000000000003".to_vec();
    let (confirmed, told): (&[u8], Vec<&[u8]>) = match patterns {
        false => (b"subscribe", vec![b"message", &channel, &payload]),
        true => (b"psubscribe", vec![b"pmessage", b"keystorm:*", &channel, &payload]),
    };
    let mut all = Vec::new();
    for first in ['*', '>'] {
        let mut confirmation = format!("{first}3\r\n").into_bytes();
        confirmation.extend(bulks(&[confirmed, &channel]));
        confirmation.extend_from_slice(b":1\r\n");
        all.push((Meaning::Confirmation, confirmation));
        let mut delivery = format!("{first}{}\r\n", told.len()).into_bytes();
        delivery.extend(bulks(&told));
        all.push((Meaning::Message, delivery));
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

#[test]
fn what_receivers_ask_for_is_whole_requests_with_as_many_confirmations_as_names() {
    for kind in KINDS.map(delivery) {
        let kind = of(&kind);
        for places in [1, 3, 2_500] {
            let mut out = Vec::new();
            let confirmations = kind.ask(&mut (0..places), &mut out);
            let requests = requests(&out);
            assert!(requests.iter().all(|words| words.len() <= 1_001), "no request is endless");
            let names: usize = requests.iter().map(|words| words.len() - 1).sum();
            assert_eq!((confirmations, names), (places, places as usize));
        }
    }
}

#[test]
fn what_is_sent_ends_in_its_message() {
    for kind in KINDS.map(delivery) {
        let kind = of(&kind);
        let mut out = Vec::new();
        kind.send(3, message(), &mut out);
        let requests = requests(&out);
        assert_eq!(requests.len(), 1);
        let payload = requests[0].last().unwrap();
        assert_eq!(payload.as_slice(), message().to_bytes());
        assert!(requests[0].contains(&b"keystorm:1:000000000003".to_vec()));
    }
}

#[test]
fn replies_mean_the_same_in_any_pieces() {
    for kind in KINDS {
        let delivery = delivery(kind);
        let of_kind = of(&delivery);
        for (meaning, bytes) in replies(kind) {
            for at in 0..bytes.len() {
                let (mut decoder, mut strings) = (RespDecoder::default(), ReplyStrings::default());
                let mut held = bytes[..at].to_vec();
                let step = decoder.decode_shown(&held, &mut strings).unwrap();
                assert_eq!(step.reply, None, "{at}");
                held.drain(..step.consumed);
                held.extend_from_slice(&bytes[at..]);
                let step = decoder.decode_shown(&held, &mut strings).unwrap();
                assert_eq!(of_kind.meaning(step.reply.unwrap(), &strings), meaning, "{at}");
                let is_message = meaning == Meaning::Message;
                assert_eq!(strings.message(), is_message.then(message), "{at}");
            }
        }
    }
}

#[test]
fn an_error_is_no_message() {
    for kind in KINDS.map(delivery) {
        let kind = of(&kind);
        let mut strings = ReplyStrings::default();
        let mut decoder = RespDecoder::default();
        let step = decoder.decode_shown(b"-NOPERM no\r\n", &mut strings).unwrap();
        assert_eq!(kind.meaning(step.reply.unwrap(), &strings), Meaning::Other);
    }
}
