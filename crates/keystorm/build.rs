//! Links the program of the tests to a fixed address: they start it over ten thousand times, and the loader would
//! relocate 156,000 pointers each time.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name, value| var(name).is_ok_and(|found| found == value);
    // What is released keeps its random address. Musl's programs are static, and other systems have no such option.
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
