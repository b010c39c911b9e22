//! Advice in the vocabulary of the imitated tool: names of keystorm's options become that tool's own, or get
//! the prefix under which it takes keystorm's.

use super::run::has_option;

/// Wording of keystorm's own messages by an imitated tool.
pub struct Words {
    /// keystorm's phrases and options, each with this tool's wording; longer ones first.
    pub phrases: &'static [(&'static str, &'static str)],
    /// Function that returns whether an option is one of its own, by its name with dashes.
    pub has: fn(&str) -> bool,
}

/// Other programs that messages advise to run: an option behind one of them belongs to it and stays as it is.
const PROGRAMS: [&str; 5] = ["redis-cli", "valkey-cli", "taskset", "ulimit", "sysctl"];

/// Prefix of keystorm's options on the command line of an imitated tool.
const PREFIX: &str = "--ks-";

impl Words {
    /// The text, with keystorm's phrases and options replaced by this tool's.
    pub fn of(&self, text: &str) -> String {
        let (mut advised, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(next) = rest.chars().next() {
            // Only where a word begins: -a is no part of --append.
            let begins = advised.chars().next_back().is_none_or(|c| !is_of_word(c))
                && !ends_with_program(&advised);
            let phrase = self.phrases.iter().filter(|_| begins).find(|(ours, _)| {
                rest.strip_prefix(ours).is_some_and(|rest| !rest.starts_with(is_of_word))
            });
            if let Some((ours, theirs)) = phrase {
                advised += theirs;
                rest = &rest[ours.len()..];
                continue;
            }
            let word = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            let (option, after) = rest.split_at(word.max(next.len_utf8()));
            match option.strip_prefix("--") {
                Some(name)
                    if begins && !name.is_empty() && !(self.has)(option) && has_option(name) =>
                {
                    advised += PREFIX;
                    advised += name;
                }
                _ => advised += option,
            }
            rest = after;
        }
        advised
    }
}

fn ends_with_program(text: &str) -> bool {
    let before = text.strip_suffix(' ').unwrap_or_default();
    PROGRAMS.iter().any(|program| before.ends_with(program))
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words = Words {
        phrases: &[
            ("-a, and unset IT", "--authenticate"),
            ("-a", "--authenticate"),
            ("--dbnum", "-n"),
        ],
        has: |option| option == "--tls",
    };

    #[test]
    fn options_get_the_names_that_a_tool_has_for_them() {
        for (ours, theirs) in [
            ("Remove -a, and unset IT.", "Remove --authenticate."),
            ("say -a or --append-a", "say --authenticate or --append-a"),
            ("(--dbnum) --spawn: --tls; --nope", "(-n) --ks-spawn: --tls; --nope"),
            ("ü — 'x' -", "ü — 'x' -"),
            ("use redis-cli --dbnum, or --dbnum", "use redis-cli --dbnum, or -n"),
            (
                "taskset -a, ulimit --spawn; redis-clip -a",
                "taskset -a, ulimit --spawn; redis-clip --authenticate",
            ),
        ] {
            assert_eq!(WORDS.of(ours), theirs);
        }
    }
}
