//! The README and the pages of `docs/` show what happens: every command line in them is run, in its
//! order, and what stands below one is compared with what it prints, figures masked.
//!
//! - ```` ```sh ```` holds commands, which must succeed.
//! - ```` ```console ```` holds commands behind `$`, each with what it prints; `...` stands for lines
//!   that are left out.
//! - ```` ```toml ```` whose first line is `# NAME` is a file of that name for what follows.
//! - `<!-- not run: WHY -->` before any other block says why it is not.
//!
//! The servers that pages speak of (none named, 10.0.0.1, 10.0.0.2) are those of the test, and what
//! would take long is made short (`keystorm.sh`).

pub(crate) mod page;
mod shown;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use crate::memcached::Memcached;
use crate::program::{Keystorm, RunOutput};
use crate::real_clock::{holds_when_quiet, skip};
use crate::server::{KEYSTORM, Server, free_port, valkey_program};
use page::{Block, Kind, blocks, root};
use shown::shows;

/// How often a command is tried before the last time.
const TRIES: usize = 2;

/// Directory and servers for the commands of a page.
struct Examples {
    dir: TempDir,
    servers: [Server; 2],
    memcached: [Memcached; 2],
    metrics: u16,
}

impl Examples {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["bin", "links", "valkey"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in [
            "keystorm",
            "redis-benchmark",
            "valkey-benchmark",
            "memtier_benchmark",
            "ycsb",
            "rpc-perf",
        ] {
            symlink(KEYSTORM, dir.path().join("links").join(name)).unwrap();
        }
        let shim = dir.path().join("bin/keystorm");
        fs::write(&shim, include_str!("keystorm.sh")).unwrap();
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(valkey_program(), dir.path().join("valkey/valkey-server")).unwrap();
        let servers = [Server::redis(), Server::redis()];
        let memcached = [Memcached::new(), Memcached::new()];
        Self { dir, servers, memcached, metrics: free_port() }
    }

    /// A script with the addresses of the servers that are here.
    fn here(&self, script: &str) -> String {
        let [a, b] = self.servers.each_ref().map(|server| format!("127.0.0.1:{}", server.port()));
        let [c, d] = self.memcached.each_ref().map(|server| format!("127.0.0.1:{}", server.port()));
        script
            .replace("-h 127.0.0.1 -p 6379", &format!("-h {}", a.replace(':', " -p ")))
            .replace("127.0.0.1:6379", &a)
            .replace("10.0.0.1:6379", &a)
            .replace("10.0.0.2:6379", &b)
            .replace("memcache://10.0.0.1", &format!("memcache://{c}"))
            .replace("redis://10.0.0.1", &format!("redis://{a}"))
            .replace("memcache://10.0.0.2", &format!("memcache://{d}"))
            .replace("cache1,cache2,cache3:11212", &format!("{c},{d}"))
            .replace("10.0.0.1", "127.0.0.1")
            .replace("9121", &self.metrics.to_string())
    }

    /// Runs a script in the directory of the page.
    fn run(&self, script: &str) -> RunOutput {
        let dir = self.dir.path();
        // A run that is begun beside it may not listen yet.
        let script = &script.replace("curl -s ", "curl -s --retry 9 --retry-connrefused ");
        let entered = format!("cd {} && {{ {}\n}} 2>&1", dir.display(), self.here(script));
        // Where it is on the PATH --spawn starts it, and pages show a redis-server.
        let valkey = if script.contains("valkey-server") { "valkey" } else { "bin" };
        let path = std::env::var("PATH").unwrap();
        // Whoever looks at a run while it lasts needs it to last.
        let short = if script.contains("curl") { "" } else { "yes" };
        Keystorm::exec("sh", ["-e", "-c", &entered])
            .env("PATH", format!("{0}/bin:{0}/{valkey}:{path}", dir.display()))
            .env("HOME", dir)
            .env("KEYSTORM_LINKS", dir.join("links"))
            .env("KEYSTORM_PORT", self.servers[0].port().to_string())
            .env("KEYSTORM_MEMCACHED", self.memcached[0].port().to_string())
            .env("KEYSTORM_REQUESTS", "2000")
            .env("KEYSTORM_SHORT", short)
            .run()
    }

