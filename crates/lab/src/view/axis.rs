//! Names of axes, and their units.

use naming::{CONNECTIONS, DURATION, KEY_RANGE, OptionId, PIPELINE, RATE, REQUESTS, SIZE, THREADS};
use report::page::Unit;

const LOAD_OPTIONS: [(OptionId, &str, Unit); 8] = [
    (CONNECTIONS, "connections", Unit::Count),
    (PIPELINE, "requests per pipeline", Unit::Count),
    (SIZE, "value size", Unit::Bytes),
    (KEY_RANGE, "keys", Unit::Count),
    (REQUESTS, "requests", Unit::Count),
    (THREADS, "threads", Unit::Count),
    (RATE, "requested rate", Unit::PerSecond),
    (DURATION, "duration", Unit::Seconds),
];

/// Returns the name of an option's quantity, for people, and its unit.
pub(super) fn described(option: &str) -> (&str, Unit) {
    let of_load = LOAD_OPTIONS.iter().find(|(id, ..)| id.word() == option);
    match (of_load, option.strip_prefix("--")) {
        (Some((_, name, unit)), _) => (name, *unit),
        // For deliveries, the noun of the number.
        (None, Some(name)) if name.ends_with('s') && !name.contains('-') => (name, Unit::Count),
        (None, _) => (option, Unit::Plain),
    }
}
