//! The facts of a source as lines of text, for the head of keystorm's own records.

use crate::{Clock, Protocol, Source, Stamps};

/// Maximum length of a head in bytes.
pub(crate) const FACTS_BYTES_MAX: usize = 64 * 1024;

/// Writes the head: a source as lines of `name=value`.
pub(crate) fn facts(source: &Source) -> String {
    let Source {
        format: _,
        protocol,
        stamps,
        clock,
        is_effects,
        shares_clients,
        servers,
        sampled,
        notes,
    } = source;
    let mut text = format!("protocol={protocol:?}\nstamps={stamps:?}\nclock={clock:?}\n");
    let mut line = |name: &str, value: &str| {
        let line = format!("{name}={}\n", value.replace(['\n', '\r'], " "));
        if text.len() + line.len() <= FACTS_BYTES_MAX {
            text.push_str(&line);
        }
    };
    if *is_effects {
        line("effects", "true");
    }
    if *shares_clients {
        line("shares-clients", "true");
    }
    if let Some(share) = sampled {
        line("sampled", &share.to_string());
    }
    servers.iter().for_each(|server| line("server", server));
    notes.iter().for_each(|note| line("note", note));
    text
}

/// Parses a head. Unknown lines, written by a later version, are ignored.
pub(crate) fn source(text: &str) -> Source {
    let mut source = Source { format: "keystorm", ..Source::default() };
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match (name, value) {
            ("protocol", "Memcache") => source.protocol = Protocol::Memcache,
            ("stamps", "Arrival") => source.stamps = Stamps::Arrival,
            ("stamps", "Second") => source.stamps = Stamps::Second,
            ("stamps", "None") => source.stamps = Stamps::None,
            ("clock", "Relative") => source.clock = Clock::Relative,
            ("effects", "true") => source.is_effects = true,
            ("shares-clients", "true") => source.shares_clients = true,
            ("sampled", share) => {
                let share = share.parse().ok();
                source.sampled = share.filter(|share: &f64| *share > 0.0 && *share <= 1.0);
            }
            ("server", server) => source.servers.push(server.to_owned()),
            ("note", note) => source.notes.push(note.to_owned()),
            _ => {}
        }
    }
    source
}
