//! Passwords: text that is used but never shown, and its positions in commands and in arguments of servers.
//!
//! Owns both, so that titles, plans, files and errors hide the same text. A password at any other position,
//! such as in a script, is not recognised.

use std::fmt;
use std::process::Command;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::unmasked::is_unmasked;

/// Text shown instead of a password.
pub const HIDDEN: &str = "***";

/// Environment variables with a password. Programs that keystorm starts do not get them, because anybody who
/// may inspect a process can read its environment.
pub const SECRET_VARIABLES: [&str; 2] = [PASSWORD_VARIABLE, KEY_PASSWORD_VARIABLE];

/// Variable with the server's password, as for `redis-cli`.
pub const PASSWORD_VARIABLE: &str = "REDISCLI_AUTH";

/// Variable with the password of the encrypted TLS key.
pub const KEY_PASSWORD_VARIABLE: &str = "KEYSTORM_KEY_PASSWORD";

/// Removes the passwords from the environment of a program that is about to be started.
pub fn without_passwords(command: &mut Command) -> &mut Command {
    SECRET_VARIABLES.iter().fold(command, |command, name| command.env_remove(name))
}

/// Text that is used but never shown: it is displayed and saved as `***`. Only [`unmasked`](crate::unmasked())
/// writes it as it is.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Secret(String);

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the code that sends it to the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if is_unmasked() { &self.0 } else { HIDDEN })
    }
}

/// Bytes of a secret, which need not be text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretBytes(Vec<u8>);

impl SecretBytes {
    /// Wraps the bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves, for code that sends them to the server or looks for them in texts.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for SecretBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::bytes::serialize(if is_unmasked() { &self.0 } else { HIDDEN.as_bytes() }, serializer)
    }
}

impl<'de> Deserialize<'de> for SecretBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::bytes::deserialize(deserializer).map(Self)
    }
}

/// Returns the positions of passwords in the words of a command with its name: the index of the word, and the
/// number of leading bytes that are not secret.
pub fn in_command<W: AsRef<[u8]>>(words: &[W]) -> Vec<(usize, usize)> {
    let is = |at: usize, word: &str| {
        words.get(at).is_some_and(|w| w.as_ref().eq_ignore_ascii_case(word.as_bytes()))
    };
    let all_from = |first: usize| (first..words.len()).map(|at| (at, 0)).collect::<Vec<_>>();
    if is(0, "AUTH") {
        // AUTH password, or AUTH user password. A slip in it is as secret.
        return all_from(if words.len() == 3 { 2 } else { 1 });
    }
    if is(0, "HELLO") {
        let auth = (2..words.len()).find(|at| is(*at, "AUTH"));
        return auth
            .map(|at| (at + 2, 0))
            .filter(|(at, _)| *at < words.len())
            .into_iter()
            .collect();
    }
    if is(0, "MIGRATE") {
        // MIGRATE host port key db timeout [AUTH password] [AUTH2 user password] [KEYS key ...]
        let end = (6..words.len()).find(|at| is(*at, "KEYS")).unwrap_or(words.len());
        let ofs = (6..end).filter_map(|at: usize| match (is(at, "AUTH"), is(at, "AUTH2")) {
            (true, _) => Some((at + 1, 0)),
            (_, true) => Some((at + 2, 0)),
            _ => None,
        });
        return ofs.filter(|(at, _)| *at < words.len()).collect();
    }
    if is(0, "ACL") && is(1, "SETUSER") {
        let rules = words.iter().enumerate().skip(3);
        return rules
            .filter(|(_, word)| is_password_rule(word.as_ref()))
            .map(|(at, _)| (at, 1))
            .collect();
    }
    if is(0, "CONFIG") && is(1, "SET") || is(0, "SENTINEL") || is(0, "MODULE") {
        let named = (1..words.len()).filter(|at| is_secret_setting(words[at - 1].as_ref()));
        return named.map(|at| (at, 0)).collect();
    }
    Vec::new()
}

