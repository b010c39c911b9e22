//! The command of `--password-command`: runs it for the password, and caches the answer for a moment.
//!
//! It may take seconds, and a run with new logins must not pause for it. So the load has it run on a separate
//! thread ([`PasswordSource`]), and all others wait. Its output is shown nowhere, and is in no list of
//! processes.

use std::borrow::Cow;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use naming::PASSWORD_COMMAND;
use runner::{LoginPassword, PasswordSource};
use workload::{Credentials, Plan, Secret, Target, secret};

/// Validity of an answer, beside twice the time that it took.
const FRESH: Duration = Duration::from_secs(1);
/// Time limit of the command.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval of checks for its end.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Maximum number of bytes of a password: cloud tokens have about two thousand.
const BYTES_MAX: u64 = 64 * 1024;

/// A command for a password. There is one for each in command lines, and they live as long as the process.
pub(crate) struct PasswordCommand {
    command: String,
    asked: Mutex<Asked>,
    answered: Condvar,
}

#[derive(Default)]
struct Asked {
    /// The last answer with its end of validity, and whether another is being obtained.
    answer: Option<(Result<&'static str, String>, Instant)>,
    under_way: bool,
}

/// All commands so far.
static COMMANDS: Mutex<Vec<&'static PasswordCommand>> = Mutex::new(Vec::new());
/// Every password that was printed, without repetition.
static PRINTED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command of a target, if it has one.
pub(crate) fn for_target(target: &Target) -> Option<&'static PasswordCommand> {
    target.password_command.as_ref().map(|command| named(command.reveal()))
}

fn named(command: &str) -> &'static PasswordCommand {
    let mut all = locked(&COMMANDS);
    if let Some(known) = all.iter().find(|known| known.command == command) {
        return known;
    }
    let new = PasswordCommand {
        command: command.to_owned(),
        asked: Mutex::default(),
        answered: Condvar::new(),
    };
    let new: &'static PasswordCommand = Box::leak(Box::new(new));
    all.push(new);
    new
}

/// The current login; `None` without one.
pub(crate) fn credentials(target: &Target) -> Result<Option<Credentials>> {
    let Some(command) = for_target(target) else { return Ok(target.credentials.clone()) };
    let password = command.ask().map_err(|why| anyhow!(why))?;
    let user = target.credentials.as_ref().and_then(|login| login.user.clone());
    Ok(Some(Credentials { user, password: Secret::new(password) }))
}

/// Source of the password of a plan.
pub(crate) type Source = Option<&'static dyn PasswordSource>;

/// The plan with the current password, for code that logs in by the plan, and the source of later passwords.
pub(crate) fn asked(plan: &Plan) -> Result<(Cow<'_, Plan>, Source)> {
    let Some(command) = for_target(&plan.target) else { return Ok((Cow::Borrowed(plan), None)) };
    let login = credentials(&plan.target)?;
    Ok((Cow::Owned(plan.with(|parts| parts.target.credentials = login)?), Some(command)))
}

impl PasswordCommand {
    /// The current password, which may take as long as the command.
    pub(crate) fn ask(&'static self) -> Result<&'static str, String> {
        let mut asked = locked(&self.asked);
        loop {
            if let Some(fresh) = asked.fresh() {
                return fresh;
            }
            if !asked.under_way {
                asked.under_way = true;
                drop(asked);
                self.carry_out();
                asked = locked(&self.asked);
                continue;
            }
            asked = self.answered.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn carry_out(&self) {
        let began = Instant::now();
        let answer = printed_by(&self.command).map(kept);
        let answer = answer.map_err(|why| format!("{PASSWORD_COMMAND}: {why}"));
        let until = Instant::now() + FRESH + 2 * began.elapsed();
        let mut asked = locked(&self.asked);
        *asked = Asked { answer: Some((answer, until)), under_way: false };
        self.answered.notify_all();
    }
}

impl Asked {
    fn fresh(&self) -> Option<Result<&'static str, String>> {
        let (answer, until) = self.answer.as_ref()?;
        (Instant::now() < *until).then(|| answer.clone())
    }
}

impl PasswordSource for PasswordCommand {
    fn password(&self) -> LoginPassword {
        let mut asked = locked(&self.asked);
        match asked.fresh() {
            Some(Ok(password)) => return LoginPassword::Known(Secret::new(password)),
            Some(Err(why)) => return LoginPassword::Failed(why),
            None if asked.under_way => return LoginPassword::Pending,
            None => {}
        }
        asked.under_way = true;
        drop(asked);
        let command = named(&self.command);
        let begun = thread::Builder::new().name("password".to_owned());
        if let Err(error) = begun.spawn(move || command.carry_out()) {
            locked(&self.asked).under_way = false;
            return LoginPassword::Failed(format!("{PASSWORD_COMMAND}: {error}"));
        }
        LoginPassword::Pending
    }
}

/// Keeps a text for as long as the process lives, so that logins can borrow it.
fn kept(password: String) -> &'static str {
    let mut printed = locked(&PRINTED);
    if let Some(known) = printed.iter().find(|known| ***known == *password) {
        return known;
    }
    let password: &'static str = Box::leak(password.into_boxed_str());
    printed.push(password);
    password
}

/// The first line that a shell command prints. Errors do not quote its output, which may be a password.
fn printed_by(command: &str) -> Result<String, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = secret::without_passwords(&mut shell).spawn();
    let mut child = started.map_err(|error| format!("sh cannot be started: {error}"))?;
    let out = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = out.map(|out| out.take(BYTES_MAX).read_to_end(&mut bytes));
        read.transpose().map(|_| bytes)
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < PATIENCE => thread::sleep(LOOK_EVERY),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("the command did not end within {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    if !status.success() {
        return Err(format!("the command failed ({status}); run it by hand to see why"));
    }
    let bytes = reader.join().map_err(|_| "the command's output was not read".to_owned())?;
    let bytes = bytes.map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "the command did not print text".to_owned())?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err("the command printed no password".to_owned());
    }
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_password_and_nothing_that_fails_is_repeated() {
        assert_eq!(printed_by("printf 'pa ss\\nmore\\n'").unwrap(), "pa ss");
        for (command, why) in [
            ("echo hunter2; exit 3", "failed (exit status: 3)"),
            ("true", "printed no password"),
            ("/nowhere/x", "failed"),
        ] {
            let told = printed_by(command).unwrap_err();
            assert!(told.contains(why) && !told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn it_is_asked_once_for_many_logins_and_again_later() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let command = format!("echo x >> {}; echo secret", log.display());
        let target = Target { password_command: Some(Secret::new(command)), ..Target::default() };
        let asked = for_target(&target).unwrap();
        assert!(std::ptr::eq(asked, for_target(&target).unwrap()));
        for _ in 0..20 {
            assert_eq!(asked.ask(), Ok("secret"));
        }
        assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 1);
        // Long ago.
        locked(&asked.asked).answer.as_mut().unwrap().1 = Instant::now();
        assert!(matches!(asked.password(), LoginPassword::Pending));
        assert_eq!(asked.ask(), Ok("secret"));
        assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 2);
        assert!(matches!(asked.password(), LoginPassword::Known(_)));
    }
}
