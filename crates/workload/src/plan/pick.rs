//! Choice of the next operation of a mix, and its text form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Rule for the next operation.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// An operation drawn at random, by weight.
    #[default]
    Drawn,
    /// Operations in order, each repeated as often as its weight says.
    InOrder,
    /// These operations in order; one may occur several times.
    Spans(Vec<Span>),
    /// Operation of the request's row in the dataset.
    Row,
}

/// Operation that is picked several times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Number among the operations of the mix.
    pub operation: u32,
    /// Number of repetitions; at least 1.
    pub times: u32,
}

/// Parses `drawn`, `turns`, `rows`, or numbers of operations from 1, each with its number of repetitions if
/// that is not 1: `2:9,1`.
impl FromStr for Pick {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let span = |span: &str| {
            let (operation, times) = span.split_once(':').unwrap_or((span, "1"));
            let number = |text: &str| text.trim().parse().ok().filter(|number: &u32| *number > 0);
            Some(Span { operation: number(operation)? - 1, times: number(times)? })
        };
        match text {
            "drawn" => Ok(Self::Drawn),
            "turns" => Ok(Self::InOrder),
            "rows" => Ok(Self::Row),
            spans => {
                let spans: Option<Vec<Span>> = spans.split(',').map(span).collect();
                spans.map(Self::Spans).ok_or_else(|| {
                    format!(
                        "{text:?}: expected drawn, turns, or numbers of operations from 1, such as \
                         1,2:9 for the first once and the second nine times"
                    )
                })
            }
        }
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans = match self {
            Self::Drawn => return f.write_str("drawn"),
            Self::InOrder => return f.write_str("turns"),
            Self::Row => return f.write_str("rows"),
            Self::Spans(spans) => spans,
        };
        for (at, Span { operation, times }) in spans.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}", operation + 1)?;
            if *times > 1 {
                write!(f, ":{times}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        let span = |operation, times| Span { operation, times };
        for (text, pick) in [
            ("drawn", Pick::Drawn),
            ("turns", Pick::InOrder),
            ("rows", Pick::Row),
            ("2", Pick::Spans(vec![span(1, 1)])),
            ("3,1:2,2:9", Pick::Spans(vec![span(2, 1), span(0, 2), span(1, 9)])),
        ] {
            assert_eq!(text.parse(), Ok(pick.clone()));
            assert_eq!(pick.to_string(), text);
        }
        for bad in ["", "0", "1:0", "1,,2", "get", "1:2:3"] {
            assert!(bad.parse::<Pick>().unwrap_err().contains("1,2:9"), "{bad}");
        }
    }
}
