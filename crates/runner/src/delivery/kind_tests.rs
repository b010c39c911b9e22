//! Requirements for every kind of delivery. A new kind is a row in [`KINDS`], with the server's replies to
//! its receivers.

use wire::resp::{RespDecoder, Value};
use wire::{Decode, Reply};
use workload::{
    Delivery, DeliveryKind, KeyEvent, ListPop, ListPush, Message, Purpose, Queue, SortedSetPop,
    StreamAck, Subscription, TrackingMode,
};

use super::super::kind::{Kind, Received};
use super::super::reply_strings::ReplyStrings;
use super::from_delivery;
use cache_replies::invalidate;

#[path = "cache_replies_tests.rs"]
mod cache_replies;

const KINDS: [DeliveryKind; 20] = [
    invalidate(TrackingMode::Bcast),
    invalidate(TrackingMode::Default),
    invalidate(TrackingMode::Optin),
    invalidate(TrackingMode::Optout),
    DeliveryKind::Replica,
    pubsub(Subscription::Channels),
    pubsub(Subscription::Patterns),
    pubsub(Subscription::Shards),
    notify(KeyEvent::Set),
    notify(KeyEvent::Expired),
    list(ListPop::Brpop, 1),
    list(ListPop::Blmove, 1),
    list(ListPop::Blmpop, 8),
    list(ListPop::Rpop, 1),
    sorted_set(SortedSetPop::Bzpopmin, 1),
    sorted_set(SortedSetPop::Bzmpop, 8),
    stream(0, StreamAck::Xack, 0),
    stream(2, StreamAck::Xack, 0),
    stream(1, StreamAck::Xackdel, 1_000_000),
    stream(1, StreamAck::Noack, 0),
];

const fn pubsub(subscription: Subscription) -> DeliveryKind {
    DeliveryKind::Pubsub { subscription }
}

const fn notify(event: KeyEvent) -> DeliveryKind {
    DeliveryKind::Notify { event, db: 2, ttl_ms: 50, enable: false }
}

const fn list(pop: ListPop, count: u32) -> DeliveryKind {
    let queue = Queue::List { push: ListPush::Lpush, pop };
    DeliveryKind::Queue { queue, count, block_ns: 0 }
}

const fn sorted_set(pop: SortedSetPop, count: u32) -> DeliveryKind {
    let queue = Queue::SortedSet { pop, mixed: false };
    DeliveryKind::Queue { queue, count, block_ns: 100_000_000 }
}

const fn stream(groups: u32, ack: StreamAck, claim_ns: u64) -> DeliveryKind {
    let queue = Queue::Stream { groups, ack, claim_ns };
    DeliveryKind::Queue { queue, count: 10, block_ns: 0 }
}

/// A place that every receiver here has.
const PLACE: &[u8] = b"keystorm:1:000000000003";

fn delivery(kind: DeliveryKind, places: u32) -> Delivery {
    let prefix = "keystorm:1:".to_owned();
    Delivery {
        kind,
        receivers: 4,
        threads: 1,
        prefix,
        places,
        places_each: places,
        at: Vec::new(),
        exchange: None,
        wait: None,
        drain_ns: 0,
        node_receivers: Vec::new(),
    }
}

fn message() -> Message {
    Message { purpose: Purpose::Measured, run: 9, sender: 1, number: 77, due_ns: 5, sent_ns: 6 }
}

/// Replies of a server to one receiver, in order, each with its meaning and its number of messages.
type Conversation = Vec<Step>;

/// A reply: its meaning, its number of messages, and its bytes.
type Step = (Received, usize, Vec<u8>);

const SETTLED: Received = Received::Settled { missing: 0 };

/// Returns what a server may say to a receiver of 4 places, in RESP2 and RESP3.
fn conversations(kind: DeliveryKind) -> Vec<Conversation> {
    let payload = [&b"filler"[..], &message().to_bytes()].concat();
    [false, true].map(|resp3| conversation(kind, &payload, resp3)).to_vec()
}

