//! Options of what is sent: commands, keys and values.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use workload::sizes::SIZE_MAX;
use workload::{Content, DrawnBy, KeyDist, KeySpace, Lifetime, Pick, RowBy, SizeBy, Sizes};

use crate::text::as_text;
use crate::values::{Count, count, written};

/// Options of what is sent: commands, keys and values.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct DataOptions {
    /// Take commands, keys, values, load and phases from a TOML file or a preset (`keystorm presets`);
    /// options given here override it
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub workload: Option<String>,
    /// Phases of the workload to run, comma-separated [default: all]
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true, requires = "workload")]
    pub phase: Option<String>,
    /// Tests of the suite to run, comma-separated [default: all]
    #[arg(short = 't', value_name = "TESTS", allow_hyphen_values = true)]
    pub tests: Option<String>,
    /// Draw keys from 0 to N-1; without it, all requests use one key
    #[arg(short = 'r', value_name = "KEYSPACE", allow_hyphen_values = true)]
    pub key_range: Option<KeyRange>,
    /// Use the keys of -r in order instead of at random
    #[arg(long, conflicts_with = "key_dist")]
    pub sequential: bool,
    /// Key distribution: uniform, sequential, zipf[:S[,FIRST]], zipf-scattered[:S], hotspot:SHARE/KEYS,
    /// gaussian[:MEAN,SD], exponential[:PERCENTILE/SHARE] or file:PATH[#COLUMN] [default: uniform]
    #[arg(long, value_name = "DIST", allow_hyphen_values = true)]
    #[serde(with = "crate::text")]
    pub key_dist: Option<KeyDist>,
    /// Numbering of the keys.
    #[command(flatten)]
    #[serde(flatten)]
    pub keys: KeyOptions,
    /// Bytes of a value, or a distribution: uniform:MIN..MAX, sizes:SIZE=WEIGHT,…,
    /// lognormal:MEDIAN,SIGMA, pareto:SCALE,SHAPE or normal:MEAN,SD [default: 3]
    #[arg(short = 'd', value_name = "SIZE", allow_hyphen_values = true)]
    pub size: Option<Size>,
    /// Draw one size for each `key`; for each `request`; by the `rank` of the key, so that the key with
    /// the largest number has the largest value; or go through all sizes in N requests of a connection
    /// (`turn:N`) [default: key]
    #[arg(long, hide = true, value_name = "BY")]
    #[serde(with = "crate::text")]
    pub size_by: Option<SizeBy>,
    /// Content of values: classic (as in redis-benchmark), random, compressible:N or same [default:
    /// classic; random if sizes are drawn]
    #[arg(long, value_name = "CONTENT")]
    #[serde(with = "crate::text")]
    pub content: Option<Content>,
    /// Expire keys written by SET after these whole seconds, or a random time in a range: 60..300. In
    /// other commands, write __ttl__
    #[arg(long, value_name = "TIME")]
    #[serde(with = "crate::text")]
    pub ttl: Option<Lifetime>,
    /// Before the tests, write every key that the commands read, once, with the value it should
    /// have: by SET, or by --fill-with
    #[arg(long)]
    pub fill: bool,
    /// The command by which --fill writes a key that is not a string: 'hset user:__key__ name
    /// __data__'; separate several with `;`
    #[arg(long, value_name = "COMMAND", requires = "fill")]
    pub fill_with: Option<String>,
    /// At the end, remove the keys that --fill wrote to a server that keystorm did not start
    #[arg(long)]
    pub clean: bool,
    /// Share of reads that find their key, from 0 to 1; the others read keys beyond -r, which
    /// nothing writes [default: 1]
    #[arg(long, value_name = "SHARE")]
    #[serde(with = "crate::text")]
    pub hit_ratio: Option<String>,
    /// Compare each value that get, mget, hget and the like return with what was written. A wrong value
    /// is an error, and the exit code is 1
    #[arg(long)]
    pub verify: bool,
    /// Count a miss as an error, report its key, and exit with code 1
    #[arg(long)]
    pub fail_on_miss: bool,
    /// Draw one of the operations between `;` at a time; a number before one is its weight
    #[arg(long)]
    pub mix: bool,
    /// Order of the operations of --mix: `drawn` by weight; in `turns`, each as often in a row as its
    /// weight says; or their numbers, such as 1,2:9 for the first once and the second nine times
    /// [default: drawn]
    #[arg(long, hide = true, value_name = "ORDER")]
    #[serde(with = "crate::text")]
    pub order: Option<Pick>,
    /// Weights of the operations of a mix, in place of those that were typed; 0 for one that is not sent.
    #[arg(skip)]
    #[serde(skip)]
    pub weights: Vec<u32>,
    /// Rare settings, and other tools': see `keystorm help settings`
    #[arg(long = "set", value_name = "NAME=VALUE", action = clap::ArgAction::Append)]
    #[serde(skip)]
    pub settings: Vec<String>,
    /// Read the last argument of the command from standard input
    #[arg(short = 'x')]
    pub stdin_arg: bool,
    /// CSV, TSV (with a header line) or XML for __field:name__; each request uses the next row
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub dataset: Option<PathBuf>,
    /// Send the commands of a file that MONITOR printed, in order, without their times and clients; each
    /// once, unless -n or --duration is given
    #[arg(long, value_name = "FILE", allow_hyphen_values = true,
          conflicts_with_all = ["tests", "workload", "mix", "dataset", "stdin_arg"])]
    pub replay: Option<PathBuf>,
    /// Row of --dataset or --replay that a request takes: the next one for each `request`; a `random`
    /// one; that of its `key`, __key__; or, in `turn`, the next one of its connection [default:
    /// request]
    #[arg(long, hide = true, value_name = "BY")]
    #[serde(with = "crate::text")]
    pub rows_by: Option<RowBy>,
    /// With --verify, column of the dataset that holds the value of a key: reads are compared with that
    /// of their row
    #[arg(long, hide = true, value_name = "COLUMN", requires_all = ["dataset", "verify"])]
    pub row_value: Option<String>,
    /// XML element that makes a row; its child elements are the fields
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    pub xml_root_element: Option<String>,
    /// Maximum number of dataset rows to read [default: all]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true)]
    pub maxdocs: Option<Count<i64>>,
    /// Functions in the library of test function_load [default: 10]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true)]
    pub num_functions: Option<Count<u32>>,
    /// Keys passed to the function of test fcall [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub num_keys_in_fcall: Option<Count<u32>>,
    /// Seed for key numbers and everything else that is random; the same seed draws the same keys
    /// [default: the time]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true)]
    pub seed: Option<Count<i64>>,
}

