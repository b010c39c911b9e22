//! The chapter that measures memcached under the same load.

use spec::{KeyRange, Program, ServerArgs, ServerOptions, Size};

use super::{Chapter, Loads, SurveyStep};
use crate::survey::Machine;

/// Keys of the chapter with memcached, and bytes of a value, which fit into its memory.
const BESIDE_KEYS: u64 = 100_000;
const BESIDE_BYTES: u32 = 100;
impl Loads<'_> {
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
            ..Chapter::default()
        };
        if !self.spec.spawned {
            let why = "Comparison with memcached: an existing server may run elsewhere. Use --spawn to \
                start both on this machine.";
            chapter.left_out.push(why.into());
            return chapter;
        }
        let pair = machine.one_cache().or_else(|| machine.two_caches());
        let (keys, bytes) = (self.spec.keys.min(BESIDE_KEYS), BESIDE_BYTES);
        // Of what names the server and logs in, memcached has only what its client does.
        let server = &self.spec.server.server;
        let memcached = ServerOptions {
            spawn: Some(Program(Some("memcached".to_owned()))),
            spawn_args: Some(ServerArgs(["-t", "1", "-R", "32"].map(str::to_owned).to_vec())),
            mptcp: server.mptcp,
            ..ServerOptions::default()
        };
        let depths: &[i64] = if self.spec.quick { &[1] } else { &[1, 16] };
        for depth in depths {
            for test in ["set", "get"] {
                let redis = self.tests(test, *depth, |load| {
                    load.data.size = Some(Size::Fixed(bytes));
                    load.data.key_range = Some(KeyRange(keys));
                });
                let mut other = redis.clone();
                other.server.clone_from(&memcached);
                let mut redis = redis;
                // Of memcached's suite every test stores what it reads.
                redis.data.fill = test == "get";
                for (series, load) in [("Redis", redis), ("memcached", other)] {
                    let label = format!("{} -P {depth}", test.to_uppercase());
                    chapter.steps.push(SurveyStep::new(label, series, self.placed(pair, load)));
                }
            }
        }
        chapter
    }
}