/// A reply with this many messages.
fn messages(count: u32, bytes: Vec<u8>) -> Step {
    (Received::Messages(count), count as usize, bytes)
}

fn conversation(kind: DeliveryKind, payload: &[u8], resp3: bool) -> Conversation {
    let nil = if resp3 { "_\r\n" } else { "*-1\r\n" };
    let pong = (Received::Confirmation, 0, b"+PONG\r\n".to_vec());
    let timed_out = (Received::TimedOut, 0, nil.as_bytes().to_vec());
    let unblocked = (Received::Unblocked, 0, b"-UNBLOCKED it was ended\r\n".to_vec());
    let ends = [timed_out, unblocked];
    match kind {
        DeliveryKind::Pubsub { subscription, .. } => pushes(subscription, payload, resp3),
        DeliveryKind::Invalidate { tracking } => {
            cache_replies::conversation(tracking.mode, payload, nil)
        }
        DeliveryKind::Replica => read_at_a_replica(payload, resp3),
        DeliveryKind::Notify { .. } => {
            let foreign = pushes(Subscription::Channels, b"somebody's key", resp3).swap_remove(1).2;
            [pushes(Subscription::Channels, payload, resp3), vec![(Received::Foreign, 0, foreign)]]
                .concat()
        }
        DeliveryKind::Queue { queue, .. } => match queue {
            Queue::List { pop, .. } => from_lists(pop, payload, resp3, (pong, ends)),
            Queue::SortedSet { pop, .. } => {
                let score = if resp3 { b",0\r\n".to_vec() } else { bulks(&[b"0"]) };
                let member = [bulks(&[payload]), score];
                let message = if pop == SortedSetPop::Bzmpop {
                    let members = array(2, &[array(2, &member), array(2, &member)]);
                    messages(2, array(2, &[bulks(&[PLACE]), members]))
                } else {
                    messages(1, array(3, &[bulks(&[PLACE]), member.concat()]))
                };
                [&[pong, message.clone()][..], &ends, &[message]].concat()
            }
            Queue::Stream { groups, ack, claim_ns } => {
                let message = messages(3, entries(payload, resp3));
                match groups {
                    0 => [&[pong, message.clone()][..], &ends, &[message]].concat(),
                    _ => group(ack, claim_ns, payload, (pong, message, ends)),
                }
            }
        },
    }
}

fn from_lists(
    pop: ListPop,
    payload: &[u8],
    resp3: bool,
    (pong, ends): (Step, [Step; 2]),
) -> Conversation {
    match pop {
        ListPop::Blmove => {
            let removed = |missing, number: &str| {
                (Received::Settled { missing }, 0, number.as_bytes().to_vec())
            };
            let message = messages(1, bulks(&[payload]));
            let before = [removed(0, "$-1\r\n"), pong, message.clone(), removed(0, ":1\r\n")];
            [&before[..], &[message, removed(1, ":0\r\n")], &ends].concat()
        }
        ListPop::Lpop | ListPop::Rpop => {
            let nil = if resp3 { "_\r\n" } else { "$-1\r\n" };
            let none = |meaning| (meaning, 0, nil.as_bytes().to_vec());
            let message = messages(1, bulks(&[payload]));
            let empty = [none(SETTLED), none(SETTLED), none(SETTLED), none(Received::Empty)];
            [&[pong, message.clone(), none(SETTLED), message][..], &empty].concat()
        }
        ListPop::Blmpop => {
            let message = array(2, &[bulks(&[PLACE]), array(2, &[bulks(&[payload, payload])])]);
            [&[pong, messages(2, message)][..], &ends].concat()
        }
        ListPop::Brpop | ListPop::Blpop => {
            let message = messages(1, array(2, &[bulks(&[PLACE, payload])]));
            [&[pong, message.clone()][..], &ends, &[message]].concat()
        }
    }
}

