//! The meaning of repeated measurements: means, ratios, and how sure one can be of them.
//!
//! Pure arithmetic on numbers that somebody else has measured. [`Mean`] is of one sample, [`RatioEstimate`]
//! of two, [`needed`] of how many more it takes, [`Share`] of what was counted, [`steps`] of a series, [`p_higher`] of
//! ranks alone, [`Forecast`] of what a series may go on with, [`Bisection`] of what changed it, [`Regression`] of what
//! each of several causes adds. What the numbers are of, and what follows from the answer, is left to others.
//!
//! Student's distribution comes from `statrs`. It is right for the mean of a handful of runs, each
//! of which is itself an average of thousands of requests: Georges, Buytaert, Eeckhout,
//! "Statistically Rigorous Java Performance Evaluation", OOPSLA 2007. That ratios are what to
//! compare, with an interval instead of a bare verdict, follows Kalibera and Jones, "Rigorous
//! Benchmarking in Reasonable Time", ISMM 2013.

mod bisection;
mod blocks;
mod forecast;
mod mean;
mod needed;
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
pub use needed::{SampleShortage, needed};
pub use noise::Noise;
pub use ranks::p_higher;
pub use ratio::{COUNT_MAX, Conclusion, Ratio, RatioEstimate, holm};
pub use regression::{Estimate, Observation, Regression};
pub use share::Share;
pub use steps::{SIDE_MIN, Step, steps};

/// Share of intervals that miss the truth: one in twenty.
pub const ERROR_RATE: f64 = 0.05;

/// Least share of cases in which a visible difference is found.
const POWER: f64 = 0.8;
