//! Lengths of fields.

use std::fs;

use workload::Sizes;

use super::properties::Properties;

/// The one length of all fields.
///
/// # Errors
/// Returns an error if they vary.
pub(super) fn constant(properties: &Properties) -> Result<u32, String> {
    match properties.text("fieldlengthdistribution", "constant") {
        "constant" => properties.number("fieldlength", 100),
        other => Err(format!(
            "dataintegrity=true requires fields of constant length, but fieldlengthdistribution \
             is {other}"
        )),
    }
}

/// The lengths of fields.
pub(super) fn sizes(properties: &Properties) -> Result<Sizes, String> {
    let most = properties.number("fieldlength", 100u32)?;
    let least = properties.number("minfieldlength", 1u32)?;
    let text = match properties.text("fieldlengthdistribution", "constant") {
        "constant" => most.to_string(),
        "uniform" => format!("uniform:{least}..{most}"),
        "zipfian" => format!("ycsb:{least}..{most}"),
        "histogram" => {
            let path = properties.text("fieldlengthhistogram", "hist.txt");
            let fault = |why: String| format!("fieldlengthhistogram={path}: {why}");
            let text = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
            histogram(&text).map_err(fault)?
        }
        other => {
            return Err(format!(
                "fieldlengthdistribution={other}: expected constant, uniform, zipfian or \
                 histogram"
            ));
        }
    };
    text.parse().map_err(|why| format!("fieldlength: {why}"))
}

/// The sizes that YCSB draws of a histogram: the length of a bucket is that of its upper end, but of the
/// last that of its lower one, and the first has one draw more and the last one less than it says.
fn histogram(text: &str) -> Result<String, String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let pair = |line: &str| -> Result<(String, u64), String> {
        let (name, number) = line.split_once('\t').ok_or_else(|| format!("{line:?} has no tab"))?;
        let number = number.trim().parse().map_err(|_| format!("{number:?} is not a number"))?;
        Ok((name.to_owned(), number))
    };
    let head = lines.next().map(pair).transpose()?;
    let Some((_, block)) = head.filter(|(name, _)| name == "BlockSize") else {
        return Err("the first line must be BlockSize, a tab and a number".to_owned());
    };
    let mut counts = Vec::new();
    for line in lines {
        let (bucket, count) = pair(line)?;
        if bucket.parse() != Ok(counts.len()) {
            return Err(format!("expected bucket {}, found {bucket}", counts.len()));
        }
        counts.push(count);
    }
    let Some(last) = counts.len().checked_sub(1) else {
        return Err("the file has no buckets".to_owned());
    };
    let mut sizes: Vec<(u64, u64)> = Vec::new();
    for (at, count) in counts.into_iter().enumerate() {
        let (size, count) = match at {
            _ if last == 0 => (0, count),
            0 => (block, count + 1),
            _ if at == last => (at as u64 * block, count.saturating_sub(1)),
            _ => ((at as u64 + 1) * block, count),
        };
        match sizes.last_mut() {
            Some((before, sum)) if *before == size => *sum += count,
            _ => sizes.push((size, count)),
        }
    }
    let drawn = sizes.iter().filter(|(_, count)| *count > 0);
    let drawn: Vec<String> = drawn.map(|(size, count)| format!("{size}={count}")).collect();
    if drawn.is_empty() {
        Err("all buckets are empty".to_owned())
    } else {
        Ok(format!("sizes:{}", drawn.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_drawn_as_ycsb_draws_it() {
        let three = histogram("BlockSize\t10\n0\t5\n1\t3\n2\t4\n").unwrap();
        assert_eq!(three, "sizes:10=6,20=6", "the last bucket is as long as the one before");
        assert_eq!(
            histogram("BlockSize\t10\n0\t5\n1\t3\n2\t0\n3\t7\n").unwrap(),
            "sizes:10=6,20=3,30=6"
        );
        for bad in ["", "0\t5\n", "BlockSize\t10\n1\t5\n", "BlockSize\t10\n", "BlockSize\tx\n"] {
            assert!(histogram(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lengths_are_those_that_properties_say() {
        let of = |lines: &str| sizes(&Properties::read(lines.as_bytes())).map(|s| s.to_string());
        assert_eq!(of("").unwrap(), "100");
        assert_eq!(of("fieldlengthdistribution=uniform\nfieldlength=9").unwrap(), "uniform:1..9");
        assert_eq!(of("fieldlengthdistribution=zipfian\nminfieldlength=2").unwrap(), "ycsb:2..100");
        assert!(of("fieldlengthdistribution=Uniform").unwrap_err().contains("expected constant"));
        let missing = "fieldlengthdistribution=histogram\nfieldlengthhistogram=/no/such";
        assert!(of(missing).unwrap_err().contains("/no/such"));
    }
}
