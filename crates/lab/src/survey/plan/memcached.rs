//! The chapter that measures memcached under the same load.

use naming::{
    DBNUM, ENABLE_TRACKING, EXIT_ON_ERROR, OptionId, PASSWORD, PROTOCOL, RESP3, SPAWN, SPAWN_ARGS,
    USER,
};

use super::{Chapter, Lines, SurveySpec, SurveyStep};
use crate::survey::Machine;
use crate::words::TypedOption;

/// Keys of the chapter with memcached, and bytes of a value, which fit into its memory.
const BESIDE_KEYS: u64 = 100_000;
const BESIDE_BYTES: u64 = 100;
/// Options of a server that memcached does not have, or that name the server.
const REDIS_OPTIONS: [OptionId; 9] =
    [RESP3, PASSWORD, USER, DBNUM, ENABLE_TRACKING, SPAWN, SPAWN_ARGS, PROTOCOL, EXIT_ON_ERROR];

impl Lines<'_> {
    /// Plans the same load on memcached, with a core for each server if there are two.
    pub(super) fn memcached(&self, machine: &Machine) -> Chapter {
        let mut chapter = Chapter {
            key: "memcached",
            title: "Compared with memcached",
            text: format!(
                "The same keys, values of {BESIDE_BYTES} bytes and connections on memcached with \
                 one worker (-t 1). All keys exist before they are read. For ratios with \
                 confidence intervals, and for more cores, use keystorm compare redis-server \
                 memcached."
            ),
            fill: None,
            steps: vec![],
            left_out: vec![],
        };
        if !self.spec.spawned {
            let why = "Comparison with memcached: an existing server may run elsewhere. Use --spawn to \
                start both on this machine.";
            chapter.left_out.push(why.into());
            return chapter;
        }
        let pair = machine.one_cache().or_else(|| machine.two_caches());
        let (keys, bytes) = (self.spec.keys.min(BESIDE_KEYS), BESIDE_BYTES);
        let mut server = self.spec.server.clone();
        server.take(|given: &TypedOption| {
            REDIS_OPTIONS.iter().any(|option| given.name == option.word())
        });
        server.options.push(TypedOption::new(SPAWN, "memcached"));
        server.options.push(TypedOption::new(SPAWN_ARGS, "-t 1 -R 32"));
        let memcached =
            Lines { spec: &SurveySpec { server, ..self.spec.clone() }, seconds: self.seconds };
        let depths: &[u32] = if self.spec.quick { &[1] } else { &[1, 16] };
        for depth in depths {
            for test in ["set", "get"] {
                let words = format!("-t {test} -P {depth} -d {bytes} -r {keys}");
                // Of memcached's suite every test stores what it reads.
                let fill = if test == "get" { " --fill" } else { "" };
                for (series, line) in [
                    ("Redis", self.placed(pair, &format!("{words}{fill}"))),
                    ("memcached", memcached.placed(pair, &words)),
                ] {
                    let label = format!("{} -P {depth}", test.to_uppercase());
                    chapter.steps.push(SurveyStep::new(label, series, line));
                }
            }
        }
        chapter
    }
}
