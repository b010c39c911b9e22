//! The server of a plan, and how to log in there, as words of a command line.

use std::fmt::Display;
use std::path::Path;

use workload::{
    ClusterOptions, Endpoint, Plan, ProtocolKind, ReadFrom, ReplicaFallback, TlsOptions, Verify,
    secret::HIDDEN, secret::shown_arguments,
};

use super::words::{Words, list};

/// Writes the options that name the server and the login.
pub(super) fn server(plan: &Plan, words: &mut Words) {
    let target = &plan.target;
    place(&target.endpoint, words);
    if let Some(login) = &target.credentials {
        words.maybe("--user", login.user.as_ref().map(|user| user as &dyn Display));
        match &target.password_command {
            Some(_) => words.option("--password-command", &HIDDEN),
            None => words.option("-a", &HIDDEN),
        }
    }
    if target.db > 0 {
        words.option("--dbnum", &target.db);
    }
    match plan.protocol {
        ProtocolKind::Resp2 => {}
        ProtocolKind::Resp3 => words.word("-3"),
        ProtocolKind::MemcacheText => words.option("--protocol", &"memcache"),
        ProtocolKind::MemcacheMeta => words.option("--protocol", &"memcache-meta"),
        ProtocolKind::MemcacheBinary => words.option("--protocol", &"memcache-binary"),
    }
    if let Some(cluster) = &target.cluster {
        words.flags(&[(target.is_cluster(), "--cluster")]);
        readers(cluster, words);
        let also: Vec<u32> = plan.read_only.iter().map(|at| at + 1).collect();
        if !also.is_empty() {
            words.option("--rfr-also", &list(&also));
        }
    }
    if let Some(options) = &target.tls {
        tls(options, words);
    }
    if !target.sources.is_empty() {
        words.option("--source-ip", &list(&target.sources));
    }
    words.flags(&[
        (target.tracking, "--enable-tracking"),
        (target.no_touch, "--no-touch"),
        (target.mptcp, "--mptcp"),
    ]);
}

fn place(endpoint: &Endpoint, words: &mut Words) {
    match endpoint {
        Endpoint::Pool { servers } => {
            let Some((first, others)) = servers.split_first() else { return };
            place(first, words);
            let place = |server: &Endpoint| match server {
                Endpoint::Unix(path) => path.display().to_string(),
                other => other.to_string(),
            };
            let others: Vec<String> = others.iter().map(place).collect();
            words.option("--pool", &others.join(","));
        }
        Endpoint::Tcp { host, port } => {
            words.option("-h", host);
            words.option("-p", port);
        }
        Endpoint::Sentinel { sentinels, name } => {
            let sentinels = places(sentinels);
            words.option("-u", &format_args!("redis-sentinel://{sentinels}/{name}"));
        }
        Endpoint::Replicated { primary, replicas } => {
            place(&primary.into(), words);
            words.option("--replicas", &places(replicas));
        }
        Endpoint::Unix(path) => words.option("-s", &path.display()),
        Endpoint::Ring { hash, .. } => {
            words.option("-h", endpoint);
            words.option("--hash", hash);
        }
        Endpoint::Spawned { program, args, unix, cpus } => {
            words.word(&program.as_ref().map_or("--spawn".to_owned(), |p| format!("--spawn={p}")));
            words.flags(&[(*unix, "--spawn-unix")]);
            if !args.is_empty() {
                words.option("--spawn-args", &shell_words::join(shown_arguments(args)));
            }
            if !cpus.is_empty() {
                words.option("--server-cpus", &list(cpus));
            }
        }
    }
}

fn places(servers: &[(String, u16)]) -> String {
    list(&servers.iter().map(Endpoint::from).collect::<Vec<_>>())
}

fn readers(options: &ClusterOptions, words: &mut Words) {
    match options.read_from {
        ReadFrom::Masters => {}
        ReadFrom::Replicas => words.option("--rfr", &"yes"),
        ReadFrom::All => words.option("--rfr", &"all"),
        ReadFrom::Nearest => words.option("--rfr", &"nearest"),
    }
    match options.without_replica {
        ReplicaFallback::Primary => {}
        ReplicaFallback::Wait => words.option("--rfr-without", &"wait"),
    }
    let most = options.replicas_max.as_ref();
    words.maybe("--rfr-replicas", most.map(|most| most as &dyn Display));
    if let Some(of) = options.connections {
        words.option("--rfr-connections", &format_args!("{}:{}", of.replica, of.primary));
    }
    let flags = [(options.per_node, "--per-node"), (options.rate_per_node, "--rps-per-node")];
    words.flags(&flags);
}

fn tls(options: &TlsOptions, words: &mut Words) {
    let TlsOptions { sni, verify, cacert, cacertdir, cert, cert_chain, key, .. } = options;
    let TlsOptions { ciphers, ciphersuites, groups, protocols, resume, .. } = options;
    words.word("--tls");
    let texts = [
        ("--sni", sni),
        ("--tls-ciphers", ciphers),
        ("--tls-ciphersuites", ciphersuites),
        ("--tls-groups", groups),
        ("--tls-protocols", protocols),
    ];
    for (name, text) in texts {
        words.maybe(name, text.as_ref().map(|text| text as &dyn Display));
    }
    let files = [
        ("--cacert", cacert),
        ("--cacertdir", cacertdir),
        ("--cert", cert),
        ("--cert-chain", cert_chain),
        ("--key", key),
    ];
    for (name, file) in files {
        let shown = file.as_deref().map(Path::display);
        words.maybe(name, shown.as_ref().map(|shown| shown as &dyn Display));
    }
    words.flags(&[(*verify == Verify::Nothing, "--insecure"), (*resume, "--tls-resume")]);
}
