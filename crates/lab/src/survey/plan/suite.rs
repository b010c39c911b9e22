//! The chapter of redis-benchmark's suite, and steps that remove elements filled before.

use spec::LoadSpec;

use super::{Chapter, Loads, SurveyStep};

/// Tests that remove existing elements, and the test that adds them, one for each request.
const TAKES: [(&str, &str); 4] = [
    ("lpop", "lpush mylist __key__"),
    ("rpop", "rpush mylist __key__"),
    ("spop", "sadd myset element:__key__"),
    ("zpopmin", "zadd myzset __key__ element:__key__"),
];
/// The tests of the suite in order, cut before each test that removes elements.
const WHOLE_SUITE: [&str; 9] = [
    "ping,set,get,incr,lpush,rpush",
    "lpop",
    "rpop",
    "sadd,hset",
    "spop",
    "zadd",
    "zpopmin",
    "lrange,mset,mget,xadd",
    "function_load,fcall",
];
const QUICK_SUITE: [&str; 3] =
    ["ping_mbulk,set,get,incr,lpush", "rpop", "sadd,hset,zadd,lrange_100,mset"];
/// Tests of memcached's suite, in which every test finds the keys that it reads.
const MEMCACHED_SUITE: [&str; 1] = ["set,get,add,replace,append,incr,touch,gat,delete"];
const MEMCACHED_QUICK_SUITE: [&str; 1] = ["set,get,incr"];
/// Number of tests in Redis's suite, for estimates of a survey's length. `lrange_100` needs one that is not
/// named.
const TESTS: usize = 24;
const QUICK_TESTS: usize = 12;

impl Chapter {
    /// Approximate number of runs: a step of the suite has several.
    pub(super) fn runs(&self, quick: bool) -> usize {
        match self.key {
            "suite" if quick => QUICK_TESTS,
            "suite" => TESTS,
            _ => self.steps.len(),
        }
    }
}

impl Loads<'_> {
    /// Returns whether each request has its own key, as in a cluster, so that its content is unknown.
    pub(super) fn has_tags(&self) -> bool {
        self.spec.server.server.cluster
    }

    /// A step that runs tests of the suite on existing elements.
    pub(super) fn step(&self, label: &str, series: &str, mut load: LoadSpec) -> SurveyStep {
        let tests = load.data.tests.as_deref();
        let fill = TAKES.iter().find(|(test, _)| Some(*test) == tests);
        let Some((_, fill)) = fill.filter(|_| !self.has_tags()) else {
            return SurveyStep::new(label, series, load);
        };
        (load.data.fill, load.data.fill_with) = (true, Some((*fill).to_owned()));
        load.load.duration = None;
        SurveyStep { takes: true, ..SurveyStep::new(label, series, load) }
    }

    pub(super) fn suite(&self) -> Chapter {
        let tests: &[&str] = match (self.spec.memcached, self.spec.quick) {
            (false, false) => &WHOLE_SUITE,
            (false, true) => &QUICK_SUITE,
            (true, false) => &MEMCACHED_SUITE,
            (true, true) => &MEMCACHED_QUICK_SUITE,
        };
        let of_unknown = |tests: &&str| self.has_tags() && ["spop", "zpopmin"].contains(tests);
        let steps = tests.iter().filter(|tests| !of_unknown(tests));
        let steps = steps.map(|tests| self.step("", "", self.tests(tests, 1, |_| ()))).collect();
        let left_out = tests.iter().filter(|tests| of_unknown(tests)).map(|test| {
            format!(
                "{}: on a cluster each request has a key of its own, which is soon empty.",
                test.to_uppercase()
            )
        });
        Chapter {
            key: "suite",
            title: "The suite",
            text: if self.spec.memcached {
                "Tests of memcached's commands: 50 connections, one request in flight on each, \
                     values of 3 bytes. What a test reads is stored before it."
            } else {
                "The tests of redis-benchmark with its defaults: 50 connections, one request in \
                     flight on each, values of 3 bytes, one key. Before a test that pops, as many \
                     elements are written as it takes."
            }
            .into(),
            fill: None,
            steps,
            left_out: left_out.collect(),
        }
    }
}
