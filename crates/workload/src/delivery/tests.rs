//! Division of places and threads among receivers.

use super::*;
use crate::StreamAck;

fn delivery(receivers: u32, places: u32, places_each: u32) -> Delivery {
    let kind = DeliveryKind::Pubsub { subscription: Subscription::Channels };
    let prefix = "keystorm:".to_owned();
    Delivery {
        kind,
        receivers,
        threads: 2,
        prefix,
        places,
        places_each,
        at: Vec::new(),
        exchange: None,
        wait: None,
        drain_ns: 0,
        node_receivers: Vec::new(),
    }
}

#[test]
fn receivers_take_places_in_turn() {
    assert_eq!(delivery(5, 2, 1).receivers_by_place(), [3, 2]);
    assert_eq!(delivery(2, 3, 2).receivers_by_place(), [2, 1, 1]);
    assert_eq!(delivery(2, 3, 3).receivers_by_place(), [2, 2, 2]);
    assert_eq!(delivery(2, 3, 2).places_of(1).collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn every_group_takes_all_places() {
    let queue = Queue::Stream { groups: 2, ack: StreamAck::Xack, claim_ns: 0 };
    let kind = DeliveryKind::Queue { queue, count: 1, block_ns: 0 };
    let delivery = Delivery { kind, ..delivery(6, 3, 1) };
    assert_eq!(delivery.receivers_by_place(), [2, 2, 2]);
    let places = |receiver| delivery.places_of(receiver).collect::<Vec<_>>();
    assert_eq!([0, 1, 2, 5].map(places), [[0], [0], [1], [2]]);
}

#[test]
fn shares_have_all_receivers_together_and_places_of_their_own() {
    let whole = delivery(5, 2, 1);
    let shares = [1, 2].map(|index| whole.own(Shard { index, of: 2 }));
    assert_eq!(shares.iter().map(|share| share.receivers).sum::<u32>(), 5);
    assert_ne!(shares[0].place_name(0), shares[1].place_name(0));
    assert_eq!(whole.own(Shard::WHOLE), whole);
}

#[test]
fn messages_between_clients_have_the_places_of_all() {
    let whole = Delivery { exchange: Some(Exchange::default()), ..delivery(5, 3, 2) };
    let shares = [1, 2].map(|index| whole.own(Shard { index, of: 2 }));
    assert_eq!(shares.iter().map(|share| share.receivers).sum::<u32>(), 5);
    assert_eq!(shares[0].place_name(2), shares[1].place_name(2));
    let by_place = shares.each_ref().map(Delivery::receivers_by_place);
    let sums: Vec<u32> = (0..3).map(|place| by_place[0][place] + by_place[1][place]).collect();
    assert_eq!(sums, whole.receivers_by_place());
    for share in shares {
        assert_eq!(share.of_all_clients().receivers_by_place(), sums);
    }
}

#[test]
fn receivers_of_one_place_are_on_one_thread() {
    let delivery = delivery(100, 7, 1);
    for receiver in 0..100 {
        assert_eq!(delivery.thread_of(receiver), delivery.thread_of(receiver % 7));
    }
    let kind = DeliveryKind::Invalidate { tracking: CacheTracking::default() };
    let caches = Delivery { kind, ..delivery };
    assert_eq!([0, 1, 2, 3].map(|receiver| caches.thread_of(receiver)), [0, 1, 0, 1]);
}
