//! Checks of the server's build: version, word size, allocator.

use super::asked;
use crate::doctor::finding::{Outcome, Verdict};
use crate::doctor::{Evidence, Info};

fn info(evidence: &Evidence) -> Result<&Info, String> {
    asked(evidence)?.info.as_ref().map_err(Clone::clone)
}

/// The first three numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().ok());
    let first = parts.next()??;
    Some((first, parts.next().flatten().unwrap_or(0), parts.next().flatten().unwrap_or(0)))
}

/// Oldest Redis that still gets security fixes (November 2026).
const REDIS_KEPT_UP: (u32, u32, u32) = (7, 2, 0);

pub(super) fn version(evidence: &Evidence) -> Verdict {
    let facts = &info(evidence)?.facts;
    let (Some(product), Some(version)) = (&facts.product, &facts.version) else {
        return Err("the server's INFO names no version".to_owned());
    };
    let seen = format!("{product} {version}");
    let mend = "a current release of Valkey or Redis, from your distribution or its project";
    let Some(numbers) = numbers(version) else { return Ok(Outcome::ok(seen)) };
    Ok(match (product.as_str(), numbers) {
        // 255.255.255 is what a build of the development branch calls itself.
        (_, (255, 255, 255)) => Outcome::warn(
            seen,
            "a development build, which differs from every release",
            "measure a release, or publish the commit with the result",
        ),
        // <https://github.com/redis/redis/issues/10981>
        ("redis", (7, 0, patch)) if patch < 11 => Outcome::warn(
            seen,
            "7.0 before 7.0.11 is known to be slower than 6.2, in scripts above all, and is no \
             longer maintained",
            mend,
        ),
        ("redis", (..=5, ..)) => Outcome::warn(
            seen,
            "before Redis 6 there are no I/O threads and no ACL; such servers are no longer \
             maintained",
            mend,
        ),
        ("redis", numbers) if numbers < REDIS_KEPT_UP => Outcome::warn(
            seen,
            "no longer maintained by its project: figures are of a server that nobody should run on a network",
            mend,
        ),
        _ => Outcome::ok(seen),
    })
}

pub(super) fn bits(evidence: &Evidence) -> Verdict {
    Ok(match info(evidence)?.get("arch_bits")? {
        "32" => Outcome::warn(
            "32 bits",
            "it holds at most 3 GB of data, and handles 64-bit numbers in two steps",
            "a 64-bit build of the server",
        ),
        bits => Outcome::ok(format!("{bits} bits")),
    })
}

pub(super) fn allocator(evidence: &Evidence) -> Verdict {
    let name = info(evidence)?.get("mem_allocator")?;
    Ok(Outcome::ok(name).warn_if(
        name == "libc",
        "slower and with more fragmentation than jemalloc, which servers are tuned with",
        "build the server with make MALLOC=jemalloc",
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_numbers() {
        assert_eq!(super::numbers("7.0.15"), Some((7, 0, 15)));
        assert_eq!(super::numbers("8.1-rc1"), Some((8, 1, 0)));
        assert_eq!(super::numbers("unstable"), None);
    }
}
