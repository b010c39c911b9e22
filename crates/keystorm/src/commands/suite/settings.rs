//! The settings that specs require: applied while the server runs, and restored on a given server.

use anyhow::Result;
use cli::console::diagnostics;
use host::{Client, Transport};
use wire::resp::Value;

use crate::setting;

/// Settings that were changed, with their original values.
#[derive(Default)]
pub(super) struct ChangedSettings(Vec<(String, String)>);

/// Setting that a server refused.
pub(super) struct RefusedSetting {
    pub(super) name: String,
    pub(super) value: String,
    why: String,
}

impl RefusedSetting {
    /// Returns whether the setting can be given when the server starts.
    pub(super) fn is_for_the_start(&self) -> bool {
        self.why.contains("immutable")
    }

    pub(super) fn remark(&self) -> String {
        format!("the setting {} is as it was: {}", self.name, self.why)
    }
}

impl ChangedSettings {
    /// Applies settings on all nodes, and remembers the first node's original values if they are to be
    /// restored.
    ///
    /// # Errors
    /// Returns an error if a node does not answer.
    pub(super) fn set(
        &mut self,
        nodes: Vec<Client<Transport>>,
        settings: &[(String, String)],
        keeps: bool,
    ) -> Result<Vec<RefusedSetting>> {
        let mut refused: Vec<RefusedSetting> = Vec::new();
        for (number, mut client) in nodes.into_iter().enumerate() {
            for (name, value) in settings {
                let before =
                    if keeps && number == 0 { setting::value(&mut client, name)? } else { None };
                if before.as_ref() == Some(value) {
                    continue;
                }
                let words: [&[u8]; 4] = [b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()];
                match client.ask(&words)? {
                    Value::Error(text) if refused.iter().all(|known| known.name != *name) => {
                        let why = String::from_utf8_lossy(&text).into_owned();
                        refused.push(RefusedSetting {
                            name: name.clone(),
                            value: value.clone(),
                            why,
                        });
                    }
                    Value::Error(_) => {}
                    _ => self.0.extend(before.map(|before| (name.clone(), before))),
                }
            }
        }
        Ok(refused)
    }

    /// Restores the settings; those that cannot be restored are named on standard error.
    pub(super) fn put_back(&mut self, nodes: impl Fn() -> Result<Vec<Client<Transport>>>) {
        for (name, before) in std::mem::take(&mut self.0).into_iter().rev() {
            let words: [&[u8]; 4] = [b"CONFIG", b"SET", name.as_bytes(), before.as_bytes()];
            let all = nodes().and_then(|nodes| {
                let mut nodes = nodes.into_iter();
                nodes.try_fold(true, |all, mut client| {
                    Ok(all && !matches!(client.ask(&words)?, Value::Error(_)))
                })
            });
            if !matches!(all, Ok(true)) {
                let text = format!("warning: {name} could not be restored to \"{before}\"");
                let _ = diagnostics::say(report::escape(text));
            }
        }
    }
}
