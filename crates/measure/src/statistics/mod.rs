//! The statistics of repeated measurements: means, ratios and their uncertainty.
//!
//! Pure arithmetic on numbers from elsewhere. [`Mean`] is about one sample, [`RatioEstimate`] about two, and
//! [`needed`] about the number of further values. [`Share`] is about counts, [`steps`] about changes in a
//! series, [`p_higher`] about ranks alone. [`Forecast`] predicts how a series continues, [`Bisection`] finds
//! what changed it, [`Regression`] the amount that each of several causes adds. Callers know what the numbers
//! measure and what follows from the results.
//!
//! Student's distribution comes from `statrs`. It is right for the mean of a handful of runs, each of which
//! is itself an average of thousands of requests: Georges, Buytaert, Eeckhout, "Statistically Rigorous Java
//! Performance Evaluation", OOPSLA 2007. The choice of ratios with an interval, instead of a bare verdict,
//! follows Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.

mod bisection;
mod blocks;
mod forecast;
mod mean;
mod noise;
mod ranks;
mod ratio;
mod regression;
mod share;
mod sign;
mod steps;
mod student;

pub use bisection::{Bisection, Suspects};
pub use blocks::BlockValues;
pub use forecast::Forecast;
pub use mean::{Interval, Mean, SPREAD_MAX};
pub use noise::Noise;
pub use ranks::p_higher;
pub use ratio::{COUNT_MAX, Conclusion, Ratio, RatioEstimate, holm};
pub use regression::{Estimate, Observation, Regression};
pub use share::Share;
pub use steps::{LevelStep, steps};

/// Share of intervals that miss the true value: one in twenty.
pub const ERROR_RATE: f64 = 0.05;

/// Minimum share of cases in which a visible difference is found.
const POWER: f64 = 0.8;

/// Fewest values of a level.
pub const SIDE_MIN: usize = 3;
