//! The text of a workload, and the places in it that errors name.

use std::io::Read;
use std::path::Path;

/// Maximum number of bytes of a file.
const BYTES_MAX: u64 = 16 << 20;

/// A text with its name.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// A path, or the name of a preset.
    pub name: String,
    /// Content of the source.
    pub text: String,
    /// Set if the workload comes with keystorm.
    pub is_preset: bool,
}

impl Source {
    /// An error at a place, which is counted in bytes from the start.
    pub fn fault(&self, at: usize, why: impl std::fmt::Display) -> String {
        format!("{}: {why}", self.place(at))
    }

    /// A place, as compilers and editors write it.
    pub fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.name)
    }

    /// Position of the key of a value that begins at a place.
    pub fn key_before(&self, at: usize, key: &str) -> usize {
        self.text.get(..at).and_then(|before| before.rfind(key)).unwrap_or(at)
    }

    /// Returns its name without folder and extension.
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem();
        stem.map_or_else(|| self.name.clone(), |stem| stem.to_string_lossy().into_owned())
    }
}

/// Reads a file that people write.
///
/// # Errors Returns an error if it cannot be read, or is not text.
pub fn read_text(path: &str) -> Result<Source, String> {
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    Ok(Source { name: path.to_owned(), text: text(file)?, is_preset: false })
}

/// Reads a text that people write.
pub(crate) fn text(from: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("the text is larger than {} MiB", BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_columns_of_characters() {
        let source = Source {
            name: "a.toml".to_owned(),
            text: "ä = 1\nß = 2\n".to_owned(),
            is_preset: false,
        };
        assert_eq!(source.place(0), "a.toml:1:1");
        assert_eq!(source.place("ä = 1\nß ".len()), "a.toml:2:3");
        assert_eq!(source.fault(1000, "no"), "a.toml:3:1: no");
        assert_eq!(source.stem(), "a");
    }
}
