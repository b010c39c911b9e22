//! What many runs warn of, each once: their figures differ from run to run.

/// Warnings, of which those that differ in their figures only are one.
#[derive(Debug, Clone, Default)]
pub struct Warned(Vec<Kind>);

#[derive(Debug, Clone)]
struct Kind {
    /// As the first run said it.
    text: String,
    runs: usize,
}

impl Warned {
    /// Adds what a run warns of, and says whether it is the first of its kind.
    pub fn add(&mut self, text: &str) -> bool {
        match self.0.iter().position(|kind| alike(&kind.text, text)) {
            Some(known) => self.0[known].runs += 1,
            None => {
                self.0.push(Kind { text: text.to_owned(), runs: 1 });
                return true;
            }
        }
        false
    }

    /// Each as the first run said it, and how many runs did, in the order in which they came.
    pub fn shown(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|kind| (kind.text.as_str(), kind.runs))
    }
}

/// Whether two texts differ in their figures only.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    let is_word = |c: &char| !c.is_ascii_digit() && *c != '.';
    a.chars().filter(is_word).eq(b.chars().filter(is_word))
}
