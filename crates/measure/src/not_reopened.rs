//! Lost connections that were not reopened by the end of a run, and the reason of the last failure.
//!
//! One entry for each server, so that memory does not grow with the number of tries.

use serde::{Deserialize, Serialize};

use crate::total::Total;

/// Lost connections to one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotReopened {
    /// The server, as reports name it.
    pub server: String,
    /// Number of connections; at least 1.
    pub connections: u64,
    /// Reason why the last attempt to open one failed: one line, without passwords.
    #[serde(rename = "last_attempt")]
    pub reason: String,
}

/// Adds connections to those of the same server, if there are any; the first reason stays.
impl Total for Vec<NotReopened> {
    fn merge(&mut self, other: &Self) {
        for more in other {
            match self.iter_mut().find(|one| one.server == more.server) {
                Some(one) => one.connections.merge(&more.connections),
                None => self.push(more.clone()),
            }
        }
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}
