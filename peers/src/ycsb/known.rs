//! Every property that is known, and whether it is carried out.

use cli::suggestions::nearest;

use super::properties::Properties;

/// Properties that are carried out, a line each.
const CARRIED_OUT: &str = include_str!("known.txt");

/// Properties that are carried out.
fn carried_out() -> impl Iterator<Item = &'static str> {
    CARRIED_OUT.lines().filter(|line| !line.starts_with('#'))
}

/// Properties without an effect, why, and the truth value that keystorm keeps to anyway.
const WITHOUT_EFFECT: &[(&str, &str, Option<bool>)] = &[
    (
        "spin.sleep",
        "keystorm waits for the next scheduled operation in its own way, and spins if a CPU is \
         free",
        Some(false),
    ),
    (
        "memcached.shutdownTimeoutMillis",
        "connections are closed as soon as the last reply is in",
        None,
    ),
    ("memcached.readBufferSize", "keystorm's buffers grow with what arrives", None),
    ("memcached.checkOperationStatus", "every reply is checked", Some(true)),
    ("measurement.trackjvm", "keystorm does not run on Java", Some(false)),
];

/// Properties of other bindings begin with a word of theirs and a dot; YCSB's own words are these.
const OURS: &str = "redis memcached measurement hdrhistogram histogram status exponential keystorm \
     timeseries spin core_workload htrace raw";

/// Checks that every property is supported, or belongs to another binding. A property without effect gets a
/// remark, unless keystorm does the same by default.
pub(super) fn check(properties: &Properties) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for name in properties.names() {
        if carried_out().any(|known| known == name) {
            continue;
        }
        if name.starts_with("htrace.") {
            lines.push(format!("{name}: no effect, keystorm writes no traces"));
            continue;
        }
        if let Some((_, why, kept)) = WITHOUT_EFFECT.iter().find(|(known, ..)| *known == name) {
            let is_so_anyway = kept.is_some_and(|kept| properties.flag(name, kept) == kept);
            lines.extend((!is_so_anyway).then(|| format!("{name}: no effect, {why}")));
            continue;
        }
        if name == "memcached.failureMode" {
            return Err(format!(
                "{name}: no server takes over the keys of another, and a lost connection ends the \
                 run; remove it"
            ));
        }
        let word = name.split_once('.').map(|(word, _)| word);
        if word.is_some_and(|word| OURS.split(' ').all(|own| own != word)) {
            continue;
        }
        let near = nearest(name, carried_out());
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(format!("{name}: unknown property{near}"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_ignored_but_what_other_bindings_read() {
        let of = |line: &str| check(&Properties::read(line.as_bytes()));
        assert_eq!(of("recordcount=1\nmongodb.url=x\njdbc.fetchsize=1"), Ok(Vec::new()));
        for (line, why) in [
            ("recordcont=1", "did you mean recordcount?"),
            ("redis.hsot=1", "did you mean redis.host?"),
            ("memcached.failureMode=Retry", "no server takes over"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(why), "{line}: {error}");
        }
        for line in
            ["measurement.trackjvm=no", "spin.sleep=false", "memcached.checkOperationStatus=true"]
        {
            assert_eq!(of(line), Ok(Vec::new()), "{line}");
        }
        for line in [
            "measurement.trackjvm=true",
            "spin.sleep=true",
            "htrace.sampler=x",
            "memcached.checkOperationStatus=false",
            "memcached.readBufferSize=9",
        ] {
            let texts = of(line).unwrap();
            assert!(texts.len() == 1 && texts[0].contains(": no effect, "), "{line}: {texts:?}");
        }
    }
}
