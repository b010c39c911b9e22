//! Number of samples beyond a percentile.
//!
//! A 99th percentile of 300 replies is the third slowest of them: one more hiccup moves it. Owns the number
//! of samples from which a percentile is shown without a mark.

use crate::quantity::grouped;

/// A percentile with fewer samples beyond it is marked.
pub const BEYOND_MIN: u64 = 10;

/// Mark of such a percentile.
pub const MARK: char = '*';

/// Returns whether the percentile at this quantile, from 0 to 1, of `samples` samples has fewer than
/// [`BEYOND_MIN`] beyond it. False for the least and the greatest value, and without samples.
pub fn is_thin(quantile: f64, samples: u64) -> bool {
    quantile > 0.0 && quantile < 1.0 && samples > 0 && samples < needed(quantile)
}

/// Returns the number of samples that the percentile at this quantile, above 0 and below 1, needs.
pub fn needed(quantile: f64) -> u64 {
    // 1 - 0.99 is not quite 0.01.
    (BEYOND_MIN as f64 / (1.0 - quantile) - 1e-6).ceil() as u64
}

/// Formats a percentile of this many samples, with a mark if they are too few.
pub fn marked(figure: String, quantile: f64, samples: u64) -> String {
    if is_thin(quantile, samples) { figure + "*" } else { figure }
}

/// Explains the mark if some of these percentiles of `samples` samples have it, with the number of samples
/// they would need; `None` if none has.
pub fn note(quantiles: &[f64], samples: u64) -> Option<String> {
    let thin = quantiles.iter().filter(|quantile| is_thin(**quantile, samples));
    let needs: Vec<String> = thin
        .enumerate()
        .map(|(at, quantile)| {
            // Of 99.9 not 99.90000000000001.
            let percent = format!("{:.4}", quantile * 100.0);
            let percent = percent.trim_end_matches('0').trim_end_matches('.').to_owned();
            let needs = if at == 0 { " needs" } else { "" };
            format!("p{percent}{needs} {}", grouped(needed(*quantile) as f64))
        })
        .collect();
    (!needs.is_empty()).then(|| {
        format!(
            "{MARK} fewer than {BEYOND_MIN} of {} replies are slower; {}",
            grouped(samples as f64),
            needs.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_samples_beyond_are_enough() {
        for (quantile, enough) in
            [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1_000), (0.999, 10_000), (0.9999, 100_000)]
        {
            assert_eq!(needed(quantile), enough, "{quantile}");
            assert!(is_thin(quantile, enough - 1) && !is_thin(quantile, enough), "{quantile}");
        }
        assert!(!is_thin(1.0, 1) && !is_thin(0.0, 1) && !is_thin(0.5, 0));
        assert_eq!(marked("1.234".to_owned(), 0.99, 999), "1.234*");
        assert_eq!(marked("1.234".to_owned(), 0.99, 1000), "1.234");
    }

    #[test]
    fn the_note_tells_what_would_be_needed() {
        assert_eq!(note(&[0.5, 0.95, 0.99], 1000), None);
        let text = note(&[0.5, 0.95, 0.99, 0.999], 300).unwrap();
        assert_eq!(
            text,
            "* fewer than 10 of 300 replies are slower; p99 needs 1,000, p99.9 10,000"
        );
    }
}
