//! Where clients of `--on` are placed: over ssh, by programs of others, and where they cannot be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

use crate::fleet::rows;
use crate::program::Keystorm;
use crate::real_clock::lacking;
use crate::record::{json, place};
use crate::server::{KEYSTORM, Server};

/// A directory for the front of the PATH, with a program in it.
pub(crate) struct StandIn(TempDir);

impl StandIn {
    pub(crate) fn in_for(program: &str, script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(program);
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self(dir)
    }

    pub(crate) fn before(&self, keystorm: Keystorm) -> Keystorm {
        let path = std::env::var("PATH").unwrap();
        keystorm.env("PATH", format!("{}:{path}", self.0.path().display()))
    }
}

/// A replacement for ssh: every host is this machine, except `down`, `bare` and `dying`.
const SSH: &str = r#"
while [ $# -gt 2 ]; do shift; done
case "$1" in
down) echo "connect to host down port 22: Connection refused" >&2; exit 255;;
bare) echo "sh: keystorm: not found" >&2; exit 127;;
dying) HELLO; read plan; echo "out of memory" >&2; exit 3;;
esac
exec sh -c "$2"
"#;

fn hello(version: &str) -> String {
    let hello = format!(
        r#"{{"hello":{{"contract":1,"version":"{version}","pid":1,"host":"h","machine":null,"cpus":null,"quota":null,"nice":0}}}}"#
    );
    hello
}

fn ssh() -> StandIn {
    let hello = format!("echo '{}'", hello(env!("CARGO_PKG_VERSION")));
    StandIn::in_for("ssh", &SSH.replace("HELLO", &hello))
}

#[test]
fn hosts_are_reached_over_ssh() {
    let (server, (_dir, file)) = (Server::redis(), place());
    let line = format!(
        "-t set -n 1000 -c 4 --on ssh:load1,me@load2,program={KEYSTORM} --json {}",
        file.display()
    );
    let ran = ssh().before(server.keystorm(&line)).run().ok();
    assert_eq!(server.calls("set"), 1000);
    let document = json(&file);
    let names: Vec<&str> =
        rows(&document["tests"][0]).iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["load1", "me@load2"]);
    let one = "client 1 of 2 (load1) and client 2 of 2 (me@load2) share one machine";
    assert!(ran.out.contains(one), "{}", ran.out);
}

#[test]
fn two_servers_are_compared_by_the_same_clients() {
    // What a launcher has to give, such as the CPUs of a cluster, may be enough for one set.
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    let placed = dir.path().join("placed");
    let ssh = StandIn::in_for("ssh", &format!("echo x >>{}\n{SSH}", placed.display()));
    let line = format!(
        "compare 127.0.0.1:{0} 127.0.0.1:{0} -t set -n 100 -c 4 --repeat 1 \
         --on ssh:a,b,program={KEYSTORM}",
        server.port()
    );
    ssh.before(Keystorm::new(&line)).run().ok();
    assert_eq!(server.calls("set"), 400);
    assert_eq!(fs::read_to_string(placed).unwrap(), "x\n".repeat(2));
}

#[test]
fn fewer_connections_or_requests_than_clients_are_as_many_clients() {
    let (server, (_dir, file)) = (Server::redis(), place());
    for (line, took_part, what) in [("-n 300 -c 3", 3, "connection"), ("-n 2 -c 50", 2, "request")]
    {
        server.reset();
        let ran = server.run(&format!("-t set {line} --on local:5 --json {}", file.display())).ok();
        let text = format!(
            "{took_part} of 5 clients generated the load: there is one {what} for each of them"
        );
        ran.prints(&text);
        assert_eq!(rows(&json(&file)["tests"][0]).len(), took_part);
        assert_eq!(server.calls("set"), if took_part == 3 { 300 } else { 2 });
    }
}

/// A launcher of one client that says what a script has it say: `ready` and the `time` on request, and what
/// else a test is about.
fn scripted(time: &str, begun: &str) -> StandIn {
    let line = hello(env!("CARGO_PKG_VERSION")).replace('"', "\\\"");
    let script = format!(
        r#"
say() {{ printf '{{"from":0,"line":"%s"}}\n' "$1"; }}
echo '{{"placed":["odd"]}}'
say '{line}'
( while sleep 0.5; do say '{{\"alive\":1}}'; done ) &
while read -r told; do
  case "$told" in
  *'{{\"plan\"'*) say '{{\"ready\":{{\"connections\":4}}}}';;
  *'{{\"clock\"'*) n=${{told##*:}}; n=${{n%%\}}*}}; {time}
    say '{{\"clock\":{{\"number\":'$n',\"monotonic_ns\":'$t'}}}}';;
  *'{{\"start\"'*) {begun};;
  *cut*) break;;
  esac
