//! The terminal as one screen about a run that lasts.
//!
//! Owns the terminal while the screen is up: it is another screen than the one that the shell and all lines stand on,
//! which is given back for each line that is printed, when the program is stopped or asked to end, and at the end.
//! What is on it is drawn by crate `page`. There is one terminal, and so one screen of the program.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::{env, thread};

use page::screen::Screen;
use page::term;
use rustix::{process, termios};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// A line that is too long for a terminal that has just become narrower is cut and does not go on below.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
/// Of a terminal that does not know its size.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Whether the terminal shows the screen now.
static UP: AtomicBool = AtomicBool::new(false);
/// Whether it was given back for good, since the program was asked to end.
static OVER: AtomicBool = AtomicBool::new(false);
/// What is to be seen; `None` while there is no screen.
static SHOWN: Mutex<Option<Screen>> = Mutex::new(None);
static WATCHED: Once = Once::new();

/// Whether standard output is a terminal on which a screen can be drawn.
pub(crate) fn is_possible() -> bool {
    let kind = env::var_os("TERM");
    io::stdout().is_terminal() && kind.is_none_or(|kind| kind != "dumb")
}

/// Shows this from now on. Whether it can be shown: not once the program was asked to end.
pub(crate) fn show(screen: Screen) -> bool {
    WATCHED.call_once(watch_signals);
    let mut shown = lock();
    if OVER.load(Ordering::Relaxed) {
        return false;
    }
    *shown = Some(screen);
    draw(shown.as_ref());
    true
}

/// Gives the terminal back.
pub(crate) fn hide() {
    *lock() = None;
    give_back();
}

/// Gives the terminal back for good, for a program that ends at once. It waits for nobody.
pub fn abandon() {
    OVER.store(true, Ordering::Relaxed);
    give_back();
}

/// Prints something on the screen of the shell, where it stays.
pub(crate) fn out_of_the_way<R>(print: impl FnOnce() -> R) -> R {
    if !UP.load(Ordering::Relaxed) {
        return print();
    }
    let shown = lock();
    give_back();
    let printed = print();
    draw(shown.as_ref());
    printed
}

/// A thread that panicked left nothing half done that matters here.
fn lock() -> MutexGuard<'static, Option<Screen>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_back() {
    if UP.swap(false, Ordering::Relaxed) {
        put(LEAVE);
    }
}

/// A terminal that is gone is noticed by what prints the results.
fn put(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Draws it, unless the terminal is another program's now.
fn draw(screen: Option<&Screen>) {
    let Some(screen) = screen.filter(|_| !OVER.load(Ordering::Relaxed) && is_in_front()) else {
        return;
    };
    let no_color = env::var_os("NO_COLOR");
    let colour = term::colour_wanted(true, no_color.as_deref(), env::var_os("TERM").as_deref());
    let (columns, rows) = size();
    let mut lines = screen.draw(columns, rows, colour);
    // Erased from the start: at the end of a full line the cursor stands on its last character.
    lines.iter_mut().for_each(|line| line.insert_str(0, "\x1b[K"));
    if lines.len() < rows {
        lines.push("\x1b[J".to_owned());
    }
    let enter = if UP.swap(true, Ordering::Relaxed) { "" } else { ENTER };
    put(&format!("{enter}{NO_WRAP}\x1b[H{}{WRAP}", lines.join("\r\n")));
}

/// Whether the shell has put this program before all others; true where there is no shell that does.
fn is_in_front() -> bool {
    termios::tcgetpgrp(io::stdout()).map_or(true, |front| front == process::getpgrp())
}

fn size() -> (usize, usize) {
    let known = termios::tcgetwinsize(io::stdout()).ok();
    let known = known.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    known.filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(USUAL_SIZE)
}

/// Listens to what changes the terminal, until the program ends: once it has, Ctrl-Z is handled here and nowhere else.
fn watch_signals() {
    let all = [SIGWINCH, SIGTSTP, SIGCONT, SIGINT, SIGTERM, SIGHUP];
    let Ok(mut signals) = Signals::new(all) else { return };
    let watch = move || signals.forever().for_each(take);
    // Without a thread Ctrl-Z would have no effect; there is one for each worker, so there is one more.
    let _ = thread::Builder::new().name("terminal".to_owned()).spawn(watch);
}

fn take(signal: i32) {
    let shown = lock();
    match signal {
        SIGTSTP => {
            give_back();
            // Returns when the program goes on, of which SIGCONT tells.
            let _ = low_level::emulate_default_handler(SIGTSTP);
        }
        SIGCONT | SIGWINCH => draw(shown.as_ref()),
        _ => abandon(),
    }
}
