//! Facts that a server reports about itself.

use serde::{Deserialize, Serialize};

/// Facts about the server from before the run. A field is `None` if the server did not report it or refused
/// the question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFacts {
    /// `redis`, `valkey`, or another name in its `INFO`.
    pub product: Option<String>,
    /// Version, such as `7.0.15`.
    pub version: Option<String>,
    /// Settings that the classic report prints.
    pub config: Option<ServerConfig>,
    /// The nodes of its cluster, if it is in one that gets the load; the masters first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeFacts>,
}

/// Facts about a node of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Name as `host:port`, as the cluster announces it.
    pub name: String,
    /// Id of the node.
    pub id: String,
    /// Set if the node is a master.
    pub master: bool,
    /// Settings that the classic report prints.
    pub config: Option<ServerConfig>,
}

/// Settings that affect speed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerConfig {
    /// `CONFIG GET save`.
    pub save: String,
    /// `CONFIG GET appendonly`.
    pub appendonly: String,
}

/// Products that give their own version in `NAME_version`. All but Redis also claim a `redis_version`, for
/// clients that know no other, so Redis comes last.
const PRODUCTS: [&str; 5] = ["valkey", "dragonfly", "kvrocks", "garnet", "redis"];

impl ServerFacts {
    /// Product and version, as far as known.
    pub fn name(&self) -> Option<String> {
        let product = self.product.as_ref()?;
        let version = self.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
        Some(format!("{product}{version}"))
    }

    /// Product and version, for a table; `server` if unknown.
    pub fn version_name(&self) -> String {
        let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "server".to_owned());
        format!("{} {}", known(&self.product), known(&self.version))
    }

    /// Adds the product and version from a text of `INFO`.
    pub fn with_info(mut self, info: &str) -> Self {
        let named = PRODUCTS.iter().find_map(|product| {
            let version = info_field(info, &format!("{product}_version"))?;
            Some((*product, version))
        });
        if let Some((product, version)) = named {
            self.product = Some(product.to_owned());
            self.version = Some(version.to_owned());
        }
        self
    }
}

/// The value of a field in a text of `INFO`.
pub fn info_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product_and_version(info: &str) -> (Option<String>, Option<String>) {
        let facts = ServerFacts::default().with_info(info);
        (facts.product, facts.version)
    }

    fn pair(product: &str, version: &str) -> (Option<String>, Option<String>) {
        (Some(product.into()), Some(version.into()))
    }

    #[test]
    fn the_own_version_goes_before_the_one_of_compatibility() {
        let redis = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n";
        assert_eq!(product_and_version(redis), pair("redis", "7.0.15"));
        let valkey = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n";
        assert_eq!(product_and_version(valkey), pair("valkey", "8.1.1"));
    }

    #[test]
    fn what_is_not_stated_is_not_known() {
        assert_eq!(product_and_version("# Server\r\n"), (None, None));
        assert_eq!(product_and_version(""), (None, None));
    }
}
