//! The progress bar of an experiment, one line of a terminal on standard error.
//!
//! Ensures that it does not mix with other output, and is removed at the end in any case.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle, WeakProgressBar};

/// The bar on the terminal, if there is one.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// A bar of this many steps, with text after it.
pub struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar in a line of the terminal, if standard error is one.
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {wide_msg}") {
            bar.set_style(style);
        }
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
        Self(bar)
    }

    /// Draws the bar.
    pub fn show(&self, step: u64, words: String) {
        self.0.set_position(step);
        self.0.set_message(words);
        self.0.tick();
    }

    /// Clears the line for other output.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

thread_local! {
    /// Set once this thread has put the bar out of the way.
    static ASIDE: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a bar takes a line of the terminal.
pub fn is_shown() -> bool {
    shown().is_some_and(|bar| !bar.is_finished() && !bar.is_hidden())
}

/// Prints something while the bar, if there is one, is hidden.
pub fn out_of_the_way<R>(print: impl FnOnce() -> R) -> R {
    match shown() {
        Some(bar) if !bar.is_finished() && !ASIDE.get() => {
            ASIDE.set(true);
            let printed = bar.suspend(print);
            ASIDE.set(false);
            printed
        }
        _ => print(),
    }
}

fn shown() -> Option<ProgressBar> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
}