fn read_at_a_replica(payload: &[u8], resp3: bool) -> Conversation {
    let nil = if resp3 { "_\r\n" } else { "$-1\r\n" };
    let nil = |meaning| (meaning, 0, nil.as_bytes().to_vec());
    vec![
        nil(Received::Confirmation),
        nil(Received::Unchanged),
        messages(1, bulks(&[payload])),
        (Received::Unchanged, 1, bulks(&[payload])),
        (Received::Messages(1), 0, bulks(&[b"no message"])),
    ]
}

/// Conversation of a consumer of a group: it makes groups, claims, reads and acknowledges.
fn group(
    ack: StreamAck,
    claim_ns: u64,
    payload: &[u8],
    (pong, message, [timed_out, unblocked]): (Step, Step, [Step; 2]),
) -> Conversation {
    let made = (SETTLED, 0, b"+OK\r\n".to_vec());
    let there = (SETTLED, 0, b"-BUSYGROUP there is one\r\n".to_vec());
    let claimed_entry = array(2, &[bulks(&[b"5-1"]), array(2, &[bulks(&[b"m", payload])])]);
    let claimed = array(3, &[bulks(&[b"0-0"]), array(1, &[claimed_entry]), array(0, &[])]);
    let claimed = (Received::Messages(1), 1, claimed);
    // One command acknowledges what came of one stream.
    let settled: Conversation = match ack {
        StreamAck::Noack => Vec::new(),
        StreamAck::Xack => [":2\r\n", ":0\r\n"]
            .map(|text| {
                (Received::Settled { missing: u32::from(text == ":0\r\n") }, 0, text.into())
            })
            .to_vec(),
        StreamAck::Xackdel => [":1\r\n:1\r\n", ":-1\r\n"]
            .map(|text| {
                let missing = u32::from(text.contains('-'));
                let count = text.matches(':').count();
                (Received::Settled { missing }, 0, array(count, &[text.into()]))
            })
            .to_vec(),
    };
    let claims = if claim_ns > 0 { vec![claimed.clone(); 4] } else { Vec::new() };
    let claims_settled = match (claim_ns, ack) {
        (0, _) => Vec::new(),
        _ => vec![(SETTLED, 0, array(1, &[b":1\r\n".to_vec()])); 4],
    };
    let gone = (Received::Unblocked, 0, b"-NOGROUP none\r\n".to_vec());
    [
        &[made.clone(), there.clone(), made.clone(), made.clone(), pong][..],
        &claims,
        std::slice::from_ref(&message),
        &claims_settled,
        &settled,
        &[gone],
        &vec![made.clone(); 4],
        &[unblocked],
        &vec![there; 4],
        &[timed_out],
        &claims,
        std::slice::from_ref(&message),
    ]
    .concat()
}

/// Two entries of one stream and one of another.
fn entries(payload: &[u8], resp3: bool) -> Vec<u8> {
    let entry = |id: &[u8]| array(2, &[bulks(&[id]), array(2, &[bulks(&[b"m", payload])])]);
    let first = [bulks(&[PLACE]), array(2, &[entry(b"17-1"), entry(b"17-2")])].concat();
    let second = [bulks(&[b"keystorm:1:000000000001"]), array(1, &[entry(b"18-0")])].concat();
    if resp3 {
        [&b"%2\r\n"[..], &first, &second].concat()
    } else {
        array(2, &[array(2, &[first]), array(2, &[second])])
    }
}

/// An array of `count` elements with these bytes.
fn array(count: usize, parts: &[Vec<u8>]) -> Vec<u8> {
    [format!("*{count}\r\n").into_bytes(), parts.concat()].concat()
}

