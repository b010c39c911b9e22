//! `keystorm bisect`, on a repository that is made for the test: its server is a script that takes a while for each
//! reply, as long as a file of the commit says.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Keystorm, RunOutput};
use crate::record::valid_by;
use crate::server::{KEYSTORM, valkey_program};

/// Answers what keystorm asks.
const SERVER: &str = r#"#!/usr/bin/env python3
import socketserver, sys, time
DELAY = @DELAY@
class Client(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.readline():
            words = []
            for _ in range(int(head[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2].upper())
            if words[0] == b"SET":
                time.sleep(DELAY)
            text = b"redis_version:7.0.15\r\n"
            replies = {b"PING": b"+PONG\r\n", b"INFO": b"$%d\r\n%s\r\n" % (len(text), text), b"CONFIG": b"*0\r\n"}
            self.wfile.write(replies.get(words[0], b"+OK\r\n"))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Client).serve_forever()
"#;

/// Builds it: a commit without a delay does not build.
const BUILD: &str = "mkdir -p src && test -s delay && sed \"s/@DELAY@/$(cat delay)/\" server.py > src/redis-server && \
    chmod +x src/redis-server && echo built >> ../built";

fn git(dir: &Path, words: &[&str]) -> String {
    let author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let ran = Command::new("git").arg("-C").arg(dir).args(author).args(words).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// A repository with a commit for each of these delays, in seconds, and the commits.
fn repository(delays: &[&str]) -> (TempDir, Vec<String>) {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("server.py"), SERVER).unwrap();
    fs::write(dir.path().join("build.sh"), BUILD).unwrap();
    let commit = |(number, delay): (usize, &&str)| {
        fs::write(dir.path().join("delay"), delay).unwrap();
        fs::write(dir.path().join("number"), number.to_string()).unwrap();
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-q", "-m", &format!("commit {number}")]);
        git(dir.path(), &["rev-parse", "HEAD"])
    };
    let commits = delays.iter().enumerate().map(commit).collect();
    (dir, commits)
}

fn bisect(dir: &Path, [good, bad]: [&str; 2]) -> RunOutput {
    let (at, state) = (dir.display(), dir.join(".git/bisect"));
    let line = format!(
        "bisect --good {good} --bad {bad} --repository {at} --state {} -c 1 -n 12 -t set -- sh build.sh",
        state.display()
    );
    Keystorm::exec(KEYSTORM, line.split_whitespace()).run()
}

#[test]
fn the_commit_that_made_it_slow_is_named_and_found_again_without_a_run() {
    let delays = ["0.004", "0.004", "0.004", "", "0.004", "0.02", "0.02", "0.02", "0.02"];
    let (dir, commits) = repository(&delays);
    let ran = bisect(dir.path(), [&commits[0], "HEAD"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer = format!("The change came with {} commit 5", &commits[5][..12]);
    assert!(ran.out.contains(&answer), "{}", ran.out);
    let results = dir.path().join(".git/bisect/results.json");
    let read = || serde_json::from_slice::<Value>(&fs::read(&results).unwrap()).unwrap();
    let before = read();
    valid_by("keystorm.bisect.1.json", &before);
    assert_eq!(before["found"], serde_json::json!([commits[5]]));
    // It resumes: nothing is built or measured a second time.
    let built =
        || fs::read_to_string(dir.path().join(".git/bisect/built")).unwrap().lines().count();
    let count = built();
    let ran = bisect(dir.path(), [&commits[0], &commits[8]]);
    assert!(ran.out.contains(&answer), "{}", ran.out);
    assert_eq!((read()["measured"].clone(), built()), (before["measured"].clone(), count));
    // The repository's own tree is as it was, and another search has another folder.
    assert_eq!(git(dir.path(), &["status", "--short"]), "");
    let ran = bisect(dir.path(), [&commits[1], "HEAD"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("another search"), "{}", ran.err);
}

#[test]
fn one_count_of_instructions_tells_a_commit_from_another() {
    let valkey = valkey_program().display().to_string();
    let each = ["redis-server", "redis-server", "redis-server", &valkey, &valkey];
    let (dir, commits) = repository(&each);
    let line = format!(
        "bisect --good {} --bad HEAD --repository {1} --state {1}/.git/bisect --metric instructions -n 1000 -t get --",
        commits[0],
        dir.path().display()
    );
    let build =
        ["sh", "-c", "mkdir -p src && cp \"$(command -v \"$(cat delay)\")\" src/redis-server"];
    let ran = Keystorm::exec(KEYSTORM, line.split_whitespace().chain(build)).run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answer = format!("The change came with {} commit 3", &commits[3][..12]);
    assert!(ran.out.contains(&answer), "{}", ran.out);
    let results = fs::read(dir.path().join(".git/bisect/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let counted =
        |commit: usize| results["measured"][&commits[commit]].as_array().map_or(0, Vec::len);
    assert_eq!([1, 2, 3, 4].map(counted), [0, 1, 1, 3], "{results}");
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_built() {
    let (dir, commits) = repository(&["0.001", "0.001"]);
    let state = dir.path().join(".git/bisect");
    for (ends, why) in [
        (["HEAD", &*commits[0]], "must be an ancestor"),
        ([&*commits[0], "nothing"], "no such commit"),
    ] {
        let ran = bisect(dir.path(), ends);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    assert!(!state.join("built").exists());
    for words in
        ["--good a --bad b", "--good a --bad b get -- make", "--good a --bad b -t set,get -- make"]
    {
        let words = std::iter::once("bisect").chain(words.split(' '));
        assert_eq!(Keystorm::exec(KEYSTORM, words).run().code, Some(2));
    }
}