done
kill $!
"#
    );
    StandIn::in_for("keystorm-on-odd", &script)
}

const NOW: &str = "t=$(date +%s%N)";

#[test]
fn a_client_that_lives_and_has_no_result_is_given_up() {
    let server = Server::redis();
    let stand = scripted(NOW, "true");
    let ran = stand.before(server.keystorm("-t set -n 100 -c 4 --on odd")).run().exits(1);
    ran.says("client 1 of 1 (odd): lost after ")
        .says("alive, but it sent neither figures nor a result for 30 s");
}

#[test]
fn a_client_whose_clock_makes_no_sense_is_given_up() {
    let server = Server::redis();
    let stand = scripted("t=$((n % 2 * 5000000000))", "true");
    let ran = stand.before(server.keystorm("-t set -n 100 -c 4 --on odd")).run().exits(1);
    ran.says("(odd)").says("its clock is wrong: the times that it reported contradict each other");
}

/// What stands in for ssh to a host whose clock is set after the start.
const SET_LATER: &str = r#"
while [ $# -gt 2 ]; do shift; done
case "$1" in
later) sh -c "$2" | sed -u '1,/"begun"/b;s/"monotonic_ns":/"monotonic_ns":1/'; exit;;
esac
exec sh -c "$2"
"#;

#[test]
fn a_client_whose_clock_is_set_during_the_run_is_lost() {
    let server = Server::redis();
    let line = format!("-q --duration 2 --rps 200 -c 4 --on ssh:a,later,program={KEYSTORM} incr k");
    let ran = StandIn::in_for("ssh", SET_LATER).before(server.keystorm(&line)).run().exits(1);
    ran.says("client 2 of 2 (later): lost after ")
        .says("its clock is wrong, or the coordinator's: it went 1");
}

#[test]
fn launchers_and_clients_get_no_passwords_in_their_environment() {
    let (server, dir) =
        (Server::redis_with(&["--requirepass", "hunter2"]), tempfile::tempdir().unwrap());
    let seen = dir.path().join("seen");
    let ssh = StandIn::in_for("ssh", &format!("env >>{}\n{SSH}", seen.display()));
    let line = format!("-t set -n 100 -c 4 --on ssh:a,b,program={KEYSTORM}");
    let keystorm = server.keystorm(&line).env("REDISCLI_AUTH", "hunter2");
    ssh.before(keystorm.env("KEYSTORM_KEY_PASSWORD", "hunter3")).run().ok();
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("hunter"), "{seen}");
    assert_eq!(server.calls("set"), 100);
}

#[test]
fn a_server_that_does_not_tell_the_time_is_reported_in_words() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "default", "-time"]);
    let ran = server.run("-t set -n 10 --clock server").exits(1);
    let ran = ran.says("--clock server: the server refused TIME: NOPERM").says("+time");
    assert!(!ran.err.contains("78,"), "{}", ran.err);
}

/// What stands in for ssh to a host whose clocks began an hour before those of this machine.
const LATE: &str = r#"
while [ $# -gt 2 ]; do shift; done
case "$1" in
late) exec unshare --time --monotonic 3600 --fork sh -c "$2";;
esac
exec sh -c "$2"
"#;

#[test]
fn clocks_may_be_an_hour_apart() {
    let allowed = Command::new("unshare").args(["--time", "--monotonic", "3600", "true"]).output();
    if !allowed.is_ok_and(|ran| ran.status.success()) {
        return lacking("clocks_may_be_an_hour_apart", "unshare --time is not allowed here");
    }
    let (server, (_dir, file)) = (Server::redis(), place());
    let on = format!("ssh:now,late,program={KEYSTORM}");
    let line = format!("-t set -n 1000 -c 4 --on {on} --json {}", file.display());
    StandIn::in_for("ssh", LATE).before(server.keystorm(&line)).run().ok();
    let clients = &json(&file)["tests"][0]["clients"];
    // Whatever the machine does meanwhile: it is no hour.
    assert!(clients["start_skew_us"].as_f64().unwrap() < 60e6, "{clients}");
    assert_eq!(server.calls("set"), 1000);
}

#[test]
fn what_cannot_be_placed_is_reported_and_nothing_starts() {
    let server = Server::redis();
    let program = format!("program={KEYSTORM}");
    for (on, says) in [
        (
            format!("ssh:a,down,{program}"),
            "client 2 of 2 (down): ssh: connect to host down port 22",
        ),
        ("ssh:bare".to_owned(), "client 1 of 1 (bare): keystorm was not found there"),
        ("local:0".to_owned(), "name the number of clients"),
        ("ssh:".to_owned(), "name the hosts"),
        ("nosuch:1".to_owned(), "keystorm-on-nosuch is not on the PATH"),
        ("ray".to_owned(), "install the Python package: pip install 'keystorm[ray]'"),
    ] {
        let keystorm = server.keystorm(&format!("-t set -n 100 -c 4 --on {on}"));
        ssh().before(keystorm).run().exits(2).says(says);
    }
    for (line, says) in [
        ("--on local:2 --shard 1/2 -n 10", "--shard"),
        ("--on local:2 --start-at +5", "--start-at"),
        ("--on local:2 -I", "-I"),
        ("--on-loss stop -n 10", "--on"),
    ] {
        server.run(line).exits(2).says(says);
    }
    Keystorm::new("--spawn -n 10 -c 4 --on ssh:a").run().exits(2).says("this machine only");
    assert_eq!(server.calls("set"), 0);
}

