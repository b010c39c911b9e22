//! Any bytes are a value, the beginning of one, or refused; and what is a value is one reply.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::Decode;
use wire::resp::{RespDecoder, Value};

fuzz_target!(|data: &[u8]| {
    if let Ok(Some((_, len))) = Value::parse(data) {
        assert!(len <= data.len());
        let mut decoder = RespDecoder::default();
        let framed = decoder.decode(&data[..len]);
        assert!(framed.is_ok_and(|step| step.consumed <= len));
    }
});
