//! Report of a defect of keystorm: one sentence and the end, with the exit code of a failed run.
//!
//! A panic on one thread would otherwise leave the others running, with figures that lack its share.

use std::panic::PanicHookInfo;

use cli::console::diagnostics;

/// Makes a panic end the program in words for a person. With `RUST_BACKTRACE` in the environment they include
/// its origin.
pub(crate) fn tell_of_panics(exit_code: u8) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            usual(info);
        }
        let _ = diagnostics::say(sentence(&reason(info)));
        std::process::exit(exit_code.into());
    }));
}

fn reason(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| payload.downcast_ref().copied()).unwrap_or("no reason given");
    match info.location() {
        Some(at) => format!("{what} ({}:{})", at.file(), at.line()),
        None => what.to_owned(),
    }
}

fn sentence(reason: &str) -> String {
    format!(
        "keystorm {} has a defect and cannot go on: {}. Please report it, with the command line: {}/issues",
        env!("CARGO_PKG_VERSION"),
        report::escape(reason),
        env!("CARGO_PKG_REPOSITORY"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_reported_in_one_line_that_says_where_to_report_it() {
        let text = sentence("index out of bounds: the len is 3\nbut (src/x.rs:7)");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("src/x.rs:7") && text.contains("https://"), "{text}");
    }
}