/// Returns the positions of passwords in the arguments of a server, in the form of [`in_command`].
pub fn in_arguments<W: AsRef<[u8]>>(words: &[W]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut setting: &[u8] = b"";
    for (at, word) in words.iter().enumerate() {
        let word = word.as_ref();
        if let Some(named) = word.strip_prefix(b"--") {
            // A setting may have its value in the same word.
            let cut = named.iter().position(|byte| b" =\t".contains(byte));
            setting = &named[..cut.unwrap_or(named.len())];
            let Some(cut) = cut else { continue };
            if is_secret_setting(setting) {
                found.push((at, 2 + cut + 1));
            } else if setting.eq_ignore_ascii_case(b"user") {
                let rule = named.windows(2).position(|w| w[0] == b' ' && is_password_rule(&w[1..]));
                found.extend(rule.map(|rule| (at, 2 + rule + 2)));
            }
        } else if is_secret_setting(setting) {
            found.push((at, 0));
        } else if setting.eq_ignore_ascii_case(b"user") && is_password_rule(word) {
            found.push((at, 1));
        } else if setting.eq_ignore_ascii_case(b"sentinel") && is_secret_setting(word) {
            setting = word;
        }
    }
    found
}

/// Returns whether a rule adds or removes a password, in clear or as a hash.
fn is_password_rule(rule: &[u8]) -> bool {
    matches!(rule.first(), Some(b'>' | b'<' | b'#' | b'!'))
}

/// `requirepass`, `masterauth`, `primaryauth`, `tls-key-file-pass`, `auth-pass` and the like.
fn is_secret_setting(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(b"auth") || name.ends_with(b"pass") || name.ends_with(b"password")
}

/// Words with `***` for the passwords among them.
pub fn shown<W: AsRef<[u8]>>(words: &[W], passwords: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let mut shown: Vec<Vec<u8>> = words.iter().map(|word| word.as_ref().to_vec()).collect();
    for (at, open) in passwords {
        if let Some(word) = shown.get_mut(*at) {
            word.truncate(*open);
            word.extend_from_slice(HIDDEN.as_bytes());
        }
    }
    shown
}

/// The arguments of a server with `***` for passwords.
pub fn shown_arguments(args: &[String]) -> Vec<String> {
    let shown = shown(args, &in_arguments(args));
    shown.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
}

/// Passwords in the arguments of a server, to mask in its output.
pub fn of_arguments(args: &[String]) -> Vec<String> {
    let found = in_arguments(args);
    let rests =
        found.into_iter().filter_map(|(at, open)| args.get(at).and_then(|arg| arg.get(open..)));
    rests.filter(|secret| !secret.is_empty()).map(str::to_owned).collect()
}

/// Words of a command line with `***` for passwords: commands with `;` between them, each with or without a
/// repeat count before it.
pub fn shown_sequence(words: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut all = Vec::with_capacity(words.len());
    for (number, group) in words.split(|word| word == b";").enumerate() {
        if number > 0 {
            all.push(b";".to_vec());
        }
        let counted = group.first().is_some_and(|w| w.first().is_some_and(|b| b.is_ascii_digit()));
        let (count, command) = group.split_at(usize::from(counted));
        all.extend_from_slice(count);
        all.extend(shown(command, &in_command(command)));
    }
    all
}