fn pushes(subscription: Subscription, payload: &[u8], resp3: bool) -> Conversation {
    let (confirmed, strings): (&[u8], Vec<&[u8]>) = match subscription {
        Subscription::Channels => (b"subscribe", vec![b"message", PLACE, payload]),
        Subscription::Shards => (b"ssubscribe", vec![b"smessage", PLACE, payload]),
        Subscription::Patterns => (b"psubscribe", vec![b"pmessage", b"keystorm:*", PLACE, payload]),
    };
    let first = if resp3 { '>' } else { '*' };
    let mut confirmation = format!("{first}3\r\n").into_bytes();
    confirmation.extend(bulks(&[confirmed, PLACE]));
    confirmation.extend_from_slice(b":1\r\n");
    let mut delivery = format!("{first}{}\r\n", strings.len()).into_bytes();
    delivery.extend(bulks(&strings));
    vec![(Received::Confirmation, 0, confirmation), (Received::Messages(1), 1, delivery)]
}

fn bulks(strings: &[&[u8]]) -> Vec<u8> {
    let bulks = strings.iter().flat_map(|string| {
        let mut bulk = format!("${}\r\n", string.len()).into_bytes();
        bulk.extend_from_slice(string);
        bulk.extend_from_slice(b"\r\n");
        bulk
    });
    bulks.collect()
}

/// The requests in some bytes.
fn requests(mut bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut requests = Vec::new();
    while let Some((Value::Array(words), len)) = Value::parse(bytes).unwrap() {
        let words = words.iter().map(|word| match word {
            Value::Bulk(bytes) => bytes.clone(),
            other => panic!("a request is made of strings: {other:?}"),
        });
        requests.push(words.collect());
        bytes = &bytes[len..];
    }
    assert!(bytes.is_empty(), "requests are whole");
    requests
}

/// Returns a receiver's reading of a reply stream in two pieces: the meaning of each reply with its messages,
/// and all its requests.
fn heard(kind: &dyn Kind, bytes: &[u8], at: usize) -> (Vec<(Received, usize)>, Vec<u8>) {
    let mut consumer = kind.consumer(0);
    let (mut asked, mut meanings) = (Vec::new(), Vec::new());
    assert!(consumer.ask(&mut asked) > 0, "it is confirmed that a receiver waits");
    let (mut strings, mut decoder) = (ReplyStrings::new(kind.capture()), RespDecoder::default());
    let mut held = Vec::new();
    for piece in [&bytes[..at], &bytes[at..]] {
        held.extend_from_slice(piece);
        loop {
            let step = decoder.decode_shown(&held, &mut strings).unwrap();
            let Some(reply) = step.reply else {
                held.drain(..step.consumed);
                break;
            };
            let meaning = consumer.answer(reply, &strings, &mut asked);
            let had = strings.messages();
            assert!(had.iter().all(|had| had.message == message()));
            meanings.push((meaning, had.len()));
            strings.clear();
            held.drain(..step.consumed);
        }
    }
    assert!(held.is_empty());
    (meanings, asked)
}

