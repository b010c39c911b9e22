//! Packs the pages of `topics/`, which `keystorm help` prints: most of what they take in the program is saved.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    println!("cargo::rerun-if-changed=topics");
    for entry in fs::read_dir("topics")? {
        let from = entry?.path();
        // What a link leads to may change, and the link does not.
        println!("cargo::rerun-if-changed={}", fs::canonicalize(&from)?.display());
        pack(&from, &to.join(from.file_name().ok_or("a page has no name")?))?;
    }
    Ok(())
}

fn pack(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let mut packed = DeflateEncoder::new(fs::File::create(to)?, Compression::best());
    std::io::copy(&mut fs::File::open(from)?, &mut packed)?;
    packed.finish()?;
    Ok(())
}
