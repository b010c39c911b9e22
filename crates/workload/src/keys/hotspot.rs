//! A hot set: a given percentage of the draws goes to a given percentage of the keys.

use super::KeyDraw;
use crate::random::Stream;
use crate::{parameters, random};

/// The first `hot` keys are hot; within both parts all keys are equally likely.
#[derive(Debug, Clone, Copy)]
struct Hotspot {
    share: f64,
    hot: u64,
    range: u64,
}

/// `SHARE/KEYS`, in percent.
pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let text = parameters.ok_or("SHARE and KEYS are missing")?;
    let [share, keys] =
        parameters::shares(text, '/', ["percentage of draws", "percentage of keys"])?;
    let hot = ((range as f64 * keys).ceil() as u64).clamp(1, range);
    Ok(Box::new(Hotspot { share, hot, range }))
}

impl KeyDraw for Hotspot {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        let bits = stream.draw(index);
        let key = random::mix(bits);
        let cold = self.range - self.hot;
        if random::unit(bits) <= self.share || cold == 0 {
            random::within(key, self.hot)
        } else {
            self.hot + random::within(key, cold)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeyDist, shape};

    #[test]
    fn the_shares_are_those_asked_for() {
        for (text, share, keys) in
            [("80/20", 0.8, 0.2), ("99.9/0.1", 0.999, 0.001), ("50/50", 0.5, 0.5)]
        {
            shape::at_every_range(&format!("hotspot:{text}"), |range, x| {
                // The hot part has whole keys, so on few of them it is larger than asked for.
                let keys = (range as f64 * keys).ceil() / range as f64;
                if x <= keys {
                    share * x / keys
                } else {
                    1.0 - (1.0 - share) * (1.0 - x) / (1.0 - keys)
                }
            });
        }
    }

    #[test]
    fn where_all_keys_are_hot_all_are_drawn() {
        for (text, range) in [("hotspot:10/100", 1000), ("hotspot:1/90", 1)] {
            let keys = text.parse::<KeyDist>().unwrap().over(range);
            assert!((0..1000).all(|index| keys.draw(1.into(), index) < range));
        }
    }

    #[test]
    fn shares_have_bounds() {
        for bad in ["hotspot", "hotspot:", "hotspot:80", "hotspot:0/20", "hotspot:80/101"] {
            let error = bad.parse::<KeyDist>().unwrap_err();
            assert!(error.contains("hotspot:80/20"), "{bad}: {error}");
        }
    }
}
