//! An act: an operation on a server under a steady load, as data from a file.

use serde::{Deserialize, Serialize};

/// An operation that operators carry out on a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Act {
    /// Name of the act.
    pub name: String,
    /// Description in a few words.
    #[serde(default)]
    pub about: String,
    /// Family of servers that it applies to.
    #[serde(default)]
    pub server: Family,
    /// A required value of a field of INFO (memcached: stats): `connected_slaves:1`; `>0` for any above 0.
    #[serde(default)]
    pub requires: Option<String>,
    /// Commands sent before load begins, in this order.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Number of times that all of them are sent.
    #[serde(default = "once")]
    pub prepare_times: u32,
    /// Commands that start it, in this order.
    #[serde(default)]
    pub start: Vec<String>,
    /// A second load that starts it: the words of a run, as after `keystorm`, without a server.
    #[serde(default)]
    pub load: Option<String>,
    /// Set if it starts with a new replica, played by keystorm, which asks for the whole data set and reads
    /// it.
    #[serde(default)]
    pub full_sync: bool,
    /// Hash slots that move to another primary of the cluster at its start, key by key, and back again; 0 for
    /// none.
    #[serde(default)]
    pub migrate_slots: u16,
    /// Condition of its end: a field of INFO (memcached: stats) and its value, `rdb_bgsave_in_progress:0`.
    /// Without it, the act ends with the replies to its start.
    #[serde(default)]
    pub until: Option<String>,
    /// Settings (CONFIG GET) that are restored at its end.
    #[serde(default)]
    pub restore: Vec<String>,
    /// Commands sent after all acts, whatever happened, if it was prepared or started.
    #[serde(default)]
    pub undo: Vec<String>,
    /// Set if it destroys data. It is then played only to a server that keystorm started, or if it is named.
    #[serde(default)]
    pub destroys: bool,
}

/// Content of a file of acts.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActsFile {
    /// Acts of the file.
    #[serde(default)]
    pub act: Vec<Act>,
}

fn once() -> u32 {
    1
}

/// Servers with the same commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Redis, Valkey and other servers with RESP.
    #[default]
    Redis,
    /// memcached.
    Memcached,
}

/// A field in a server's report, and its required value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'t> {
    /// Name of the field.
    pub field: &'t str,
    wanted: &'t str,
}

impl<'t> Condition<'t> {
    /// Parses `field:value` or `field:>number`.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (field, wanted) = text.split_once(':')?;
        let is_valid = wanted.strip_prefix('>').is_none_or(|number| number.parse::<f64>().is_ok());
        (!field.is_empty() && !wanted.is_empty() && is_valid).then_some(Self { field, wanted })
    }

    /// Returns whether a value meets the condition.
    pub fn holds(&self, value: &str) -> bool {
        match self.wanted.strip_prefix('>') {
            Some(bound) => match (value.parse::<f64>(), bound.parse::<f64>()) {
                (Ok(value), Ok(bound)) => value > bound,
                _ => false,
            },
            None => value == self.wanted,
        }
    }
}

impl Act {
    /// Checks an act from a file.
    ///
    /// # Errors
    /// Returns the fault in words that name the act.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if name.is_empty() {
            return Err("an act has no name".to_owned());
        }
        if self.start.is_empty()
            && self.load.is_none()
            && !self.full_sync
            && self.migrate_slots == 0
        {
            return Err(format!(
                "act {name}: nothing starts it: start, load, full-sync or migrate-slots"
            ));
        }
        let conditions = self.until.iter().chain(&self.requires);
        if let Some(wrong) = conditions.into_iter().find(|text| Condition::parse(text).is_none()) {
            return Err(format!(
                "act {name}: {wrong:?} is no condition, such as rdb_bgsave_in_progress:0 or \
                 connected_slaves:>0"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_values_and_bounds() {
        let holds = |text: &str, value: &str| Condition::parse(text).unwrap().holds(value);
        assert!(holds("aof_rewrite_in_progress:0", "0"));
        assert!(!holds("aof_rewrite_in_progress:0", "1"));
        assert!(holds("connected_slaves:>0", "2") && !holds("connected_slaves:>0", "0"));
        assert!(!holds("role:>0", "master"));
        assert_eq!(Condition::parse("nonsense"), None);
        assert_eq!(Condition::parse("a:>b"), None);
    }

    #[test]
    fn an_act_must_start_with_something() {
        let act = Act { name: "x".into(), ..Act::default() };
        assert!(act.check().unwrap_err().contains("act x"));
        let started = Act { start: vec!["PING".into()], ..act };
        assert_eq!(started.check(), Ok(()));
        let wrong = Act { until: Some("soon".into()), ..started };
        assert!(wrong.check().unwrap_err().contains("soon"));
    }
}
