//! Errors with which a cluster redirects or delays a command.

/// A redirection of a command that a node did not carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirect<'t> {
    /// The slot has another owner, to be asked from now on.
    Moved {
        /// The slot.
        slot: u16,
        /// The owner's host; empty for the replying node's host.
        host: &'t str,
        /// Port of the node.
        port: u16,
    },
    /// The slot is being moved: ask this node once, after `ASKING`.
    Ask {
        /// The importing node's host; empty for the replying node's host.
        host: &'t str,
        /// Port of the node.
        port: u16,
    },
    /// The keys of the command are on two nodes while their slot moves: ask again later.
    TryAgain,
    /// The slot is not served at present: ask again later.
    ClusterDown,
}

impl<'t> Redirect<'t> {
    /// Parses an error text, such as `MOVED 3999 127.0.0.1:6381`; `None` for any other error.
    pub fn parse(text: &'t str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let kind = words.next()?;
        match kind {
            "TRYAGAIN" => return Some(Self::TryAgain),
            "CLUSTERDOWN" => return Some(Self::ClusterDown),
            "MOVED" | "ASK" => {}
            _ => return None,
        }
        let slot = words.next()?.parse().ok().filter(|slot| *slot < super::SLOTS)?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        let port = port.parse().ok()?;
        // `?` stands for a host that the node does not know, as the empty text does.
        let host = match host.trim_start_matches('[').trim_end_matches(']') {
            "?" => "",
            host => host,
        };
        Some(if kind == "MOVED" {
            Self::Moved { slot, host, port }
        } else {
            Self::Ask { host, port }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_read_in_every_shape() {
        let moved = |text| match Redirect::parse(text) {
            Some(Redirect::Moved { slot, host, port }) => (slot, host, port),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(moved("MOVED 3999 127.0.0.1:6381"), (3999, "127.0.0.1", 6381));
        assert_eq!(moved("MOVED 0 db-1.example.org:6379"), (0, "db-1.example.org", 6379));
        assert_eq!(moved("MOVED 1 :6380"), (1, "", 6380));
        assert_eq!(moved("MOVED 1 ?:6380"), (1, "", 6380));
        assert_eq!(moved("MOVED 1 ::1:6380"), (1, "::1", 6380));
        assert_eq!(moved("MOVED 1 [::1]:6380"), (1, "::1", 6380));
        assert_eq!(
            Redirect::parse("ASK 3999 127.0.0.1:6381"),
            Some(Redirect::Ask { host: "127.0.0.1", port: 6381 })
        );
        assert_eq!(
            Redirect::parse("TRYAGAIN Multiple keys request during rehashing of slot"),
            Some(Redirect::TryAgain)
        );
        assert_eq!(Redirect::parse("CLUSTERDOWN The cluster is down"), Some(Redirect::ClusterDown));
    }

    #[test]
    fn anything_else_is_an_error_like_others() {
        for text in ["", "ERR no", "MOVED", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h:x", "OOM"]
        {
            assert_eq!(Redirect::parse(text), None, "{text}");
        }
    }
}
