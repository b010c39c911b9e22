//! Conclusion of a price list, in sentences.

use report::groups::by_key;
use report::listed;
use report::page::{Tone, Verdict, sentence};

use super::{came_back, ms, percent, saved, seconds, within};
use crate::impact::{Impact, Judgement, MixRecord, OWN_QUESTION, Price};

impl Impact {
    /// Returns the conclusion from the prices, and advice.
    pub fn verdict(&self) -> Verdict {
        match &self.mix {
            Some(mix) => self.verdict_of_mix(mix),
            None => self.verdict_of_acts(),
        }
    }

    fn verdict_of_acts(&self) -> Verdict {
        let priced = || self.prices.iter().filter(|price| price.is_measured());
        let timed = priced().filter_map(|price| Some((price, price.with_ms?)));
        let Some((dearest, with_ms)) = timed.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            let text = "No act was played, or no request beside one succeeded.";
            return Verdict::new("No act has a price", text);
        };
        let mut text = format!(
            "At {} requests/s its highest p99 was {} ms, {} ms before; {}.",
            report::grouped(self.rate_per_s.unwrap_or_default()),
            ms(with_ms),
            ms(dearest.without_ms.unwrap_or_default()),
            came_back(dearest)
        );
        if dearest.events.first().is_some_and(|longest| longest.ends_with(OWN_QUESTION)) {
            text.push_str(
                " The longest command of that time was INFO, by which keystorm follows an act; it may have waited for \
                 the act, as users did.",
            );
        }
        let all: f64 = priced().filter_map(|price| price.user_seconds).sum();
        let spent = ("user-seconds above the target".to_owned(), seconds(all));
        let figures = self.target_ns().map(|_| spent).into_iter().collect();
        let headline = format!("{} costs most on {}", dearest.operation, self.server);
        Verdict { figures, ..Verdict::new(headline, text) }
    }

    fn verdict_of_mix(&self, mix: &MixRecord) -> Verdict {
        let effects = &mix.effects;
        let capacity = effects.capacity_per_s.iter();
        let figures =
            capacity.map(|of| ("capacity".to_owned(), within(*of, report::grouped) + " /s"));
        let figures = figures.collect();
        match effects.judgement {
            Judgement::SingledOut => Verdict { figures, ..self.accusation(mix) },
            Judgement::NoneSingledOut => {
                let text = format!(
                    "No kind surely costs another more p99 than the same number of other requests would. With {} \
                     comparisons that must hold together 95 times in 100, every interval includes zero, or less \
                     than a tenth of the p99. Either all cost alike, or the noise here hides the difference: more \
                     --blocks and a quieter machine narrow the intervals.",
                    effects.comparisons
                );
                Verdict { figures, ..Verdict::new("No kind can be singled out", text) }
            }
            Judgement::NotJudged => {
                let all = effects.segments + effects.void;
                let why = match effects.void_cause {
                    Some(cause) => format!(
                        "{} in {} of {all} segments. Stop other programs, or run longer segments (--duration).",
                        sentence(cause.describe()).trim_end_matches('.'),
                        effects.void
                    ),
                    None => format!(
                        "{all} segments are too few, or have too few replies of each kind for a p99: run longer ones \
                         (--duration) or more of them (--blocks)."
                    ),
                };
                Verdict::new("Cannot be judged here", why).toned(Tone::Warning)
            }
        }
    }

    fn accusation(&self, mix: &MixRecord) -> Verdict {
        let mut sure: Vec<&Price> = self.prices.iter().filter(|price| price.surely).collect();
        sure.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
        // Each kind once, where it does most.
        let by_kind = by_key(sure.into_iter().map(|price| (price.operation.as_str(), price)));
        let (names, worst): (Vec<&str>, Vec<&Price>) =
            by_kind.into_iter().map(|(name, prices)| (name, prices[0])).unzip();
        let them = listed(&names, " and ");
        let verb = if names.len() == 1 { "makes" } else { "make" };
        let each: Vec<String> = worst.iter().map(|price| charge(price, mix)).collect();
        let text = format!(
            "{} Move {them} to a server (or replica) of its own, or make it cheaper: shorter replies, fewer elements.",
            each.join(" ")
        );
        Verdict::new(format!("{them} {verb} the others wait"), text).toned(Tone::Warning)
    }
}

/// `At 85 % of capacity, 1,000/s of hgetall cost get 0.40 ms of p99 (0.35 to 0.45) and 3.1 % of capacity; …`
fn charge(price: &Price, mix: &MixRecord) -> String {
    let (kind, waits) = (&price.operation, &price.waits);
    let figure = price.cost_ms.map(|cost| {
        format!("{} ms of p99 ({} to {})", ms(cost.value), ms(cost.low), ms(cost.high))
    });
    let cost = mix.kinds.iter().zip(&mix.effects.costs).find(|(of, _)| of.name == *kind);
    let capacity = cost.and_then(|(_, cost)| cost.capacity).map_or(String::new(), |figure| {
        let range = format!("{} to {}", percent(figure.low), percent(figure.high));
        format!(" and {} % of capacity ({range})", percent(figure.value))
    });
    let without = price.without_ms.zip(price.with_ms).map_or(String::new(), |(without, with)| {
        format!(
            "; without {kind}, the p99 of {waits} is {} ms instead of {}",
            ms(without),
            ms(with)
        )
    });
    format!(
        "At {} % of capacity, {}/s of {kind} cost {waits} {}{capacity}{without}.",
        percent(price.load.unwrap_or_default()),
        report::grouped(mix.effects.unit_per_s),
        figure.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_by_the_question_that_follows_an_act_is_no_price_of_the_act_alone() {
        let list = |event: &str| {
            let price = Price {
                operation: "unlink".to_owned(),
                with_ms: Some(342.0),
                events: vec![event.to_owned()],
                ..Price::default()
            };
            let mut list = Impact::new("valkey 8.1.8".to_owned());
            list.prices.push(price);
            list.verdict().text
        };
        let asked = list(&format!("SLOWLOG INFO 342.8 ms{OWN_QUESTION}"));
        assert!(asked.contains("INFO, by which keystorm follows an act"), "{asked}");
        assert!(!list("SLOWLOG UNLINK key 342.8 ms").contains("INFO"));
    }
}
