//! Description of equal terms.

use workload::{Endpoint, KeyDist, Stop};

use super::{ComparisonTerms, Side, Test};

impl Side {
    /// Returns the name of a server in headings.
    pub(super) fn called(&self) -> String {
        match &self.target.endpoint {
            Endpoint::Spawned { program: Some(program), .. } => {
                let name = program.rsplit('/').next().unwrap_or(program);
                name.to_owned()
            }
            _ if self.protocol.is_memcache() => "memcached".to_owned(),
            _ => "Redis".to_owned(),
        }
    }
}

impl ComparisonTerms {
    /// Returns the terms common to both sides, by name.
    pub fn equal(&self) -> Vec<(String, String)> {
        let Some(Test { load, .. }) = self.tests.first() else { return Vec::new() };
        let counted = |n: u64, one: &str, many: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{} {many}", report::grouped(n as f64)),
        };
        let keys = counted(load.data.keys.range.unwrap_or(1), "key", "keys");
        let drawn = match &load.data.keys.draw {
            draw if *draw == KeyDist::UNIFORM => "each equally likely".to_owned(),
            draw => format!("drawn {}", draw.text()),
        };
        let values = match &load.data.values {
            Some(values) => format!("drawn {}, the same for both", values.sizes),
            None => counted(self.value_bytes(), "byte each", "bytes each"),
        };
        let socket = self.sides.each_ref().map(|side| match &side.target.endpoint {
            Endpoint::Unix(_) | Endpoint::Spawned { unix: true, .. } => "a unix socket",
            _ if side.target.tls.is_some() => "TLS over TCP",
            _ => "TCP",
        });
        let socket = match socket {
            [a, b] if a == b => a.to_owned(),
            [a, b] => format!("NOT equal: {a} to A and {b} to B"),
        };
        let length = match load.load.stop {
            Stop::Requests(n) => format!("{n} requests per run"),
            Stop::AfterNs(ns) => format!("{} s a run", ns as f64 / 1e9),
        };
        let concurrency = &load.load.concurrency;
        let in_flight = format!(
            "{}, {} in flight on each",
            counted(concurrency.connections.into(), "connection", "connections"),
            counted(concurrency.pipeline_depth.into(), "request", "requests")
        );
        let mut lines = vec![
            ("keys", format!("{keys}, {drawn}, all stored beforehand; same names, same order")),
            ("values", values),
            ("lifetimes", self.lifetimes()),
            ("connections", in_flight),
            ("socket", socket),
            ("client", "one program with the same threads and CPUs for both".to_owned()),
            ("writes", "each one acknowledged".to_owned()),
            ("length", length),
        ];
        if !self.are_given() {
            let memory = "1024 MB per side, least recently used keys evicted; nothing on disk";
            lines.push(("memory", memory.to_owned()));
        }
        lines.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }

    fn value_bytes(&self) -> u64 {
        use workload::Piece;
        let pieces = self.tests.iter().flat_map(|test| &test.value.pieces);
        let tests = self.tests.len().max(1) as u64;
        let sizes = pieces.map(|piece| match piece {
            Piece::Fill { len, .. } => u64::from(*len),
            Piece::Bytes(bytes) => bytes.len() as u64,
            _ => 0,
        });
        sizes.sum::<u64>() / tests
    }

    fn lifetimes(&self) -> String {
        let sets = self.tests.iter().flat_map(|test| &test.load.sequence);
        let ends = sets.filter(|command| command.args.len() > 3 && command.name() == "SET").count();
        if ends == 0 { "none: keys stay".to_owned() } else { "those of the commands".to_owned() }
    }
}
