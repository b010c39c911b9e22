//! Clients under launchers and clocks that are no stand-ins: Open MPI, libfaketime, and ssh into another
//! network namespace. Each test runs where its tool is installed, and says by name where it does not.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::SystemTime;

use serde_json::Value;
use tempfile::TempDir;

use crate::fleet_places::StandIn;
use crate::program::{Keystorm, PATIENCE, within};
use crate::real_clock::lacking;
use crate::record::{json, place};
use crate::server::{KEYSTORM, Server, guarded, start};

/// What a command of the system says, if it goes well.
fn output_of(command: &str) -> Result<String, String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let ran = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = ran.map_err(|e| format!("{}: {e}", words[0]))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if status.success() { Ok(text(&stdout)) } else { Err(format!("{command}: {}", text(&stderr))) }
}

#[test]
fn open_mpi_hands_out_the_ranks_and_the_server_the_time() {
    let check = "open_mpi_hands_out_the_ranks_and_the_server_the_time";
    match output_of("mpirun --version") {
        Ok(version) if version.contains("Open MPI") => {}
        other => return lacking(check, format!("no Open MPI: {other:?}")),
    }
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    let at = server.texts(&["TIME"])[0].parse::<u64>().unwrap() + 20;
    let line = format!(
        "exec {KEYSTORM} -p {} -t set -n 401 -c 8 --shard env --clock server --start-at {at} \
         --json {}/$OMPI_COMM_WORLD_RANK.json",
        server.port(),
        dir.path().display()
    );
    let mpirun = ["-np", "4", "--oversubscribe", "--allow-run-as-root", "sh", "-c", &line];
    let ran = Command::new("mpirun").args(mpirun).stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(server.calls("set"), 401);
    let files: Vec<_> = (0..4).map(|rank| dir.path().join(format!("{rank}.json"))).collect();
    let merged = dir.path().join("merged.json");
    let mut words: Vec<&Path> = vec![Path::new("merge")];
    words.extend(files.iter().map(|file| file.as_path()));
    words.extend([Path::new("-o"), &merged, Path::new("--format"), Path::new("text")]);
    Keystorm::exec(KEYSTORM, words).run().ok().prints("  4 clients started within 0.");
    assert_eq!(json(&merged)["tests"][0]["requests"], 401);
}

#[test]
fn the_wall_clock_of_a_client_may_be_a_day_off() {
    let check = "the_wall_clock_of_a_client_may_be_a_day_off";
    if let Err(why) = output_of("faketime --version") {
        return lacking(check, format!("no libfaketime: {why}"));
    }
    let (server, (dir, file)) = (Server::redis(), place());
    let shown = dir.path().join("shown");
    // The wall clock alone: what its other clocks show is another test.
    let ssh = format!(
        "while [ $# -gt 2 ]; do shift; done\n\
         case \"$1\" in\n\
         off) export FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1\n\
         faketime -f -1d date +%s >{}\n\
         exec faketime -f -1d sh -c \"$2\";;\n\
         esac\n\
         exec sh -c \"$2\"\n",
        shown.display()
    );
    let line = format!(
        "-t set -n 1000 -c 4 --on ssh:right,off,program={KEYSTORM} --json {}",
        file.display()
    );
    StandIn::in_for("ssh", &ssh).before(server.keystorm(&line)).run().ok();
    assert_eq!(server.calls("set"), 1000);
    let now_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let shown: u64 = fs::read_to_string(shown).unwrap().trim().parse().unwrap();
    assert!(shown + 80_000 < now_s, "{shown} is no day before {now_s}");
    let test = &json(&file)["tests"][0];
    let skew_us = test["clients"]["start_skew_us"].as_f64().unwrap();
    assert!(skew_us < 60e6, "whatever the machine does meanwhile, it is no day: {test}");
    assert!(test["elapsed_s"].as_f64().unwrap() < 3600.0, "{test}");
}

/// Another network namespace with an sshd in it, linked to ours.
struct RemoteHost {
    name: String,
    /// Our end of the link.
    link: String,
    ours: String,
    dir: TempDir,
    sshd: Option<Child>,
}

