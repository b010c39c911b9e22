//! Cases of mixes, and of memtier_benchmark's own command line.

use super::{BASE, Base, Case, CaseServer, MixPart};

pub(super) const CASES: &[Case] = &[
    MIX,
    Case { name: "mix-p16", title: "mix, P16", requests: 1_000_000, pipeline: 16, ..MIX },
    MEMTIER,
    Case {
        name: "memtier-p16",
        title: "memtier's words, P16",
        requests: 2_000_000,
        pipeline: 16,
        cpu_most: 0.50,
        ..MEMTIER
    },
];

/// A command line of memtier_benchmark, carried out by both; and beside it the line of keystorm's own words
/// that `--as keystorm` prints for it, except for requests that connections do not count for themselves.
const MEMTIER: Case = Case {
    name: "memtier",
    title: "memtier's words, P1",
    requests: 300_000,
    args: "",
    base: Base::Fixed(&[MixPart {
        percent: 100,
        args: "--window rolling --threads 1 -r 1000001 --set=unpadded --mix --set=order=turns -- 1 SET memtier-__rand_int__ xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ; 10 GET memtier-__rand_int__",
    }]),
    of: CaseServer::Memtier("--key-maximum=1000000"),
    cpu_most: 0.60,
    rate_least: 1.0,
    ..BASE
};

/// Nine reads to one write of values of many sizes, over hot keys. The keys that are read do not exist: otherwise the
/// bytes of replies would be the most of it, and differ with the keys that happen to be hot.
const MIX: Case = Case {
    name: "mix",
    title: "mix, P1",
    requests: 250_000,
    args: "--mix -r 10000000 --key-dist zipf -d uniform:100..4k -- 9 get read:__key__ ; 1 set key:__key__ __data__",
    base: Base::Fixed(&[
        MixPart { percent: 90, args: "-r 10000000 get read:__rand_int__" },
        MixPart { percent: 10, args: "-r 10000000 -d 2050 set key:__rand_int__ __data__" },
    ]),
    of: CaseServer::RedisMix(
        "--ratio=1:9 --data-size-range=100-4000 --key-prefix=key:000000 --key-maximum=10000000 --key-pattern=R:Z --key-zipf-exp=0.99",
    ),
    cpu_most: 0.60,
    rate_least: 1.0,
    ..BASE
};
