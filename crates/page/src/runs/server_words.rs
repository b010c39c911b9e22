//! The server of a plan, and how to log in there, as words of a command line.

use std::path::PathBuf;

use workload::{
    ClusterOptions, Endpoint, Plan, ReadFrom, TlsOptions, Verify, WithoutReplica, secret::HIDDEN,
    secret::shown_arguments,
};

fn place(endpoint: &Endpoint, words: &mut Vec<String>) {
    match endpoint {
        Endpoint::Pool { servers } => {
            let Some((first, others)) = servers.split_first() else { return };
            place(first, words);
            let place = |server: &Endpoint| match server {
                Endpoint::Unix(path) => path.display().to_string(),
                other => other.to_string(),
            };
            let others: Vec<String> = others.iter().map(place).collect();
            words.extend(["--pool".to_owned(), others.join(",")]);
        }
        Endpoint::Tcp { host, port } => {
            words.extend(["-h".into(), host.clone(), "-p".into(), port.to_string()]);
        }
        Endpoint::Sentinel { sentinels, name } => {
            words.extend(["-u".into(), format!("redis-sentinel://{}/{name}", places(sentinels))]);
        }
        Endpoint::Replicated { primary, replicas } => {
            place(&primary.into(), words);
            words.extend(["--replicas".into(), places(replicas)]);
        }
        Endpoint::Unix(path) => words.extend(["-s".into(), path.display().to_string()]),
        Endpoint::Ring { hash, .. } => {
            words.extend(["-h".into(), endpoint.to_string()]);
            words.extend(["--hash".into(), hash.name().to_owned()]);
        }
        Endpoint::Spawned { program, args, unix, cpus } => {
            words.push(program.as_ref().map_or("--spawn".into(), |p| format!("--spawn={p}")));
            if *unix {
                words.push("--spawn-unix".into());
            }
            if !args.is_empty() {
                words.extend(["--spawn-args".into(), shell_words::join(shown_arguments(args))]);
            }
            if !cpus.is_empty() {
                words.extend(["--server-cpus".into(), list(cpus)]);
            }
        }
    }
}

fn places(servers: &[(String, u16)]) -> String {
    list(&servers.iter().map(Endpoint::from).collect::<Vec<_>>())
}

pub(super) fn target(plan: &Plan, words: &mut Vec<String>) {
    let target = &plan.target;
    place(&target.endpoint, words);
    if let Some(login) = &target.credentials {
        if let Some(user) = &login.user {
            words.extend(["--user".into(), user.clone()]);
        }
        words.extend(["-a".into(), HIDDEN.into()]);
    }
    if target.db > 0 {
        words.extend(["--dbnum".into(), target.db.to_string()]);
    }
    if let Some(cluster) = &target.cluster {
        if target.is_cluster() {
            words.push("--cluster".into());
        }
        readers(cluster, words);
        let also: Vec<u32> = plan.read_only.iter().map(|at| at + 1).collect();
        if !also.is_empty() {
            words.extend(["--rfr-also".to_owned(), list(&also)]);
        }
    }
    if let Some(options) = &target.tls {
        tls(options, words);
    }
    if !target.sources.is_empty() {
        words.extend(["--source-ip".into(), list(&target.sources)]);
    }
    let flags = [
        (target.tracking, "--enable-tracking"),
        (target.no_touch, "--no-touch"),
        (target.mptcp, "--mptcp"),
    ];
    words.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
}

fn readers(options: &ClusterOptions, words: &mut Vec<String>) {
    let from = match options.read_from {
        ReadFrom::Masters => None,
        ReadFrom::Replicas => Some("yes"),
        ReadFrom::All => Some("all"),
        ReadFrom::Nearest => Some("nearest"),
    };
    let without = match options.without_replica {
        WithoutReplica::Primary => None,
        WithoutReplica::Wait => Some("wait"),
    };
    let shares = options.connections.map(|of| format!("{}:{}", of.replica, of.primary));
    let said = [
        ("--rfr", from.map(str::to_owned)),
        ("--rfr-without", without.map(str::to_owned)),
        ("--rfr-replicas", options.replicas_max.map(|most| most.to_string())),
        ("--rfr-connections", shares),
    ];
    for (option, value) in said {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
}

pub(super) fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn tls(options: &TlsOptions, words: &mut Vec<String>) {
    let TlsOptions { sni, verify, cacert, cacertdir, cert, cert_chain, key, .. } = options;
    let TlsOptions { ciphers, ciphersuites, groups, protocols, resume, .. } = options;
    words.push("--tls".into());
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let values = [
        ("--sni", sni.clone()),
        ("--cacert", path(cacert)),
        ("--cacertdir", path(cacertdir)),
        ("--cert", path(cert)),
        ("--cert-chain", path(cert_chain)),
        ("--key", path(key)),
        ("--tls-ciphers", ciphers.clone()),
        ("--tls-ciphersuites", ciphersuites.clone()),
        ("--tls-groups", groups.clone()),
        ("--tls-protocols", protocols.clone()),
    ];
    for (name, value) in values {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    let flags = [(*verify == Verify::Nothing, "--insecure"), (*resume, "--tls-resume")];
    words.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
}
