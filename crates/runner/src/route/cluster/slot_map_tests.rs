use super::*;

fn node(port: u16, role: Role, slots: std::ops::RangeInclusive<u16>) -> Node {
    let address = Some(SocketAddr::from(([127, 0, 0, 1], port)));
    let host = "127.0.0.1".to_owned();
    let hostname = None;
    Node { id: String::new(), host, hostname, port, address, role, slots: vec![slots] }
}

fn topology() -> Topology {
    let replica = Role::Replica { of: 0 };
    Topology {
        nodes: vec![
            node(1, Role::Master, 0..=8191),
            node(2, Role::Master, 8192..=16383),
            node(3, replica, 0..=8191),
            node(4, replica, 0..=8191),
        ],
    }
}

fn reading(read_from: ReadFrom) -> ClusterOptions {
    ClusterOptions { read_from, ..ClusterOptions::default() }
}

#[test]
fn writes_go_to_the_owner_and_keyless_commands_round() {
    let mut map = SlotMap::new(&topology(), reading(ReadFrom::All), [true, true]);
    assert_eq!(map.route(Some(8191), false), 0);
    assert_eq!(map.route(Some(8192), false), 1);
    let round: Vec<u16> = (0..4).map(|_| map.route(None, false)).collect();
    assert_eq!(round, [1, 0, 1, 0]);
    let mut map = SlotMap::new(&topology(), reading(ReadFrom::Replicas), [true, true]);
    let round: Vec<u16> = (0..4).map(|_| map.route(None, true)).collect();
    assert_eq!(round, [1, 3, 1, 2], "reads go where reads go, which may be all there are");
}

#[test]
fn reads_go_where_they_are_asked_to() {
    let reads = |read_from, slot| {
        let mut map = SlotMap::new(&topology(), reading(read_from), [true, true]);
        let mut nodes: Vec<u16> = (0..6).map(|_| map.route(Some(slot), true)).collect();
        nodes.sort_unstable();
        nodes
    };
    assert_eq!(reads(ReadFrom::Masters, 0), [0; 6]);
    assert_eq!(reads(ReadFrom::Replicas, 0), [2, 2, 2, 3, 3, 3]);
    assert_eq!(reads(ReadFrom::All, 0), [0, 0, 2, 2, 3, 3]);
    assert_eq!(reads(ReadFrom::Replicas, 9000), [1; 6], "it has no replica");
}

#[test]
fn so_many_replicas_are_read_from_as_are_asked_for() {
    let options = ClusterOptions { replicas_max: Some(1), ..reading(ReadFrom::Replicas) };
    let mut map = SlotMap::new(&topology(), options, [false, true]);
    assert!((0..5).all(|_| map.route(Some(0), true) == 2));
    assert_eq!(map.used(), [1, 2], "the primary that has none, and one replica of the other");
}

#[test]
fn reads_wait_for_a_replica_that_was_there() {
    let options =
        ClusterOptions { without_replica: ReplicaFallback::Wait, ..reading(ReadFrom::Replicas) };
    let mut map = SlotMap::new(&topology(), options, [false, true]);
    let alone = Topology { nodes: topology().nodes[..2].to_vec() };
    map.apply(&alone);
    assert_eq!(map.route(Some(0), true), 3);
    assert!(!map.is_used(0), "its primary answers no reads");
    let mut back = topology();
    back.nodes.truncate(3);
    map.apply(&back);
    assert_eq!(map.route(Some(0), true), 2);
}

#[test]
fn whoever_answers_soonest_is_asked() {
    let mut map = SlotMap::new(&topology(), reading(ReadFrom::Nearest), [true, true]);
    for _ in 0..1000 {
        let node = map.route(Some(0), true);
        map.answered(node, if node == 3 { 50_000 } else { 90_000 });
    }
    let mut asked = [0; 4];
    for _ in 0..1000 {
        asked[usize::from(map.route(Some(0), true))] += 1;
    }
    assert!(asked[3] > 950 && asked[0] > 0 && asked[2] > 0 && asked[1] == 0, "{asked:?}");
    for _ in 0..1000 {
        let node = map.route(Some(0), true);
        map.answered(node, if node == 0 { 20_000 } else { 90_000 });
    }
    assert!((0..50).filter(|_| map.route(Some(0), true) == 0).count() > 45);
}

#[test]
fn a_moved_slot_counts_at_once_and_nodes_keep_their_numbers() {
    let mut map = SlotMap::new(&topology(), reading(ReadFrom::Masters), [true, false]);
    assert!(!map.moved(5, 1));
    assert_eq!(map.route(Some(5), false), 1);
    assert_eq!((map.role(0), map.role(1)), ((true, 8191), (true, 8193)));
    let new = map.find("127.0.0.1", 9, 0).unwrap();
    assert!(map.moved(5, new), "a node that owned nothing");
    assert!(map.is_used(new));
    let failed_over = Topology {
        nodes: vec![
            node(2, Role::Master, 8192..=16383),
            node(3, Role::Master, 0..=8191),
            node(4, Role::Replica { of: 1 }, 0..=8191),
        ],
    };
    map.apply(&failed_over);
    assert_eq!(map.route(Some(5), false), 2);
    assert!(!map.is_used(0) && map.is_used(1) && map.is_used(2));
    assert_eq!(map.role(3), (false, 8192));
}

#[test]
fn nodes_are_found_by_what_a_node_says() {
    let mut map = SlotMap::new(&topology(), reading(ReadFrom::Masters), [true, false]);
    assert_eq!(map.find("127.0.0.1", 2, 0), Some(1));
    assert_eq!(map.find("", 2, 0), Some(1));
    assert_eq!(map.find("", 77, 0), Some(4));
    assert_eq!(map.find("127.0.0.1", 77, 1), Some(4));
    assert_eq!(map.find("somewhere.example", 77, 1), None);
}
