//! Names of axes, and their units.

use page::Unit;

/// Returns the name of an option's quantity, for people, and its unit.
pub(super) fn described(option: &str) -> (&str, Unit) {
    match option {
        "-c" => ("connections", Unit::Count),
        "-P" => ("requests per pipeline", Unit::Count),
        "-d" => ("value size", Unit::Bytes),
        "-r" => ("keys", Unit::Count),
        "-n" => ("requests", Unit::Count),
        "--threads" => ("threads", Unit::Count),
        "--rps" => ("requested rate", Unit::PerSecond),
        "--duration" => ("duration", Unit::Seconds),
        "--publishers" => ("publishers", Unit::Count),
        "--subscribers" => ("subscribers", Unit::Count),
        "--channels" => ("channels", Unit::Count),
        "--writers" => ("writers", Unit::Count),
        "--senders" => ("senders", Unit::Count),
        "--receivers" => ("receivers", Unit::Count),
        other => (other, Unit::Plain),
    }
}