impl DataOptions {
    /// Returns the options that another tool leaves as they are.
    pub fn beside_a_tool(&self) -> Self {
        Self {
            fill: self.fill,
            fill_with: self.fill_with.clone(),
            clean: self.clean,
            hit_ratio: self.hit_ratio.clone(),
            fail_on_miss: self.fail_on_miss,
            seed: self.seed,
            ..Self::default()
        }
    }

    /// These options with these keys.
    pub fn drawn_from(self, keys: &KeySpace) -> Self {
        let KeySpace { range, draw, numbered, one_slot } = keys.clone();
        let is_named = ![KeyDist::SEQUENTIAL, KeyDist::UNIFORM].contains(&draw);
        let keys = KeyOptions {
            first_key: (numbered.first > 0).then_some(Count(numbered.first)),
            unpadded: numbered.bare,
            keys_by: Some(numbered.by).filter(|by| *by != DrawnBy::default()),
            one_slot: one_slot.is_some(),
        };
        let (key_range, sequential) = (range.map(KeyRange), draw == KeyDist::SEQUENTIAL);
        Self { key_range, sequential, key_dist: is_named.then_some(draw), keys, ..self }
    }
}

/// Options for the numbering of the keys of `-r`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct KeyOptions {
    /// Number of the first key of -r [default: 0]
    #[arg(long, hide = true, value_name = "NUM")]
    pub first_key: Option<Count<u64>>,
    /// Write key numbers without leading zeros
    #[arg(long, hide = true)]
    pub unpadded: bool,
    /// Draw a key for each `request` of the test; for each request of a `connection`, so that all
    /// connections draw the same keys; for each request of an `operation` of a connection; or take keys in
    /// order from a `slice` that only this connection has [default: request]
    #[arg(long, hide = true, value_name = "WHAT")]
    #[serde(with = "crate::text")]
    pub keys_by: Option<DrawnBy>,
    /// Give each request keys of a single hash slot, such as for mget in a cluster
    #[arg(long, hide = true)]
    pub one_slot: bool,
}

/// `-r`: how many keys. As in the peers, a negative number makes an empty key space, whose only key is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange(
    /// The number.
    pub u64,
);

impl FromStr for KeyRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let negative = text.strip_prefix('-').is_some_and(|digits| digits.parse::<u64>().is_ok());
        if negative { Ok(Self(0)) } else { count(text).map(Self) }
    }
}

/// `-d`: a number of bytes, or a distribution by its name. As in the peers, what is too small or too large becomes
/// the nearest that is not.
#[derive(Debug, Clone, PartialEq)]
pub enum Size {
    /// Size that is equal for all values.
    Fixed(u32),
    /// Size that is equal for all values, the nearest that is possible.
    Nearest {
        /// Size that was asked for.
        asked: i64,
        /// The size.
        bytes: u32,
    },
    /// A distribution.
    Drawn(Sizes),
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(bytes) = text.parse::<i64>() {
            let nearest = bytes.clamp(1, i64::from(SIZE_MAX));
            return Ok(if nearest == bytes {
                Self::Fixed(nearest as u32)
            } else {
                Self::Nearest { asked: bytes, bytes: nearest as u32 }
            });
        }
        let sizes: Sizes = text.parse().map_err(|why| {
            let uniform = format!("uniform:{text}");
            let meant = text.contains("..") && uniform.parse::<Sizes>().is_ok();
            if meant { format!("for sizes in a range, write {uniform}") } else { why }
        })?;
        let largest = sizes.largest();
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            Ok(Self::Fixed(largest.max(1)))
        } else {
            Ok(Self::Drawn(sizes))
        }
    }
}

written! {
    KeyRange Self(range) => range.to_string();
    Size size => match size {
        Self::Fixed(bytes) => bytes.to_string(),
        Self::Nearest { asked, .. } => asked.to_string(),
        Self::Drawn(sizes) => sizes.to_string(),
    };
}