#[test]
fn what_receivers_ask_for_is_whole_requests_and_confirmed() {
    for kind in KINDS {
        for places in [1, 3, 2_500] {
            let delivery = delivery(kind, places);
            let kind = from_delivery(&delivery, false);
            let mut consumer = kind.consumer(0);
            for _ in 0..2 {
                let mut out = Vec::new();
                let confirmations = consumer.ask(&mut out);
                let requests = requests(&out);
                let pings = requests.iter().filter(|words| words[0] == b"PING").count();
                let channels = match delivery.kind {
                    DeliveryKind::Pubsub { .. } => places,
                    DeliveryKind::Notify { .. } => 1,
                    DeliveryKind::Invalidate { .. } => {
                        assert_eq!(confirmations, 1);
                        continue;
                    }
                    DeliveryKind::Replica => {
                        assert_eq!((confirmations, requests.len()), (1, places as usize));
                        continue;
                    }
                    _ => {
                        assert_eq!((confirmations, pings), (1, 1), "of what stands before it");
                        continue;
                    }
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
        let of_kind = from_delivery(&delivery, false);
        for conversation in conversations(kind) {
            let bytes: Vec<u8> =
                conversation.iter().flat_map(|(.., description)| description.clone()).collect();
            let meant: Vec<_> = conversation.iter().map(|(means, had, _)| (*means, *had)).collect();
            let whole = heard(&*of_kind, &bytes, 0);
            assert_eq!(whole.0, meant, "{kind:?}");
            let asked = requests(&whole.1);
            for at in 1..bytes.len() {
                assert_eq!(heard(&*of_kind, &bytes, at), whole, "{kind:?} at {at}");
            }
            let pauses = of_kind.pause_ns().is_some();
            if kind.keeps_messages() && !pauses {
                assert!(asked.len() > conversation.len(), "something is asked for at any time");
            }
        }
    }
}

#[test]
fn an_acknowledgement_names_what_came() {
    let delivery = delivery(stream(1, StreamAck::Xack, 0), 4);
    let conversation = &conversations(delivery.kind)[0];
    let bytes: Vec<u8> =
        conversation[..6].iter().flat_map(|(.., conversation)| conversation.clone()).collect();
    let asked = requests(&heard(&*from_delivery(&delivery, false), &bytes, 0).1);
    let words =
        |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
    let place = std::str::from_utf8(PLACE).unwrap();
    assert!(asked.contains(&words(&["XACK", place, "group-0", "17-1", "17-2"])), "{asked:?}");
    assert!(asked.contains(&words(&["XACK", "keystorm:1:000000000001", "group-0", "18-0"])));
    let delivery = Delivery { kind: list(ListPop::Blmove, 1), places_each: 1, ..delivery };
    let conversation = &conversations(delivery.kind)[0];
    let bytes: Vec<u8> =
        conversation[..3].iter().flat_map(|(.., conversation)| conversation.clone()).collect();
    let asked = requests(&heard(&*from_delivery(&delivery, false), &bytes, 0).1);
    let removal = asked.iter().find(|words| words[0] == b"LREM").unwrap();
    assert_eq!(removal[3], [&b"filler"[..], &message().to_bytes()].concat());
}

#[test]
fn one_that_found_nothing_asks_again_when_it_is_let() {
    let delivery = delivery(list(ListPop::Rpop, 1), 1);
    let kind = from_delivery(&delivery, false);
    let mut consumer = kind.consumer(0);
    let (mut asked, strings) = (Vec::new(), ReplyStrings::new(kind.capture()));
    consumer.ask(&mut asked);
    asked.clear();
    consumer.answer(Reply::Done, &strings, &mut asked);
    assert_eq!(consumer.answer(Reply::Miss, &strings, &mut asked), Received::Empty);
    assert!(asked.is_empty() && consumer.is_settled());
    consumer.resume(&mut asked);
    let words = ["RPOP", "keystorm:1:000000000000"].map(|word| word.as_bytes().to_vec());
    assert_eq!(requests(&asked), [words]);
}

#[test]
fn a_reader_goes_on_behind_what_it_had() {
    let delivery = delivery(stream(0, StreamAck::Xack, 0), 4);
    let conversation = &conversations(delivery.kind)[0];
    let bytes: Vec<u8> =
        conversation[..2].iter().flat_map(|(.., conversation)| conversation.clone()).collect();
    let asked = requests(&heard(&*from_delivery(&delivery, false), &bytes, 0).1);
    let ids = |words: &[Vec<u8>]| words[words.len() - 4..].to_vec();
    assert_eq!(ids(&asked[1]), ["0-0"; 4].map(|id| id.as_bytes().to_vec()));
    let expected = ["0-0", "18-0", "0-0", "17-2"].map(|id| id.as_bytes().to_vec());
    assert_eq!(ids(&asked[2]), expected);
}

#[test]
fn an_error_is_no_message() {
    for kind in KINDS {
        let delivery = delivery(kind, 1);
        let of_kind = from_delivery(&delivery, false);
        let (meanings, asked) = heard(&*of_kind, b"-NOPERM no\r\n", 0);
        assert_eq!(meanings, [(Received::Other, 0)]);
        let mut first = Vec::new();
        of_kind.consumer(0).ask(&mut first);
        assert_eq!(asked, first, "nothing follows");
    }
}
