//! The cases of the benchmark against the tools that they are for.

use super::*;
use std::collections::HashSet;

#[test]
fn names_are_different_and_targets_in_their_places() {
    let names: HashSet<_> = all().map(|c| c.name).collect();
    assert_eq!(names.len(), all().count());
    for case in all() {
        assert!(case.cpu_most < 1.0 && case.rate_least >= 1.0, "{case:?}");
    }
}

#[test]
fn memcached_is_filled_with_every_key_that_is_drawn() {
    /// Counts what is written, and answers each item.
    #[derive(Default)]
    struct Items {
        written: usize,
        read: usize,
    }
    impl Read for &mut Items {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            for byte in into.iter_mut() {
                *byte = STORED[self.read % STORED.len()];
                self.read += 1;
            }
            Ok(into.len())
        }
    }
    impl Write for &mut Items {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.written += bytes.iter().filter(|byte| **byte == b's').count();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut items = Items::default();
    MEMCACHED_GET.fill_memcached(&mut items).unwrap();
    assert_eq!((items.written, items.read), (ITEMS as usize, ITEMS as usize * STORED.len()));
    let reply = format!("VALUE key:{:012} 0 100\r\n{}\r\nEND\r\n", 7, "x".repeat(100));
    let Base::Bare(bare) = MEMCACHED_GET.base else { panic!("it is held against the bare loop") };
    assert_eq!(reply.len(), bare.reply_bytes);
}

#[test]
fn both_tools_send_whole_pipelines_on_every_connection() {
    for case in all() {
        for scale in [1e-9, 0.013, 1.0, 3.7] {
            let requests = case.requests_scaled(scale);
            assert_eq!(requests % u64::from(case.pipeline), 0);
            assert!(requests >= u64::from(case.connections));
        }
    }
}

#[test]
fn a_large_value_comes_as_long_as_the_bare_loop_waits_for() {
    for (name, value) in [("get-64k", 65_536usize), ("get-1m", 1_048_576), ("get-64m", 67_108_864)]
    {
        let case = all().find(|case| case.name == name).unwrap();
        let Base::Bare(bare) = case.base else { panic!("{name} is held against the bare loop") };
        assert_eq!(bare.reply_bytes, format!("${value}\r\n").len() + value + 2, "{name}");
    }
}
