//! The warning about a command that mostly found nothing: its figures are those of an empty server.
//!
//! Owns its threshold and its advice. Misses that the plan asks for do not count.

use measure::{CommandTally, Ending, Measurement, Point};
use workload::{CommandSpec, KeySpace, Pick, Piece, Plan, StepCondition};

use crate::quantity::grouped;
use crate::{Lookups, Run};

/// Share of empty replies from which there is a warning.
const MISSES_SHARE: f64 = 0.5;

/// Fewest intervals in a quarter of a run for which the quarter has a hit ratio.
const QUARTER_MIN: u64 = 2;
/// Standard deviations from which the hit ratio counts as changing.
const MOVES: f64 = 4.0;

/// Tests of the suite that make the data these commands look for under this name, one element per request.
const FILLERS: [(&[&str], &[u8], &str); 4] = [
    (&["LPOP", "RPOP", "LINDEX", "LRANGE"], b"mylist", "-t lpush"),
    (&["SPOP", "SRANDMEMBER", "SMEMBERS"], b"myset", "-t sadd"),
    (&["HGET", "HMGET", "HGETALL", "HKEYS", "HVALS"], b"myhash", "-t hset"),
    (&["ZPOPMIN", "ZPOPMAX", "ZRANGE"], b"myzset", "-t zadd"),
];

/// A command that looks for something, the source of its keys, and its outcomes.
struct LookupCommand<'p> {
    command: &'p CommandSpec,
    keys: &'p KeySpace,
    tally: &'p CommandTally,
    /// Set if its operation fills misses by further commands.
    fills: bool,
}

impl LookupCommand<'_> {
    fn replies(&self) -> u64 {
        self.tally.ok.saturating_add(self.tally.miss)
    }

    fn mostly_missed(&self) -> bool {
        self.tally.miss as f64 > MISSES_SHARE * self.replies() as f64
    }
}

/// The name of the command that missed most often, and advice.
pub(super) fn misses(plan: &Plan, measurement: &Measurement) -> Option<(String, String)> {
    let looked = looked(plan, measurement);
    let worst = looked
        .into_iter()
        .filter(|looked| looked.mostly_missed() && !looked.fills && !looked.keys.draw.may_miss())
        .max_by_key(|looked| looked.tally.miss)?;
    let [missed, replies] = [worst.tally.miss, worst.replies()].map(|n| grouped(n as f64));
    let (name, advice) = (worst.command.name(), advice(plan, &worst));
    let text = format!("{missed} of {replies} replies to {name} were misses; {advice}");
    Some((name, text))
}

/// Describes the change of the hit ratio from the start of the second half of a run to its end; `None` if
/// there is none, or it is unknown.
pub(super) fn moving_hit_ratio(plan: &Plan, measurement: &Measurement) -> Option<String> {
    let whole = measurement.ending == Ending::Complete && measurement.outages.is_empty();
    let lookups = Lookups::sum(&Lookups::of_commands(plan, &measurement.total));
    let requests = measurement.total.requests();
    let timeline = &measurement.timeline;
    let full = timeline.full_intervals(measurement.elapsed_ns);
    let quarter = (full.end - full.start) / 4;
    if !whole || lookups.misses == 0 || requests == 0 || quarter < QUARTER_MIN {
        return None;
    }
    // Of each interval only requests and misses are known; a load looks up as much all the time.
    let share = (lookups.hits as f64 + lookups.misses as f64) / requests as f64;
    let found = |from: u64| {
        let of = |point: &&Point| (from..from + quarter).contains(&u64::from(point.index));
        let points = timeline.points.iter().filter(of);
        let (looked, misses) = points.fold((0, 0), |(looked, misses), point| {
            (looked + point.requests, misses + point.misses.unwrap_or_default())
        });
        let looked = (looked as f64 * share) as u64;
        Lookups { hits: looked.saturating_sub(misses), misses }
    };
    let (before, last) = (found(full.end - 2 * quarter), found(full.end - quarter));
    let [from, to] = [before.found_share()?, last.found_share()?].map(|share| share * 100.0);
    (!before.is_alike(last, MOVES)).then(|| {
        format!(
            "the hit ratio still changes: {from:.2} % in the third quarter of the run, {to:.2} % in the last, so \
             figures are those of a cache that has not settled; run longer, or with --warmup"
        )
    })
}

/// Describes a run that should have read the filled data, and found most of it missing: its figures are those
/// of misses, which are less work.
pub fn unfound(run: &Run) -> Option<String> {
    let filled = run.plan.data.fill.is_some() || !run.plan.setup.is_empty();
    let (_, text) = misses(&run.plan, &run.measurement).filter(|_| filled)?;
    Some(text)
}

