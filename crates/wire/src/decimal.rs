//! Decimal digits of numbers, in a fixed width or in as many as a number needs.

/// Writes `value` right-aligned into all of `out`, padded with zeros; digits that do not fit are cut off at
/// the left, as in other tools.
#[inline]
pub(crate) fn write_digits(value: u64, out: &mut [u8]) {
    if let Ok(twelve) = <&mut [u8; 12]>::try_from(&mut *out) {
        write_twelve(value, twelve);
    } else {
        write_pairs(value, out);
    }
}

/// Writes digits two by two, as many as there is room for.
fn write_pairs(mut value: u64, out: &mut [u8]) {
    for pair in out.rchunks_mut(2) {
        let low = (value % 100) as usize;
        value /= 100;
        match pair {
            [tens, ones] => [*tens, *ones] = PAIRS[low],
            [ones] => *ones = PAIRS[low][1],
            _ => {}
        }
    }
}

/// Writes twelve digits, as many as keys have.
#[inline]
fn write_twelve(value: u64, out: &mut [u8; 12]) {
    const LOW: u64 = 100_000_000;
    let (high, low) = out.split_at_mut(4);
    let (above, below) = if value < LOW {
        (*b"00000000", value)
    } else {
        (eight_digits((value / LOW % LOW) as u32), value % LOW)
    };
    high.copy_from_slice(&above[4..]);
    low.copy_from_slice(&eight_digits(below as u32));
}

/// Digits of a number below 10^8. All are computed at once, in lanes of one register: two numbers of four
/// digits, four of two, eight of one. A multiplication and a shift divide each lane.
#[inline]
fn eight_digits(value: u32) -> [u8; 8] {
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = (fours * 10_486) >> 20 & 0x7f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    let ones = tens | (twos - 10 * tens) << 8;
    (ones | u64::from_ne_bytes(*b"00000000")).to_le_bytes()
}

/// Digits of a number in decimal.
pub(crate) fn decimal_width(number: u64) -> usize {
    number.max(1).ilog10() as usize + 1
}

/// Writes a number with this many digits, or unpadded for 0.
pub(crate) fn append_number(number: u64, digits: usize, out: &mut Vec<u8>) {
    if digits == 0 {
        return append_decimal(number, out);
    }
    let start = out.len();
    out.resize(start + digits, b'0');
    write_digits(number, &mut out[start..]);
}

/// Writes a number in decimal, without leading zeros.
#[inline]
pub(crate) fn append_decimal(number: u64, out: &mut Vec<u8>) {
    // Copies of a size that is known when this is compiled, the excess cut off: a copy of as many bytes as a
    // number has digits is a call.
    const LONGEST: usize = 12;
    let width = decimal_width(number);
    let end = out.len() + width;
    if width <= 2 {
        let [tens, ones] = PAIRS[number as usize];
        out.extend_from_slice(&if width == 1 { [ones, 0] } else { [tens, ones] });
    } else if width <= LONGEST {
        let mut digits = [0; 2 * LONGEST];
        let (twelve, _) = digits.split_first_chunk_mut::<LONGEST>().expect("it is twice as long");
        write_twelve(number, twelve);
        let from = LONGEST - width;
        out.extend_from_slice(&digits[from..from + LONGEST]);
    } else {
        let mut digits = [0; 20];
        write_digits(number, &mut digits);
        out.extend_from_slice(&digits[20 - width..]);
    }
    out.truncate(end);
}

/// "00" to "99": two digits for one division.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_of_the_standard_library(value: u64, width in 1usize..22) {
            let mut out = vec![0; width];
            write_digits(value, &mut out);
            let expected = format!("{value:0>30}");
            prop_assert_eq!(String::from_utf8(out).unwrap(), &expected[expected.len() - width..]);
        }

        #[test]
        fn numbers_have_as_many_digits_as_they_need(value: u64, bits in 0u32..64) {
            let value = value >> bits;
            let mut out = b"$".to_vec();
            append_decimal(value, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("${value}"));
            prop_assert_eq!(decimal_width(value), value.to_string().len());
        }
    }
}
