//! The payload generator of `redis-benchmark`: a linear congruential generator whose stream continues from
//! value to value, so that a command line stores the same bytes with either tool (the first eight are
//! `VXKeHogK`).

/// The generator at a position in its stream.
#[derive(Debug, Clone, Copy)]
pub struct Lcg {
    state: u32,
}

const MULTIPLIER: u32 = 1_103_515_245;
const INCREMENT: u32 = 12345;
const SEED: u32 = 1234;

impl Lcg {
    /// Creates the generator after `skip` bytes.
    ///
    /// Jumps there in O(log skip): k steps of an affine map are an affine map, found by squaring (F. Brown,
    /// "Random number generation with arbitrary strides", 1994).
    pub fn at(mut skip: u64) -> Self {
        let (mut a, mut c) = (MULTIPLIER, INCREMENT);
        let mut state = SEED;
        while skip > 0 {
            if skip & 1 == 1 {
                state = state.wrapping_mul(a).wrapping_add(c);
            }
            c = c.wrapping_mul(a.wrapping_add(1));
            a = a.wrapping_mul(a);
            skip >>= 1;
        }
        Self { state }
    }

    /// Appends the next `len` bytes: printable characters from `'0'` to `'o'`.
    pub fn fill(&mut self, len: usize, out: &mut Vec<u8>) {
        out.reserve(len);
        for _ in 0..len {
            self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
            out.push(b'0' + ((self.state >> 16) & 63) as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_one_of_redis_benchmark() {
        let mut out = Vec::new();
        Lcg::at(0).fill(8, &mut out);
        assert_eq!(out, b"VXKeHogK");
    }

    #[test]
    fn a_jump_lands_where_walking_does() {
        let mut walked = Vec::new();
        Lcg::at(0).fill(1000, &mut walked);
        for skip in [1, 2, 3, 64, 997] {
            let mut jumped = Vec::new();
            Lcg::at(skip as u64).fill(3, &mut jumped);
            assert_eq!(jumped, walked[skip..skip + 3]);
        }
    }
}
