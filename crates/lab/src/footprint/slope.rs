//! Bytes per key from a server's memory after each fill: the slope, in which fixed costs drop out.

use serde::{Deserialize, Serialize};

/// Memory of a server with this many keys, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Keys stored so far.
    pub keys: u64,
    /// Bytes that the allocator has given the server.
    pub used: u64,
    /// Bytes of `used` without the server's overhead: for a memcached, its items without the rest of their
    /// chunks.
    pub dataset: Option<u64>,
    /// Bytes that the server's process holds.
    pub resident: Option<u64>,
    /// Bytes of pages in use that the allocator holds for the server.
    pub active: Option<u64>,
}

/// Bytes of each further key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KeyBytes {
    /// Bytes that the allocator has given: `used_memory`.
    pub used: f64,
    /// Bytes that the server counts as its dataset.
    pub dataset: Option<f64>,
    /// Bytes that the process holds.
    pub resident: Option<f64>,
    /// Bytes of the allocator's pages beyond what it has given.
    pub allocator: Option<f64>,
}

impl KeyBytes {
    /// Slopes through readings; `None` for fewer than two different numbers of keys.
    pub fn from_readings(readings: &[Reading]) -> Option<Self> {
        let of = |part: &dyn Fn(&Reading) -> Option<u64>| {
            let points: Option<Vec<(f64, f64)>> =
                readings.iter().map(|at| Some((at.keys as f64, part(at)? as f64))).collect();
            slope(&points?)
        };
        let used = of(&|at| Some(at.used))?;
        let active = of(&|at| at.active);
        Some(Self {
            used,
            dataset: of(&|at| at.dataset),
            resident: of(&|at| at.resident),
            allocator: active.map(|active| active - used),
        })
    }
}

/// The slope of the line through points with the least squares.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) =
        points.iter().fold((0.0, 0.0), |(x, y), (px, py)| (x + px / count, y + py / count));
    let sums = points
        .iter()
        .fold((0.0, 0.0), |(xy, xx), (px, py)| (xy + (px - x) * (py - y), xx + (px - x).powi(2)));
    (sums.1 > 0.0).then(|| sums.0 / sums.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_costs_drop_out() {
        let reading = |keys: u64| Reading {
            keys,
            used: 850_000 + 152 * keys,
            dataset: Some(9 + 116 * keys),
            resident: None,
            active: Some(1_000_000 + 160 * keys),
        };
        let bytes = KeyBytes::from_readings(&[1024, 2048, 4096].map(reading)).unwrap();
        assert!((bytes.used - 152.0).abs() < 1e-9 && bytes.resident.is_none(), "{bytes:?}");
        assert!((bytes.dataset.unwrap() - 116.0).abs() < 1e-9);
        assert!((bytes.allocator.unwrap() - 8.0).abs() < 1e-9);
        assert_eq!(KeyBytes::from_readings(&[reading(7), reading(7)]), None);
    }
}
