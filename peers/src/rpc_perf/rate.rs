//! `[workload.ratelimit]`: a rate, or a ramp of steps.

use serde::{Deserialize, Serialize};
use spec::Rate;
use workload::random::draw;
use workload::{Stage, limits};

use super::document::Document;
use super::fault::Fault;

/// Rate at which requests are sent.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ratelimit {
    /// Requests per second; none, or 0, for as fast as replies come.
    pub(super) start: Option<u32>,
    /// The last rate of a ramp, the distance of two, and the time that each holds in seconds.
    pub(super) end: Option<u32>,
    pub(super) step: Option<u32>,
    pub(super) interval: Option<u32>,
    pub(super) ramp: Option<Ramp>,
    pub(super) on_ramp_completion: Option<AfterLastRate>,
}

/// Order of the rates of a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ramp {
    Linear,
    Shuffled,
}

/// Continuation after the last rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AfterLastRate {
    Stable,
    Loop,
    Mirror,
}

const NS_PER_S: u64 = 1_000_000_000;

impl Ratelimit {
    /// Holds it to the rules.
    ///
    /// # Errors
    /// Returns an error if it makes no sense.
    pub(super) fn check(&self, file: &Document<'_>) -> Result<(), Fault> {
        const SECTION: &str = "[workload.ratelimit]";
        let start = self.start.unwrap_or(0);
        let (end, step, each_s) = match (self.end, self.step, self.interval) {
            (None, None, None) => return Ok(()),
            (Some(end), Some(step), Some(interval)) => (end, step, interval),
            _ => return Err(file.refused(SECTION, "a ramp needs all of end, step and interval")),
        };
        let refused = |key: &str, why: &str| Err(file.refused(&format!("{SECTION} {key}"), why));
        for (key, value) in [("start", start), ("step", step), ("interval", each_s)] {
            if value == 0 {
                return refused(key, "start, step and interval of a ramp must be above 0");
            }
        }
        if end < start {
            return refused("end", &format!("a ramp must end at its start, {start}, or above"));
        }
        if (end - start) / step >= limits::STAGES_MAX as u32 {
            return refused("step", &format!("the maximum is {} rates", limits::STAGES_MAX));
        }
        Ok(())
    }

    /// Requests per second, one after another.
    fn rates(&self) -> Vec<u32> {
        match (self.start.unwrap_or(0), self.end, self.step) {
            (0, ..) => Vec::new(),
            (start, Some(end), Some(step)) => (start..=end).step_by(step as usize).collect(),
            (start, ..) => vec![start],
        }
    }

    /// Returns the rate of a run of `duration_s` seconds.
    ///
    /// # Errors
    /// Returns an error if there are more steps than a rate may have.
    pub(super) fn rate(&self, duration_s: u64, seed: u64) -> Result<Option<Rate>, Fault> {
        let rates = match (&self.rates()[..], self.ramp) {
            ([], _) => return Ok(None),
            ([rate], _) => return Ok(Some(Rate::constant(f64::from(*rate)))),
            (rates, Some(Ramp::Shuffled)) => shuffled(rates.to_vec(), seed),
            (rates, _) => rates.to_vec(),
        };
        let each_s = u64::from(self.interval.unwrap_or(1));
        let held = duration_s.div_ceil(each_s).max(1) as usize;
        let (once, backwards) = (rates.iter(), rates.iter().rev());
        let steps: Vec<u32> = match self.on_ramp_completion {
            None | Some(AfterLastRate::Stable) => once.take(held).copied().collect(),
            Some(AfterLastRate::Loop) => once.cycle().take(held).copied().collect(),
            Some(AfterLastRate::Mirror) => {
                once.chain(backwards).cycle().take(held).copied().collect()
            }
        };
        if steps.len() > limits::STAGES_MAX {
            return Err(Fault::Usage(format!(
                "[workload.ratelimit]: {held} steps; the maximum is {} per run",
                limits::STAGES_MAX
            )));
        }
        let lasts_ns = each_s * NS_PER_S;
        let last = steps.len() - 1;
        let stages = steps.into_iter().enumerate().map(|(at, rate)| {
            let rate = f64::from(rate);
            let lasts_ns = (at < last).then_some(lasts_ns);
            Stage::steady(rate, lasts_ns)
        });
        Ok(Some(Rate(stages.collect())))
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
    use cli::workload_file::Source;

    use super::*;

    fn rates(text: &str, duration_s: u64) -> Result<Vec<f64>, Fault> {
        let source = Source { name: "a.toml".to_owned(), text: text.to_owned(), is_preset: false };
        let file = Document::parse(&source)?;
        let (limit, _) = file.read::<Ratelimit>("")?;
        limit.check(&file)?;
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