    /// Runs a block and compares what it prints; what is wrong with it, if anything is.
    fn holds(&self, block: &Block) -> Result<(), String> {
        match &block.kind {
            Kind::Commands(script) => self.succeeds(script).map(drop),
            Kind::Session(steps) => steps.iter().try_for_each(|(command, expected)| {
                // A machine that is busy with other things may keep a run from its usual course.
                let mut tries = (0..TRIES).map(|_| self.prints(command, expected));
                let last = tries.by_ref().find(Result::is_ok);
                last.unwrap_or_else(|| self.prints(command, expected))
            }),
            Kind::File(name, text) => {
                let path = self.dir.path().join(name);
                fs::write(path, self.here(text)).map_err(|e| e.to_string())
            }
            Kind::NotRun(why) if why.is_empty() => Err("why is it not run?".to_owned()),
            Kind::NotRun(_) => Ok(()),
            Kind::Unknown => Err("is neither run nor marked <!-- not run: WHY -->".to_owned()),
        }
    }

    fn prints(&self, command: &str, expected: &str) -> Result<(), String> {
        let out = self.succeeds(command)?;
        shows(&out, expected).map_err(|line| {
            let after = "does not print, after what stands before it:";
            format!("$ {command}\n{after}\n{line}\nIt prints:\n{out}")
        })
    }

    fn succeeds(&self, script: &str) -> Result<String, String> {
        let ran = self.run(script);
        match ran.code {
            Some(0) => Ok(ran.out),
            code => Err(format!("{script}\nends with exit code {code:?} and prints:\n{}", ran.out)),
        }
    }
}

/// Runs a page from its top to its end.
fn holds(path: &str) {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let examples = Examples::new();
    // Runs that a page speaks of as kept.
    for name in ["before.json", "after.json", "a.json", "b.json"] {
        if text.contains(name) {
            examples.succeeds(&format!("keystorm -q -t set,get -n 100 --json {name}")).unwrap();
        }
    }
    for block in blocks(&text) {
        if let Err(why) = examples.holds(&block) {
            let why = format!("{path}:{}: {why}", block.line);
            // On a busy machine a target may be missed, or not be judged.
            let by_target = |code| why.contains(&format!("ends with exit code Some({code})"));
            let of_target = why.contains(" --slo ") && [3, 4].into_iter().any(by_target);
            assert!(of_target || why.contains("keystorm search "), "{why}");
            // Whether any rate keeps a target is a matter of speed, which no test asserts.
            let unjudged = ["not even ", "is sure to keep", "do not keep", "undecided whether "];
            if unjudged.iter().any(|part| why.contains(part)) {
                skip(path, why);
            } else {
                holds_when_quiet(path, false, why);
            }
        }
    }
}

/// A test for each page, so that they run beside each other.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[test]
            fn $name() {
                holds($path);
            }
        )*

        const PAGES: &[&str] = &[$($path),*];
    };
}

pages! {
    readme: "README.md",
    applications: "docs/applications.md",
    architecture: "docs/architecture.md",
    cluster: "docs/cluster.md",
    comparing: "docs/comparing.md",
    connections_page: "docs/connections.md",
    history: "docs/history.md",
    dependencies: "docs/dependencies.md",
    doctor: "docs/doctor.md",
    fleet: "docs/fleet.md",
    installing: "docs/installing.md",
    lab: "docs/lab.md",
    measuring: "docs/measuring.md",
    memcached: "docs/memcached.md",
    memtier: "docs/memtier.md",
    messages: "docs/messages.md",
    performance: "docs/performance.md",
    publishing: "docs/publishing.md",
    recorded_traffic: "docs/recorded-traffic.md",
    redis_and_memcached: "docs/redis-and-memcached.md",
    reports: "docs/reports.md",
    results: "docs/results.md",
    rpc_perf: "docs/rpc-perf.md",
    durability: "docs/durability.md",
    impact: "docs/impact.md",
    automation: "docs/automation.md",
    suite: "docs/suite.md",
    footprint: "docs/footprint.md",
    profiling: "docs/profiling.md",
    where_the_time_went: "docs/where-the-time-went.md",
    workloads: "docs/workloads.md",
    ycsb: "docs/ycsb.md",
}

#[test]
fn every_page_is_run() {
    for page in page::all() {
        // The first page in another language has the same commands, which links.rs holds it to.
        let known = PAGES.contains(&page.as_str()) || page == "README.zh-CN.md";
        assert!(known, "{page} has no row in `pages!` of {}", file!());
    }
    assert!(Path::new(&root()).join("README.md").exists());
}
