//! Any bytes, cut anywhere, are the same events as whole, and take no more memory than they may.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&piece, input)) = data.split_first() else { return };
    traffic::conformance::check("monitor", input, usize::from(piece));
});