impl RemoteHost {
    fn new() -> Result<Self, String> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
        let sshd = sshd.into_iter().find(|path| Path::new(path).is_file()).ok_or("no sshd")?;
        if !rustix::process::geteuid().is_root() {
            return Err("only root may make a network namespace".to_owned());
        }
        let id = std::process::id();
        let (third, fourth) = (id / 64 % 256, id % 64 * 4);
        let name = format!("keystorm{id}");
        let (link, theirs_end) = (format!("ks{id}a"), format!("ks{id}b"));
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let ours = format!("10.211.{third}.{}", fourth + 1);
        let theirs = format!("10.211.{third}.{}", fourth + 2);
        let mut elsewhere = Self { name, link, ours, dir, sshd: None };
        let Self { name, link, ours, dir, .. } = &elsewhere;
        let at = dir.path().display();
        for command in [
            format!("ip netns add {name}"),
            format!("ip link add {link} type veth peer name {theirs_end} netns {name}"),
            format!("ip addr add {ours}/30 dev {link}"),
            format!("ip link set {link} up"),
            format!("ip -n {name} addr add {theirs}/30 dev {theirs_end}"),
            format!("ip -n {name} link set {theirs_end} up"),
            format!("ip -n {name} link set lo up"),
            "mkdir -p /run/sshd".to_owned(),
        ] {
            output_of(&command)?;
        }
        for key in ["host", "user"] {
            Self::make_key(&dir.path().join(key))?;
        }
        let write = |file: &str, text: String| {
            fs::write(dir.path().join(file), text).map_err(|e| e.to_string())
        };
        write(
            "sshd_config",
            format!(
                "ListenAddress {theirs}:22\nHostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\n\
                 PermitRootLogin yes\nStrictModes no\nUsePAM no\nPidFile none\n"
            ),
        )?;
        write(
            "ssh_config",
            format!(
                "Host elsewhere\nHostName {theirs}\nUser root\nIdentityFile {at}/user\n\
                 IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n\
                 LogLevel ERROR\nConnectionAttempts 20\n"
            ),
        )?;
        let mut command = guarded("ip");
        command
            .args(["netns", "exec", name, sshd, "-D", "-e", "-f"])
            .arg(format!("{at}/sshd_config"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let sshd = start(command).map_err(|e| e.to_string())?;
        elsewhere.sshd = Some(sshd);
        Ok(elsewhere)
    }

    fn make_key(file: &Path) -> Result<(), String> {
        let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
        let made = Command::new("ssh-keygen").args(words).arg(file).status();
        let made = made.map_err(|e| format!("ssh-keygen: {e}"))?;
        if made.success() { Ok(()) } else { Err("ssh-keygen makes no key".to_owned()) }
    }

    /// The system's ssh, with a configuration that knows the way.
    fn ssh(&self) -> StandIn {
        let config = self.dir.path().join("ssh_config");
        let path = std::env::var("PATH").unwrap();
        StandIn::in_for("ssh", &format!("PATH='{path}' exec ssh -F {} \"$@\"\n", config.display()))
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        // Those that sshd started, too.
        for pid in output_of(&format!("ip netns pids {}", self.name)).unwrap_or_default().lines() {
            let _ = output_of(&format!("kill -9 {pid}"));
        }
        if let Some(mut sshd) = self.sshd.take() {
            let _ = (sshd.kill(), sshd.wait());
        }
        let _ = output_of(&format!("ip link del {}", self.link));
        let _ = output_of(&format!("ip netns del {}", self.name));
    }
}

#[test]
fn ssh_reaches_another_network_and_a_link_that_is_cut_loses_its_client() {
    let check = "ssh_reaches_another_network_and_a_link_that_is_cut_loses_its_client";
    let elsewhere = match RemoteHost::new() {
        Ok(elsewhere) => elsewhere,
        Err(why) => return lacking(check, why),
    };
    let server =
        Server::redis_with(&["--bind", &elsewhere.ours, "127.0.0.1", "--protected-mode", "no"]);
    let (ssh, (_dir, file)) = (elsewhere.ssh(), place());
    let line = |load: &str| {
        let on = format!("ssh:elsewhere,program={KEYSTORM}");
        let (host, port) = (&elsewhere.ours, server.port());
        Keystorm::new(&format!(
            "-h {host} -p {port} -t set {load} -c 4 --on {on} --json {}",
            file.display()
        ))
    };
    let ready = || ssh.before(line("-n 1")).run().code == Some(0);
    assert!(within(PATIENCE, ready), "sshd does not answer");
    server.reset();
    ssh.before(line("-n 1000")).run().ok().prints("  1 elsewhere ");
    assert_eq!(server.calls("set"), 1000);
    server.reset();
    let running = ssh.before(line("--duration 300")).start();
    running.until("the client loads", |_| server.calls("set") > 1000);
    output_of(&format!("ip link set {} down", elsewhere.link)).unwrap();
    running.wait().exits(1).says("client 1 of 1 (elsewhere): lost after ");
    let row = json(&file)["tests"][0]["clients"]["rows"][0].clone();
    assert!(matches!(row["lost"], Value::String(_)), "{row}");
}