/// All different commands that look for something, as far as the measurement distinguishes them.
fn looked<'p>(plan: &'p Plan, measurement: &'p Measurement) -> Vec<LookupCommand<'p>> {
    let different = plan.different_commands();
    let filling = |at: usize| {
        let operation = plan.mix.iter().flat_map(|mix| &mix.operations).nth(at);
        operation.is_some_and(|operation| {
            operation.steps.iter().any(|s| s.when == StepCondition::OnMiss)
        })
    };
    let mut looked = Vec::new();
    for (at, (span, keys)) in plan.key_spaces().enumerate() {
        let mut which: Vec<u32> = different.of[span].to_vec();
        which.sort();
        which.dedup();
        for which in which {
            let command = different.commands[which as usize];
            if let Some(tally) = measurement.total.commands.get(which as usize)
                && command.looks_for(plan.protocol)
            {
                looked.push(LookupCommand { command, keys, tally, fills: filling(at) });
            }
        }
    }
    looked
}

/// Returns advice for providing the data that the command looks for.
fn advice(plan: &Plan, looked: &LookupCommand<'_>) -> String {
    if plan.has_source() {
        let text = "restore the data that was there when it was recorded, or see --prefill";
        return text.to_owned();
    }
    if plan.data.fill.is_some() {
        return "--fill wrote these keys, so they were deleted, evicted or have expired".to_owned();
    }
    if let Some(phases) = &plan.data.loaded_by {
        return format!(
            "run the phase that writes these keys first (--phase {phases}), with the same -r"
        );
    }
    if plan.mix.as_ref().is_some_and(|mix| mix.pick == Pick::Row) {
        return "the data that was there when it was captured is missing; restore it first"
            .to_owned();
    }
    if looked.command.reads_what_set_writes(plan.protocol) {
        return "add --fill, which writes the keys first".to_owned();
    }
    let name = looked.command.name();
    // A test of the suite makes what the suite reads, and nothing else.
    let key = looked.command.args.get(1).and_then(|key| key.pieces.first());
    let is_of = |of: &[u8]| matches!(key, Some(Piece::Bytes(key)) if key.starts_with(of));
    let made = FILLERS.iter().find(|(reads, of, _)| reads.contains(&name.as_str()) && is_of(of));
    match made {
        Some((.., test)) => {
            let elements = looked.replies();
            format!("fill it first: {test} -r {elements} --sequential -n {elements}")
        }
        None => "write the keys first, with --fill --fill-with 'COMMAND'".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use workload::{KeyDist, Mix, MixStep, Operation, Pick, PlanParts, ProtocolKind};

    /// The warning about a run of these operations, given with name, hits and misses of each.
    fn describe(
        operations: &[(&str, u64, u64)],
        change: impl FnOnce(&mut PlanParts),
    ) -> Option<String> {
        let mut run = fixture::changed(|parts| {
            parts.sequence =
                operations.iter().map(|(line, ..)| CommandSpec::parse(line.split(' '))).collect();
            parts.data.keys = KeySpace::new(Some(100_000), KeyDist::UNIFORM);
            if operations.len() > 1 {
                let operations = operations.iter().map(|(line, ..)| Operation {
                    name: (*line).to_owned(),
                    weight: 1,
                    steps: vec![MixStep { commands: 1, when: StepCondition::Always }],
                    keys: None,
                });
                let operations = operations.collect();
                parts.mix = Some(Mix { operations, pick: Pick::default() });
            }
            change(parts);
        });
        let tally = run.measurement.total.commands[0].clone();
        run.measurement.total.commands = operations
            .iter()
            .map(|(_, ok, miss)| CommandTally { ok: *ok, miss: *miss, ..tally.clone() })
            .collect();
        misses(&run.plan, &run.measurement).map(|(_, text)| text)
    }

    fn warning_for(line: &str) -> Option<String> {
        describe(&[(line, 1, 1999)], |_| {})
    }

    #[test]
    fn reads_that_find_nothing_are_reported_with_the_way_to_fill_the_keys() {
        let fill = "add --fill, which writes the keys first";
        let text = |name: &str, advice: &str| {
            Some(format!("1,999 of 2,000 replies to {name} were misses; {advice}"))
        };
        assert_eq!(warning_for("get key:__rand_int__"), text("GET", fill));
        assert_eq!(warning_for("get u:__key__"), text("GET", fill), "and of any other key");
        assert_eq!(warning_for("MGET a:__rand_int__ a:__rand_int__"), text("MGET", fill));
        assert_eq!(describe(&[("get k:__key__", 1000, 1000)], |_| {}), None, "as many hits");
        let test = |test: &str| format!("fill it first: -t {test} -r 2000 --sequential -n 2000");
        for (line, filler) in [("SPOP myset", "sadd"), ("ZPOPMIN myzset", "zadd")] {
            assert!(warning_for(line).unwrap().ends_with(&test(filler)), "{line}");
        }
        assert!(warning_for("LRANGE mylist 0 9").unwrap().ends_with(&test("lpush")));
        for line in ["hmget nosuch a b", "JSON.GET s", "lpop l", "zrange z 0 9"] {
            assert!(warning_for(line).unwrap().contains("--fill --fill-with"), "{line}");
        }
    }

    #[test]
    fn nothing_in_reply_to_what_writes_or_runs_a_script_is_not_reported() {
        for line in ["set k v nx", "eval x 0", "fcall f 0", "fcall_ro f 0", "zadd z nx incr 1 a"] {
            assert_eq!(warning_for(line), None, "{line}");
        }
        let memcache =
            |line| describe(&[(line, 1, 1999)], |p| p.protocol = ProtocolKind::MemcacheText);
        assert_eq!(memcache("add k:__key__ 0 0 v"), None);
        assert!(memcache("get k:__key__").unwrap().contains("add --fill,"));
        assert!(memcache("incr k:__key__ 1").unwrap().contains("--fill-with"));
    }

    #[test]
    fn misses_that_a_plan_asks_for_are_not_reported() {
        let aside = ("get k:__key__", 1, 1999);
        let share = |parts: &mut PlanParts| {
            parts.data.keys.draw = KeyDist::UNIFORM.with_hits("0.2").unwrap();
        };
        assert_eq!(describe(&[aside], share), None);
        let absent = [("get k:__key__", 444, 0), ("get absent:__key__", 0, 556)];
        assert!(describe(&absent, |_| {}).unwrap().starts_with("556 of 556"), "nothing says so");
        let own = |parts: &mut PlanParts| {
            let keys = KeySpace::new(Some(10), KeyDist::UNIFORM.with_hits("0").unwrap());
            parts.mix.iter_mut().for_each(|mix| mix.operations[1].keys = Some(keys.clone()));
        };
        assert_eq!(describe(&absent, own), None);
        let on_miss = |parts: &mut PlanParts| {
            parts.sequence.push(CommandSpec::from_words(["SET", "k", "v"]));
            let steps = [StepCondition::Always, StepCondition::OnMiss]
                .map(|when| MixStep { commands: 1, when });
            let steps = steps.to_vec();
            let operation = Operation { name: "aside".to_owned(), weight: 1, steps, keys: None };
            parts.mix = Some(Mix { operations: vec![operation], pick: Pick::default() });
        };
        assert_eq!(describe(&[aside], on_miss), None);
    }

    #[test]
    fn a_hit_ratio_that_moves_up_to_the_end_is_told() {
        let told = |misses: [u64; 4], hits| {
            let mut run = fixture::changed(|parts| {
                parts.sequence = vec![CommandSpec::parse(["get", "k:__key__"])];
            });
            let points = (0..16).map(|at: u32| measure::Point {
                misses: Some(misses[at as usize / 4]),
                ..fixture::point(at, 1000)
            });
            run.measurement.timeline.points = points.collect();
            run.measurement.elapsed_ns = 16 * run.measurement.timeline.interval_ns;
            let command = &mut run.measurement.total.commands[0];
            (command.ok, command.miss) = (hits, 4 * misses.iter().sum::<u64>());
            moving_hit_ratio(&run.plan, &run.measurement)
        };
        let text = told([400, 300, 200, 100], 12_000).unwrap();
        assert!(text.starts_with("the hit ratio still changes: 80.00 % in the third"), "{text}");
        assert!(text.contains(" 90.00 % in the last"), "{text}");
        assert_eq!(told([400, 300, 104, 100], 12_384), None, "by chance");
        assert_eq!(told([900, 500, 100, 100], 9_600), None, "it stands still by now");
        assert_eq!(told([0; 4], 16_000), None);
    }

    #[test]
    fn a_phase_whose_keys_are_missing_names_the_phase_that_writes_them() {
        let text = describe(&[("hgetall k:__key__", 1, 1999)], |parts| {
            parts.data.loaded_by = Some("load".to_owned());
        });
        assert!(text.unwrap().contains("(--phase load)"));
    }

    #[test]
    fn what_was_filled_and_is_gone_is_reported_as_that() {
        let text =
            describe(&[("get k:__key__", 1, 1999)], |parts| parts.data.fill = Some(Vec::new()));
        assert!(text.unwrap().ends_with("were deleted, evicted or have expired"));
    }
}
