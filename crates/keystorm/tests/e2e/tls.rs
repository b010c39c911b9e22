//! TLS with a real server and certificates that the test makes.

use std::path::PathBuf;
use std::time::Duration;

use crate::certificates::{Identity, Subject};
use crate::fleet_places::StandIn;
use crate::program::{Keystorm, RunOutput};
use crate::server::{KEYSTORM, Server, called, free_port};

/// A CA, and a server whose certificate it signed.
pub(crate) struct TlsServer {
    pub(crate) server: Server,
    pub(crate) port: u16,
    pub(crate) ca: Identity,
    pub(crate) dir: tempfile::TempDir,
}

impl TlsServer {
    pub(crate) fn new() -> Self {
        Self::with(&Subject::default(), &["--tls-auth-clients", "no"])
    }

    /// With this certificate, and these arguments of redis-server.
    pub(crate) fn with(subject: &Subject<'_>, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = Identity::authority("test CA");
        let (ca_file, _) = ca.write(dir.path(), "ca");
        let (cert, key) = ca.signs(subject).write(dir.path(), "server");
        let port = free_port();
        let port_arg = port.to_string();
        let mut all = vec!["--tls-port", &port_arg];
        let files = [("--tls-ca-cert-file", &ca_file), ("--tls-cert-file", &cert)];
        for (option, file) in files.into_iter().chain([("--tls-key-file", &key)]) {
            all.extend([option, file.to_str().unwrap()]);
        }
        all.extend(args);
        Self { server: Server::redis_with(&all), port, ca, dir }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn keystorm(&self, line: &str) -> Keystorm {
        Keystorm::new(&format!("-p {} --tls {line}", self.port))
    }

    pub(crate) fn run(&self, line: &str) -> RunOutput {
        self.keystorm(line).run()
    }

    /// In trust of the CA.
    pub(crate) fn trusted(&self, line: &str) -> RunOutput {
        self.run(&format!("--cacert {} {line}", self.file("ca.crt").display()))
    }
}

#[test]
fn counts_are_exact_with_every_engine_and_shape() {
    let secure = TlsServer::new();
    for engine in ["epoll", "uring"] {
        for (n, shape) in [
            (1000, "-c 7"),
            (1003, "-c 10 -P 16 --threads 3"),
            (2000, "-c 5 -P 8 --window rolling -3"),
            (500, "-c 4 --rps 2000"),
            (200, "-c 5 -k 0"),
            (203, "-c 5 -k 0 -P 4 --threads 2 --tls-resume"),
        ] {
            secure.server.reset();
            let ran = secure.trusted(&format!("--engine {engine} -n {n} {shape} incr k")).ok();
            assert_eq!(secure.server.calls("incr"), n, "{engine} {shape}");
            assert_eq!(ran.completed().0, n);
            let ran = ran.prints("  TLS: TLSv1.3 TLS_");
            let without_keep_alive = shape.contains("-k 0");
            assert_eq!(ran.out.contains("TLS handshake (ms)"), without_keep_alive, "{shape}");
        }
    }
}

#[test]
fn large_values_arrive_whole() {
    let secure = TlsServer::new();
    for engine in ["epoll", "uring"] {
        secure.trusted(&format!("--engine {engine} -t set,get -d 300000 -c 3 -P 4 -n 200 -q")).ok();
        assert_eq!(secure.server.number(&["STRLEN", "key:__rand_int__"]), 300_000);
    }
}

#[test]
fn the_suite_prepares_itself_in_tls() {
    let secure = TlsServer::new();
    secure.trusted("-t fcall,lrange_100 -n 100 -q").ok().prints("FCALL").prints("LRANGE_100");
}

#[test]
fn versions_and_ciphers_are_those_asked_for() {
    let secure = TlsServer::with(
        &Subject { rsa: true, ..Subject::default() },
        &["--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2"],
    );
    let suite = "ECDHE-RSA-AES128-GCM-SHA256";
    let ran = secure.trusted(&format!("--tls-ciphers {suite} -n 100 get k")).ok();
    ran.prints(&format!("  TLS: TLSv1.2 {suite}\n"));
    let ran = secure.trusted("--tls-ciphers ECDHE-ECDSA-AES128-GCM-SHA256 -n 100 get k").exits(1);
    ran.says("no cipher in common").says("--tls-ciphers");
    let ran = secure.trusted("--tls-groups no_such_group -n 100 get k").exits(1);
    ran.says("--tls-groups no_such_group");
    let modern = TlsServer::new();
    let suite = "TLS_CHACHA20_POLY1305_SHA256";
    let ran = modern.trusted(&format!("--tls-ciphersuites {suite} -n 100 -q get k")).ok();
    ran.prints(&format!(", TLS TLSv1.3 {suite}, 0 hits, 100 misses"));
}

#[test]
fn only_the_versions_that_are_named_are_offered() {
    let secure = TlsServer::new();
    for (list, version) in
        [("TLSv1.2", "TLSv1.2"), ("tlsv1.3", "TLSv1.3"), ("TLSv1.2,TLSv1.3", "TLSv1.3")]
    {
        let ran = secure.trusted(&format!("--tls-protocols {list} -n 100 get k")).ok();
        ran.prints(&format!("  TLS: {version} "));
    }
    let old = TlsServer::with(
        &Subject::default(),
        &["--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2"],
    );
    old.trusted("--tls-protocols TLSv1.3 -n 100 get k")
        .exits(1)
        .says("no TLS version in common")
        .says("--tls-protocols");
    let ran = old.trusted("--tls-protocols TLSv1.4 -n 100 get k").exits(1);
    ran.says("--tls-protocols TLSv1.4: \"TLSv1.4\" is not one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3");
    // memtier_benchmark has the option, too.
    let line = |list: &str| {
        let ca = old.file("ca.crt");
        let at = format!("-p {} --tls --cacert {}", old.port, ca.display());
        Keystorm::new(&format!("memtier {at} --tls-protocols {list} -t 1 -c 1 -n 11")).run()
    };
    old.server.reset();
    line("TLSv1.2").ok().prints("ALL STATS");
    assert_eq!((old.server.calls("set"), old.server.calls("get")), (1, 10));
    line("TLSv1.3").exits(1);
    line("SSLv3").exits(2).says("tls-protocols must be a comma separated list");
}

#[test]
fn sessions_are_resumed_where_that_is_asked_for() {
    for protocol in ["TLSv1.2", "TLSv1.3"] {
        let args = ["--tls-auth-clients", "no", "--tls-protocols", protocol];
        let secure = TlsServer::with(&Subject::default(), &args);
        for engine in ["epoll", "uring"] {
            let line = format!("--engine {engine} -k 0 -c 2 -n 100 get k");
            let ran = secure.trusted(&format!("--tls-resume {line}")).ok();
            let shown =
                ran.out.lines().find_map(|l| l.trim().strip_prefix("TLS sessions resumed: "));
            let words: Vec<&str> = shown.unwrap().split(' ').collect();
            let (resumed, all): (u32, u32) = (words[0].parse().unwrap(), words[2].parse().unwrap());
            assert!(all >= 100 && resumed >= 90, "{protocol} {engine}: {resumed} of {all}");
            let ran = secure.trusted(&line).ok();
            assert!(!ran.out.contains("resumed"), "{}", ran.out);
        }
    }
}

#[test]
fn mutual_tls_takes_the_clients_certificate() {
    for protocol in ["TLSv1.2", "TLSv1.3"] {
        let args = ["--tls-auth-clients", "yes", "--tls-protocols", protocol];
        let secure = TlsServer::with(&Subject::default(), &args);
        secure.ca.signs(&Subject::default()).write(secure.dir.path(), "client");
        let other = Identity::authority("another CA");
        other.signs(&Subject::default()).write(secure.dir.path(), "stranger");
        let with = |name: &str| {
            let (cert, key) = (format!("{name}.crt"), format!("{name}.key"));
            let (cert, key) = (secure.file(&cert), secure.file(&key));
            format!("--cert {} --key {} -n 100 -c 3 incr k", cert.display(), key.display())
        };
        for engine in ["epoll", "uring"] {
            secure.server.reset();
            secure.trusted(&format!("--engine {engine} {}", with("client"))).ok();
            assert_eq!(secure.server.calls("incr"), 100);
        }
        let ran = secure.trusted("-n 100 get k").exits(1);
        ran.says("client certificate").says("--cert").says("--key");
        secure.trusted(&with("stranger")).exits(1).says("refused our certificate").says("CA");
        // A key that does not fit the certificate is reported before anything is sent.
        let (cert, key) = (secure.file("client.crt"), secure.file("server.key"));
        let mixed = format!("--cert {} --key {} -n 1 get k", cert.display(), key.display());
        secure.trusted(&mixed).exits(1).says("does not match --cert");
    }
}

#[test]
fn what_is_wrong_with_a_certificate_is_reported() {
    let expired = Subject { valid_days: (-10, -1), ..Subject::default() };
    let expired = TlsServer::with(&expired, &["--tls-auth-clients", "no"]);
    expired.trusted("-n 10 get k").exits(1).says("has expired on ");
    let early = Subject { valid_days: (3, 9), ..Subject::default() };
    let early = TlsServer::with(&early, &["--tls-auth-clients", "no"]);
    early.trusted("-n 10 get k").exits(1).says("not valid yet");
    let other = Subject { names: &["other.example"], ips: &["192.0.2.7"], ..Subject::default() };
    let other = TlsServer::with(&other, &["--tls-auth-clients", "no"]);
    let ran = other.trusted("-n 10 get k").exits(1).says("certificate is not for ");
    ran.says("other.example, 192.0.2.7").says("--sni").says("--insecure");
    other.trusted("--sni other.example -n 10 get k").ok();
    other.trusted("--sni third.example -n 10 get k").exits(1).says("third.example");
    let unknown = TlsServer::new();
    unknown.run("-n 10 get k").exits(1).says("unknown CA").says("--cacert");
    let (same_name, _) = Identity::authority("test CA").write(unknown.dir.path(), "same-name");
    let line = format!("--cacert {} -n 10 get k", same_name.display());
    unknown.run(&line).exits(1).says("unknown CA");
    for secure in [&expired, &early, &other, &unknown] {
        assert_eq!(secure.server.calls("get") % 10, 0);
        secure.run("--insecure -n 10 get k").ok();
    }
}

#[test]
fn names_are_checked_like_addresses() {
    let named =
        TlsServer::with(&Subject { ips: &[], ..Subject::default() }, &["--tls-auth-clients", "no"]);
    named.trusted("-h localhost -n 10 get k").ok();
    named.trusted("-n 10 get k").exits(1).says("certificate is not for ").says("localhost");
    let ca = named.file("ca.crt");
    for scheme in ["rediss", "valkeys"] {
        let line = format!("-u {scheme}://localhost:{}/2 --cacert {}", named.port, ca.display());
        let ran = Keystorm::new(&format!("{line} -n 10 get k")).run().ok();
        ran.prints("  TLS: TLSv1.3");
    }
}

#[test]
fn by_the_name_of_a_peer_a_wrong_host_passes_and_is_reported_where_that_is_wanted() {
    let other = Subject { names: &["other.example"], ips: &[], ..Subject::default() };
    let other = TlsServer::with(&other, &["--tls-auth-clients", "no"]);
    let (_link_dir, link) = called("redis-benchmark");
    let line = format!("--cacert {} -n 10 -q get k", other.file("ca.crt").display());
    let by_name = || other.keystorm(&line).called(&link);
    assert_eq!(by_name().run().ok().err, "");
    let ran = by_name().env("KEYSTORM_VERDICT", "stderr").run().ok();
    ran.says("warning").says("other.example");
    // Its CA is still checked.
    other.keystorm("-n 10 -q get k").called(&link).run().exits(1).says("unknown CA");
}

#[test]
fn a_directory_of_cas_is_looked_up_by_hash() {
    let secure = TlsServer::new();
    let directory = secure.file("cas");
    std::fs::create_dir(&directory).unwrap();
    let line = format!("--cacertdir {} -n 10 get k", directory.display());
    secure.run(&line).exits(1).says("openssl rehash");
    let hash = secure.ca.certificate.subject_name_hash();
    std::fs::copy(secure.file("ca.crt"), directory.join(format!("{hash:08x}.0"))).unwrap();
    secure.run(&line).ok();
}

#[test]
fn a_plain_server_and_a_tls_server_are_distinguished() {
    let secure = TlsServer::new();
    let plain_port = secure.server.port();
    for _ in 0..3 {
        // The server may wait for the end of a line in what it takes for a command.
        let ran = Keystorm::new(&format!("-p {plain_port} --tls --insecure -n 10 get k")).run();
        let ran = ran.exits(1).says("does not speak TLS").says("--tls");
        assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    }
    let ran = Keystorm::new(&format!("-p {} -n 10 get k", secure.port)).run().exits(1);
    ran.says("add --tls");
    let gone = free_port();
    Keystorm::new(&format!("-p {gone} --tls -n 10 get k")).run().exits(1).says("refused");
}

#[test]
fn a_plain_client_is_told_of_tls_by_every_name() {
    let secure = TlsServer::new();
    let port = secure.port;
    for line in [
        format!("-p {port} -n 10 -q get k"),
        format!("--as redis-benchmark -p {port} -n 10 -q -t set"),
        format!("memtier -p {port} -n 10 -c 1 -t 1 --hide-histogram"),
    ] {
        let ran = Keystorm::new(&line).run().says("if it requires TLS, add --tls");
        assert_ne!(ran.code, Some(0), "{line}");
    }
    let ycsb = "ycsb load redis -P workloads/workloada -p recordcount=10 -p redis.host=127.0.0.1";
    Keystorm::new(&format!("{ycsb} -p redis.port={port}")).run().exits(1).says("TLS");
}

/// Advice is the end of its sentence, whatever was under way.
#[test]
fn a_certificate_that_is_missing_is_asked_for_in_a_sentence() {
    let secure = TlsServer::with(&Subject::default(), &["--tls-auth-clients", "yes"]);
    for name in ["keystorm", "redis-benchmark"] {
        let as_name = if name == "keystorm" { String::new() } else { format!("--as {name} ") };
        let ran = secure.run(&format!("{as_name}--insecure -n 10 -q -t set")).exits(1);
        assert!(
            !ran.err.contains("--key FILE before") && !ran.err.contains("--key FILE with"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_server_that_goes_away_ends_the_run_with_its_results() {
    let mut secure = TlsServer::new();
    let line = format!(
        "--cacert {} --duration 30 --reconnect no -c 4 incr k",
        secure.file("ca.crt").display()
    );
    let running = secure.keystorm(&line).start();
    running.until("sends", |_| secure.server.calls("incr") > 100);
    secure.server.kill();
    let ran = running.wait().exits(1).says("in flight");
    assert!(ran.completed().0 > 0);
}

#[test]
fn idle_connections_are_held_in_tls() {
    let secure = TlsServer::new();
    let line = format!("--cacert {} -I -c 20", secure.file("ca.crt").display());
    let running = secure.keystorm(&line).start();
    running.until("tells how many live", |r| r.out().contains("clients: 20"));
    running.interrupt();
    running.wait().exits(130);
}

#[test]
fn options_without_tls_do_nothing_and_contradictions_are_refused() {
    let server = Server::redis();
    for option in ["--cacert /nowhere", "--insecure", "--sni h", "--tls-resume"] {
        let ran = server.run(&format!("{option} -n 10 -q get k")).ok();
        ran.says(&format!(
            "warning: {} has no effect without --tls",
            option.split(' ').next().unwrap()
        ));
    }
    for (line, part) in [
        ("--spawn --tls", "--spawn"),
        ("-s /tmp/s --tls", "--sni"),
        ("--tls --cert c", "--key"),
        ("--tls --key k", "--cert"),
    ] {
        Keystorm::new(&format!("{line} -n 10 get k")).run().exits(2).says(part);
    }
    for (line, part) in [
        ("--cacert /nowhere/ca.crt", "--cacert /nowhere/ca.crt: No such file"),
        ("--tls-ciphers NONSENSE", "--tls-ciphers NONSENSE"),
        ("--cert /nowhere/c --key /nowhere/k", "--cert /nowhere/c: No such file"),
    ] {
        server.run(&format!("--tls {line} -n 10 get k")).exits(1).says(part);
    }
}

#[test]
fn the_plan_names_files_and_shows_nothing_of_them() {
    let secure = TlsServer::new();
    let key = secure.file("server.key");
    let line = format!(
        "--cacert {} --cert {} --key {} --tls-resume --print-plan get k",
        secure.file("ca.crt").display(),
        secure.file("server.crt").display(),
        key.display()
    );
    let ran = secure.run(&line).ok().prints("\"verify\": \"host\"").prints("server.key");
    let secret = std::fs::read_to_string(key).unwrap();
    ran.keeps_secret(secret.lines().nth(1).unwrap());
}

#[test]
fn memtier_s_tls_trusts_a_file_and_looks_at_no_host() {
    let subject = Subject { names: &["elsewhere.test"], ips: &[], ..Subject::default() };
    let secure = TlsServer::with(&subject, &["--tls-auth-clients", "no"]);
    let run = |rest: &str| {
        Keystorm::new(&format!("memtier -p {} --tls {rest} -t 1 -c 2 -n 11", secure.port)).run()
    };
    let ca = format!("--cacert {}", secure.file("ca.crt").display());
    run(&ca).ok().prints("ALL STATS");
    run("--tls-skip-verify").ok();
    run("").exits(1).says("ertificate");
    assert_eq!(secure.server.calls("get"), 40);
}

#[test]
fn clients_elsewhere_get_the_files_with_the_plan() {
    let secure = TlsServer::with(&Subject::default(), &["--tls-auth-clients", "yes"]);
    secure.ca.signs(&Subject::default()).write(secure.dir.path(), "client");
    let here = secure.dir.path().display().to_string();
    let (file, page) = (secure.file("run.json"), secure.file("page.html"));
    // A host that has none of these files: paths that a client gets lead nowhere there.
    let ssh = format!(
        "while [ $# -gt 2 ]; do shift; done\nsed -u 's#{here}#/nowhere#g' | exec sh -c \"$2\"\n"
    );
    let line = format!(
        "--cacert {here}/ca.crt --cert {here}/client.crt --key {here}/client.key -t set -n 400 -c 4 \
         --on ssh:a,b,program={KEYSTORM} --json {} --html {}",
        file.display(),
        page.display()
    );
    StandIn::in_for("ssh", &ssh).before(secure.keystorm(&line)).run().ok().prints("  TLS: TLSv1.3");
    assert_eq!(secure.server.calls("set"), 400);
    let secret = std::fs::read_to_string(secure.file("client.key")).unwrap();
    for kept in [file, page] {
        let text = std::fs::read_to_string(&kept).unwrap();
        assert!(!text.contains(secret.lines().nth(1).unwrap()), "{}", kept.display());
    }
    // A directory is not sent along; the error names the client that lacks it.
    let line = line.replace(&format!("--cacert {here}/ca.crt"), &format!("--cacertdir {here}/cas"));
    std::fs::create_dir(secure.file("cas")).unwrap();
    let hash = secure.ca.certificate.subject_name_hash();
    std::fs::copy(secure.file("ca.crt"), secure.file("cas").join(format!("{hash:08x}.0"))).unwrap();
    let ran = StandIn::in_for("ssh", &ssh).before(secure.keystorm(&line)).run().exits(1);
    ran.says("client 1 of 2 (a): ").says("--cacertdir /nowhere/cas").says("--cacert FILE");
}

#[test]
fn what_tls_costs_is_compared() {
    let tls = TlsServer::new();
    let (plain, secure) = (tls.server.port(), tls.port);
    let cacert = format!("--cacert {}", tls.file("ca.crt").display());
    let line = "-t set -n 300 --repeat 1 --disturbed count";
    let sides = [format!("redis://127.0.0.1:{plain}"), format!("rediss://127.0.0.1:{secure}")];
    let before = tls.server.calls("set");
    for [a, b] in [[0, 1], [1, 0]] {
        let line = format!("compare {} {} {cacert} {line}", sides[a], sides[b]);
        let ran = Keystorm::new(&line).run().ok();
        let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("over TCP") && words.contains("over TLS on TCP"), "{words}");
        assert!(!ran.err.contains("has no effect"), "{}", ran.err);
    }
    assert_eq!(tls.server.calls("set") - before, 2 * 4 * 300);
    let [a, b] = ["a.json", "b.json"].map(|name| tls.file(name).display().to_string());
    Keystorm::new(&format!("-p {plain} -t set -n 300 -q --json {a}")).run().ok();
    tls.trusted(&format!("-t set -n 300 -q --json {b}")).ok();
    let ran = Keystorm::new(&format!("compare {a} {b}")).run().ok();
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("over TLS on TCP"), "{words}");
}
