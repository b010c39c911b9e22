//! `[workload.ratelimit]`: a rate, or a ramp of steps.

use spec::Rate;
use workload::random::draw;
use workload::{Stage, limits};

use super::fault::Fault;
use super::table::Table;

/// Rate at which requests are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ratelimit {
    /// Requests per second, one after another; none for as fast as replies come.
    rates: Vec<u32>,
    /// Time that each holds, in seconds, if there are several.
    each_s: u32,
    after: AfterLastRate,
    shuffled: bool,
}

/// Continuation after the last rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterLastRate {
    Stable,
    Loop,
    Mirror,
}

const NS_PER_S: u64 = 1_000_000_000;

impl Ratelimit {
    /// Reads it: a table, or a number as in 5.0 to 5.3.
    pub(super) fn read(workload: &Table<'_, '_>, remarks: &mut Vec<String>) -> Result<Self, Fault> {
        let one = |rate: u32| Self {
            rates: Some(rate).filter(|rate| *rate > 0).into_iter().collect(),
            each_s: 0,
            after: AfterLastRate::Stable,
            shuffled: false,
        };
        if let Ok(Some(rate)) = workload.number::<u32>("ratelimit") {
            return Ok(one(rate));
        }
        let table = workload.table("ratelimit")?;
        let table = table.ok_or_else(|| workload.broken("", "[workload.ratelimit] is missing"))?;
        let read = Self::from_table(&table, one)?;
        remarks.extend(table.unknown());
        Ok(read)
    }

    fn from_table(table: &Table<'_, '_>, one: impl Fn(u32) -> Self) -> Result<Self, Fault> {
        let rate = |key| table.number::<u32>(key);
        let start = rate("start")?.unwrap_or(0);
        let shuffled = match table.text("ramp")?.as_deref() {
            None | Some("linear") => false,
            Some("shuffled") => true,
            Some(_) => return Err(table.broken("ramp", "expected \"linear\" or \"shuffled\"")),
        };
        let after = match table.text("on_ramp_completion")?.as_deref() {
            None | Some("stable") => AfterLastRate::Stable,
            Some("loop") => AfterLastRate::Loop,
            Some("mirror") => AfterLastRate::Mirror,
            Some(_) => {
                let why = "expected \"stable\", \"loop\" or \"mirror\"";
                return Err(table.broken("on_ramp_completion", why));
            }
        };
        let (end, step, each_s) = match (rate("end")?, rate("step")?, rate("interval")?) {
            (None, None, None) => return Ok(one(start)),
            (Some(end), Some(step), Some(interval)) => (end, step, interval),
            _ => return Err(table.refused("", "a ramp needs all of end, step and interval")),
        };
        for (key, value) in [("start", start), ("step", step), ("interval", each_s)] {
            if value == 0 {
                return Err(table.refused(
                    key,
                    "start, step and interval of a ramp must be above \
                    0",
                ));
            }
        }
        if end < start {
            return Err(table.refused(
                "end",
                format!(
                    "a ramp must end at its start, {start}, or \
                above"
                ),
            ));
        }
        let rates: Vec<u32> =
            (start..=end).step_by(step as usize).take(limits::STAGES_MAX + 1).collect();
        if rates.len() > limits::STAGES_MAX {
            let why = format!("the maximum is {} rates", limits::STAGES_MAX);
            return Err(table.refused("step", why));
        }
        Ok(Self { rates, each_s, after, shuffled })
    }

    /// Returns the rate of a run of `duration_s` seconds.
    ///
    /// # Errors
    /// Returns an error if there are more steps than a rate may have.
    pub(super) fn rate(&self, duration_s: u64, seed: u64) -> Result<Option<Rate>, Fault> {
        let rates = match (&self.rates[..], self.shuffled) {
            ([], _) => return Ok(None),
            ([rate], _) => return Ok(Some(Rate::constant(f64::from(*rate)))),
            (rates, false) => rates.to_vec(),
            (rates, true) => shuffled(rates.to_vec(), seed),
        };
        let backwards = rates.iter().rev().copied();
        let turn: Vec<u32> = match self.after {
            AfterLastRate::Stable => rates,
            AfterLastRate::Loop => rates,
            AfterLastRate::Mirror => rates.iter().copied().chain(backwards).collect(),
        };
        let held = duration_s.div_ceil(u64::from(self.each_s)).max(1) as usize;
        let mut steps: Vec<u32> = match self.after {
            AfterLastRate::Stable => turn,
            AfterLastRate::Loop | AfterLastRate::Mirror => {
                turn.iter().cycle().take(held).copied().collect()
            }
        };
        steps.truncate(held);
        if steps.len() > limits::STAGES_MAX {
            return Err(Fault::Usage(format!(
                "[workload.ratelimit]: {held} steps; the maximum is {} per run",
                limits::STAGES_MAX
            )));
        }
        let lasts_ns = u64::from(self.each_s) * NS_PER_S;
        let last = steps.len() - 1;
        let stage = |(at, rate): (usize, u32)| {
            let rate = f64::from(rate);
            let lasts_ns = (at < last).then_some(lasts_ns);
            Stage::steady(rate, lasts_ns)
        };
        Ok(Some(Rate(steps.into_iter().enumerate().map(stage).collect())))
    }
}

/// Shuffles rates in an order that follows from the seed (Fisher and Yates).
fn shuffled(mut rates: Vec<u32>, seed: u64) -> Vec<u32> {
    for at in (1..rates.len()).rev() {
        let other = draw(seed, at as u64) % (at as u64 + 1);
        rates.swap(at, other as usize);
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::table;

    fn rates(text: &str, duration_s: u64) -> Result<Vec<f64>, Fault> {
        let text = format!("[workload.ratelimit]\n{text}");
        let limit = table(&text, |root| {
            let workload = root.table("workload").unwrap().unwrap();
            Ratelimit::read(&workload, &mut Vec::new())
        })?;
        let stages = limit.rate(duration_s, 7)?.map_or(Vec::new(), |Rate(stages)| stages);
        Ok(stages.iter().map(|stage| stage.from_per_s).collect())
    }

    #[test]
    fn ramps_hold_each_rate_and_go_on_as_asked() {
        let ramp = "start = 10\nend = 35\nstep = 10\ninterval = 1\n";
        let of = |more: &str, seconds| rates(&format!("{ramp}{more}"), seconds).unwrap();
        assert_eq!(of("", 60), [10.0, 20.0, 30.0]);
        let mirror = of("on_ramp_completion = 'mirror'", 8);
        assert_eq!(mirror, [10.0, 20.0, 30.0, 30.0, 20.0, 10.0, 10.0, 20.0]);
        assert_eq!(of("on_ramp_completion = 'loop'", 4), [10.0, 20.0, 30.0, 10.0]);
        let mut shuffled = of("ramp = 'shuffled'", 60);
        shuffled.sort_by(f64::total_cmp);
        assert_eq!(shuffled, [10.0, 20.0, 30.0]);
        assert!(rates("", 9).unwrap().is_empty());
        assert_eq!(rates("start = 5", 9).unwrap(), [5.0]);
    }

    #[test]
    fn half_a_ramp_is_none() {
        for text in [
            "start = 1\nend = 5",
            "end = 5\nstep = 1\ninterval = 1",
            "start = 1\nend = 5\nstep = 0\ninterval = 1",
            "start = 9\nend = 5\nstep = 1\ninterval = 1",
        ] {
            assert!(matches!(rates(text, 9), Err(Fault::Usage(_))), "{text}");
        }
        assert!(matches!(rates("start = 'x'", 9), Err(Fault::File(_))));
    }
}
