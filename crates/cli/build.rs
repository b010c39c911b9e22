//! Packs the pages that docs/SUMMARY.md lists, which `keystorm help` prints: most of what they take in the program is
//! saved.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    let mut table = String::from("&[");
    for line in fs::read_to_string(page("SUMMARY")?)?.lines() {
        let Some((title, name)) = line.split_once("](") else { continue };
        let title = title.trim_start_matches([' ', '-', '[']);
        let name = name.trim_end_matches(".md)");
        let packed = to.join(name);
        pack(&page(name)?, &packed)?;
        table += &format!("({name:?}, {title:?}, include_bytes!({packed:?})),");
    }
    Ok(fs::write(to.join("topics.rs"), table + "]")?)
}

/// The file of a page, behind the link to their folder. It may change, and the link does not.
fn page(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let link = format!("topics/{name}.md");
    let page = fs::canonicalize(&link).map_err(|why| format!("{link}: {why}"))?;
    println!("cargo::rerun-if-changed={}", page.display());
    Ok(page)
}

fn pack(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let mut packed = DeflateEncoder::new(fs::File::create(to)?, Compression::best());
    std::io::copy(&mut fs::File::open(from)?, &mut packed)?;
    packed.finish()?;
    Ok(())
}