#[test]
fn a_client_that_is_lost_before_the_start_keeps_all_from_starting() {
    let server = Server::redis();
    let line = format!("-t set -n 100 -c 4 --on ssh:a,dying,program={KEYSTORM}");
    let ran = ssh().before(server.keystorm(&line)).run().exits(1);
    let description = "client 2 of 2 (dying) was lost before the start, so the run did not start: exited with code 3: out of memory";
    ran.says(description);
    assert_eq!(server.calls("set"), 0);
}

#[test]
fn a_server_that_the_clients_cannot_reach_is_reported_with_the_client() {
    // The coordinator looks at it first.
    let port = crate::server::free_port();
    Keystorm::new(&format!("-p {port} -t set -n 100 -c 4 --on local:2")).run().exits(1);
    let server = Server::redis_with(&["--maxclients", "6"]);
    let ran = server.run("-t set -n 100 -c 20 --on local:2").exits(1);
    assert!(
        ran.err.contains("client ") && ran.err.contains("max number of clients"),
        "{}",
        ran.err
    );
}

#[test]
fn clients_of_other_versions_are_refused() {
    let says = |client: usize, version: &str| {
        let line = hello(version).replace('"', "\\\"");
        format!("printf '%s\\n' '{{\"from\":{client},\"line\":\"{line}\"}}'\n")
    };
    let ours = env!("CARGO_PKG_VERSION");
    let script = format!(
        "echo '{{\"placed\":[\"a\",\"b\",\"c\"]}}'\n{}{}{}cat >/dev/null\n",
        says(0, ours),
        says(1, "9.9.9"),
        says(2, ours)
    );
    let server = Server::redis();
    let stand = StandIn::in_for("keystorm-on-stand", &script);
    let ran = stand.before(server.keystorm("-t set -n 100 -c 4 --on stand:x=1")).run().exits(2);
    ran.says("client 2 of 3 (b) is keystorm 9.9.9, and this is ");
    let stand = StandIn::in_for("keystorm-on-stand", "echo '{\"unfit\":\"no cluster answers\"}'");
    let ran = stand.before(server.keystorm("-t set -n 100 -c 4 --on stand")).run().exits(2);
    ran.says("--on stand: no cluster answers");
    assert_eq!(server.calls("set"), 0);
}

#[test]
fn shares_agree_by_the_servers_clock_and_ranks_come_from_the_launcher() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    let time = server.texts(&["TIME"]);
    let at = time[0].parse::<u64>().unwrap() + 20;
    let start = |rank: u32| {
        let file = dir.path().join(format!("{rank}.json"));
        let line = format!(
            "-t set -n 100 -c 4 --shard env --clock server --start-at {at} --json {}",
            file.display()
        );
        let keystorm = server.keystorm(&line).env("OMPI_COMM_WORLD_SIZE", "2");
        (keystorm.env("OMPI_COMM_WORLD_RANK", rank.to_string()).start(), file)
    };
    let (clients, files): (Vec<_>, Vec<_>) = [start(0), start(1)].into_iter().unzip();
    for client in clients {
        client.wait().ok();
    }
    assert_eq!(server.calls("set"), 100);
    let merged = dir.path().join("merged.json");
    let line = format!(
        "merge {} {} -o {} --format text",
        files[0].display(),
        files[1].display(),
        merged.display()
    );
    Keystorm::new(&line).run().ok().prints("  2 clients started within 0.");
    assert!(json(&files[0])["tests"][0]["clock"]["bound_us"].as_f64().unwrap() > 0.0);
    crate::record::valid_by("keystorm.run.1.json", &json(&merged));
    crate::record::valid_by("keystorm.run.1.json", &json(&files[1]));
    server.run("-n 10 --shard env").exits(2).says("OMPI_COMM_WORLD_RANK");
    server.run("-n 10 --on local:2 --clock server").exits(2).says("--clock");
    let line = "-n 10 -t get --protocol memcache --clock server";
    server.run(line).exits(2).says("--clock server: memcached has no command");
    let sweep = "sweep -c 1,2 -t get --spawn --clock server";
    Keystorm::new(sweep).run().exits(2).says("--clock works with single runs only");
}
