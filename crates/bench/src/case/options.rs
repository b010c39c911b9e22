//! Cases of options that measure more: keystorm with the option beside keystorm without.

use super::{BASE, Base, Case, CaseServer, Data, MixPart};

/// A load of reads that find a value, and the words that ask for more to be measured.
const fn read(name: &'static str, title: &'static str, args: &'static str) -> Case {
    Case {
        name,
        title,
        args,
        base: Base::Fixed(&[MixPart { percent: 100, args: "-r 1000000 -t get" }]),
        data: Data::Keys,
        of: CaseServer::Alone,
        above_base_most: 1.05,
        ..BASE
    }
}

const fn pipelined(of: Case, name: &'static str, title: &'static str) -> Case {
    Case { name, title, requests: 3_200_000, pipeline: 16, ..of }
}

const STAMPS: Case = read("stamps", "--kernel-stamps, P1", "--kernel-stamps -r 1000000 -t get");
const DEADLINE: Case = read("deadline", "--deadline, P1", "--deadline 1s -r 1000000 -t get");
const TRACKING: Case =
    read("tracking", "--enable-tracking, P1", "--enable-tracking -r 1000000 -t get");
const VERIFY: Case = Case {
    base: Base::Fixed(&[MixPart {
        percent: 100,
        args: "-r 1000 set key:__key__ __data__ ; get key:__key__",
    }]),
    data: Data::Nothing,
    ..read("verify", "--verify, P1", "--verify -r 1000 set key:__key__ __data__ ; get key:__key__")
};

pub(super) const CASES: &[Case] = &[
    STAMPS,
    pipelined(STAMPS, "stamps-p16", "--kernel-stamps, P16"),
    DEADLINE,
    pipelined(DEADLINE, "deadline-p16", "--deadline, P16"),
    TRACKING,
    pipelined(TRACKING, "tracking-p16", "--enable-tracking, P16"),
    VERIFY,
    pipelined(VERIFY, "verify-p16", "--verify, P16"),
];
