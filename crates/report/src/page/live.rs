//! A page that is viewed while it grows: the frame that a browser opens, and the data of each redrawing.
//!
//! It draws the page of a finished run, with the same code. The caller serves the connections.

use crate::escape;
use maud::{DOCTYPE, PreEscaped, html};

use crate::page::Page;
use crate::page::html::{self, SCRIPT, head, main};

const LIVE_STYLE: &str = include_str!("live.css");
const LIVE_SCRIPT: &str = include_str!("live.js");

/// The frame: it receives redrawings, and has a pause button and, if `marks` are accepted, a form that sets
/// one.
pub fn frame(title: &str, marks: bool) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, "connect-src 'self'", LIVE_STYLE))
            body {
                aside #live {
                    output #live-state aria-live="off" { "Connecting" }
                    button #live-pause type="button" aria-pressed="false" { "Pause" }
                    form #live-mark hidden[!marks] {
                        input #live-text maxlength="60" placeholder="deployed here" aria-label="Text of the mark";
                        " "
                        button type="submit" { "Set a mark" }
                    }
                    a #live-save download="keystorm.html" hidden { "Save this page" }
                }
                main { h1 { (escape(title)) } p { "The first figures come within a second or two." } }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
                script { (PreEscaped(LIVE_SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Returns the event of a redrawing: the current page, as a line of JSON.
pub fn event(page: &Page, state: &str, started: u128, ended: bool) -> String {
    let mut event = serde_json::json!({
        "title": escape(&page.title),
        "main": main(page).into_string(),
        "state": state,
        "started": started.to_string(),
    });
    if ended {
        event["html"] = html::html(page).into();
    }
    event.to_string()
}
