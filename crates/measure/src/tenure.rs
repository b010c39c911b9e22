//! Spans of responsibility of servers.

/// A span in which a server had to answer requests: those for its slots, or reads for another owner. Times
/// are nanoseconds on its holder's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenure {
    /// The server, by its number.
    pub node: u16,
    /// Start of the span.
    pub from_ns: u64,
    /// End of the span; `None` while it lasts.
    pub to_ns: Option<u64>,
    /// Set if all that the node had to answer at first was another node's until then, which had nothing left.
    pub inherits: bool,
    /// Nodes that took over what the node had at the end; empty if it was requested no more.
    pub heirs: Vec<u16>,
}

impl Tenure {
    /// Makes a tenure without an end.
    pub fn new(node: u16, from_ns: u64) -> Self {
        Self { node, from_ns, to_ns: None, inherits: false, heirs: Vec::new() }
    }

    /// The tenure on a clock that began at `origin_ns`; `None` if it was over before that.
    pub fn since(&self, origin_ns: u64) -> Option<Self> {
        let to_ns = self.to_ns.map(|ns| ns.saturating_sub(origin_ns));
        // The node that it replaced got no requests in that time.
        let inherits = self.inherits && self.from_ns > origin_ns;
        let from_ns = self.from_ns.saturating_sub(origin_ns);
        (to_ns != Some(0)).then(|| Self { from_ns, to_ns, inherits, ..self.clone() })
    }
}