/// Replaces each of these secrets in a text by `***`. A short secret may be part of any word, so only whole
/// words are replaced.
pub fn masked<'s>(text: String, secrets: impl IntoIterator<Item = &'s str>) -> String {
    const SHORT: usize = 5;
    let hide = |text: String, secret: &str| {
        if secret.is_empty() || !text.contains(secret) {
            return text;
        }
        let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
        for (at, _) in text.match_indices(secret) {
            let (before, after) = (&text[..at], &text[at + secret.len()..]);
            let within =
                before.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
            if secret.len() > SHORT || !within {
                shown += &text[from..at];
                shown += HIDDEN;
                from = at + secret.len();
            }
        }
        shown + &text[from..]
    };
    secrets.into_iter().fold(text, hide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        let words: Vec<Vec<u8>> = text.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let shown = shown_sequence(&words);
        String::from_utf8(shown.join(&b' ')).unwrap()
    }

    #[test]
    fn commands_hide_their_passwords_and_nothing_else() {
        for (typed, shown) in [
            ("auth hunter2", "auth ***"),
            ("AUTH me hunter2", "AUTH me ***"),
            ("auth me hunter2 more", "auth *** *** ***"),
            ("hello 3", "hello 3"),
            ("hello 3 auth me hunter2 setname x", "hello 3 auth me *** setname x"),
            ("config set requirepass hunter2", "config set requirepass ***"),
            (
                "config set maxmemory 1 masterauth hunter2 save x",
                "config set maxmemory 1 masterauth *** save x",
            ),
            ("config set tls-key-file-pass hunter2", "config set tls-key-file-pass ***"),
            ("config get requirepass", "config get requirepass"),
            (
                "acl setuser me on >hunter2 ~* #ab <hunter2 !ab +@all",
                "acl setuser me on >*** ~* #*** <*** !*** +@all",
            ),
            ("acl setuser >me on", "acl setuser >me on"),
            (
                "migrate h 1 k 0 5 copy auth hunter2 keys auth k2",
                "migrate h 1 k 0 5 copy auth *** keys auth k2",
            ),
            ("migrate h 1 k 0 5 AUTH2 me hunter2", "migrate h 1 k 0 5 AUTH2 me ***"),
            ("sentinel set m auth-pass hunter2", "sentinel set m auth-pass ***"),
            ("3 auth hunter2 ; get auth ; set a b", "3 auth *** ; get auth ; set a b"),
            ("set config requirepass", "set config requirepass"),
            ("multi ; auth hunter2", "multi ; auth ***"),
        ] {
            assert_eq!(line(typed), shown, "{typed}");
        }
    }

    #[test]
    fn arguments_of_a_server_hide_theirs() {
        let shown = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            shown_arguments(&words).join(" ")
        };
        assert_eq!(
            shown(&["--requirepass", "hunter2", "--io-threads", "2", "--MASTERAUTH", "a b"]),
            "--requirepass *** --io-threads 2 --MASTERAUTH ***"
        );
        assert_eq!(
            shown(&["--requirepass hunter2", "--maxclients", "5"]),
            "--requirepass *** --maxclients 5"
        );
        assert_eq!(shown(&["--requirepass=hunter2"]), "--requirepass=***");
        assert_eq!(
            shown(&["my.conf", "--user", "me", "on", ">hunter2", "~*", "--save", ">x"]),
            "my.conf --user me on >*** ~* --save >x"
        );
        assert_eq!(shown(&["--user me on >hunter2 ~*"]), "--user me on >***");
        assert_eq!(
            shown(&["--sentinel", "auth-pass", "m", "hunter2"]),
            "--sentinel auth-pass *** ***"
        );
        let args: Vec<String> =
            ["--user", "me", ">p1", "--requirepass", "p2"].map(String::from).into();
        assert_eq!(of_arguments(&args), ["p1", "p2"]);
    }

    #[test]
    fn texts_are_masked() {
        assert_eq!(masked("no p1 in 'p2'".into(), ["p1", "p2", ""]), "no *** in '***'");
        assert_eq!(masked("ERR xhunter2x".into(), ["hunter2", "R"]), "ERR x***x");
        assert_eq!(masked("x: no x >x< exit".into(), ["x"]), "***: no *** >***< exit");
    }

    #[test]
    fn a_secret_shows_in_no_form() {
        let bytes = SecretBytes::new(*b"hunter2");
        assert_eq!(
            (format!("{bytes:?}"), serde_json::to_string(&bytes).unwrap()),
            ("***".into(), "\"***\"".into())
        );
        assert_eq!(bytes.reveal(), b"hunter2");
    }
}
