//! Numbers and the order of names as Java has them.

use workload::hashes;

/// A double as Java writes one: always with a point, and with an `E` from ten million on and below a
/// thousandth.
pub(super) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// The place of a name in a hash map of 16 buckets, of which each keeps the order in which names came.
pub(super) fn bucket(name: &str) -> u32 {
    let hash = hashes::java(0, name.as_bytes()).cast_unsigned();
    (hash ^ (hash >> 16)) % 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_those_of_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (1250.0, "1250.0"),
            (23_201.856_148_491_88, "23201.85614849188"),
            (12_345_678.0, "1.2345678E7"),
            (1e7, "1.0E7"),
            (9_999_999.5, "9999999.5"),
            (0.000_25, "2.5E-4"),
            (0.001, "0.001"),
            (-4.0, "-4.0"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn names_stand_where_a_map_of_java_has_them() {
        let mut names = [
            "UPDATE",
            "INSERT",
            "READ-FAILED",
            "VERIFY",
            "INSERT-FAILED",
            "SCAN",
            "CLEANUP",
            "READ",
            "UPDATE-FAILED",
            "READ-MODIFY-WRITE",
            "SCAN-FAILED",
        ];
        names.sort_by_key(|name| bucket(name));
        assert_eq!(
            names,
            [
                "READ",
                "UPDATE-FAILED",
                "SCAN-FAILED",
                "READ-MODIFY-WRITE",
                "CLEANUP",
                "UPDATE",
                "INSERT",
                "READ-FAILED",
                "VERIFY",
                "SCAN",
                "INSERT-FAILED"
            ]
        );
    }
}
