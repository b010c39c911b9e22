//! The server of a plan, and how to log in there, as options.

use workload::{
    ClusterOptions, Endpoint, Plan, ProtocolKind, ReadFrom, ReplicaFallback, TlsOptions, Verify,
};

use crate::address::Address;
use crate::pool::Server;
use crate::replicas::{FallbackArg, ReplicaOptions, RfrArg, Shares};
use crate::target::{Program, ServerArgs, Uri};
use crate::values::{Count, Cpus, ProtocolArg};
use crate::{ServerOptions, TlsArgs};

/// The options that name the server and the login.
pub(super) fn server(plan: &Plan) -> ServerOptions {
    let target = &plan.target;
    let login = target.credentials.as_ref();
    let mut options = ServerOptions {
        protocol: match plan.protocol {
            ProtocolKind::Resp2 | ProtocolKind::Resp3 => None,
            ProtocolKind::MemcacheText => Some(ProtocolArg::Memcache),
            ProtocolKind::MemcacheMeta => Some(ProtocolArg::MemcacheMeta),
            ProtocolKind::MemcacheBinary => Some(ProtocolArg::MemcacheBinary),
        },
        resp3: plan.protocol == ProtocolKind::Resp3,
        user: login.and_then(|login| login.user.clone()),
        password: login
            .filter(|_| target.password_command.is_none())
            .map(|login| login.password.clone()),
        password_command: login.and(target.password_command.clone()),
        dbnum: (target.db > 0).then_some(Count(target.db)),
        enable_tracking: target.tracking,
        no_touch: target.no_touch,
        mptcp: target.mptcp,
        cluster: target.is_cluster(),
        replicas: target.cluster.as_ref().map(readers).unwrap_or_default(),
        source_ip: target.sources.clone(),
        ..ServerOptions::default()
    };
    options.replicas.rfr_also = plan.read_only.iter().map(|at| at + 1).collect();
    place(&target.endpoint, &mut options);
    options
}

fn place(endpoint: &Endpoint, options: &mut ServerOptions) {
    match endpoint {
        Endpoint::Pool { servers } => {
            let Some((first, others)) = servers.split_first() else { return };
            place(first, options);
            options.pool = others.iter().cloned().map(Server).collect();
        }
        Endpoint::Tcp { host, port } => {
            (options.host, options.port) = (Some(host.clone()), Some(*port));
        }
        Endpoint::Sentinel { sentinels, name } => {
            let sentinels: Vec<String> =
                sentinels.iter().map(|at| Endpoint::from(at).to_string()).collect();
            options.uri = Some(Uri(format!("redis-sentinel://{}/{name}", sentinels.join(","))));
        }
        Endpoint::Replicated { primary, replicas } => {
            place(&primary.into(), options);
            let named = replicas.iter().map(|(host, port)| Address(host.clone(), *port));
            options.replicas.replicas = named.collect();
        }
        Endpoint::Unix(path) => options.socket = Some(path.clone()),
        Endpoint::Ring { hash, .. } => {
            (options.host, options.hash) = (Some(endpoint.to_string()), Some(*hash));
        }
        Endpoint::Spawned { program, args, unix, cpus } => {
            options.spawn = Some(Program(program.clone()));
            options.spawn_unix = *unix;
            options.spawn_args = (!args.is_empty()).then(|| ServerArgs(args.clone()));
            options.server_cpus = (!cpus.is_empty()).then(|| Cpus(cpus.clone()));
        }
    }
}

fn readers(options: &ClusterOptions) -> ReplicaOptions {
    ReplicaOptions {
        rfr: match options.read_from {
            ReadFrom::Masters => None,
            ReadFrom::Replicas => Some(RfrArg::Yes),
            ReadFrom::All => Some(RfrArg::All),
            ReadFrom::Nearest => Some(RfrArg::Nearest),
        },
        rfr_without: match options.without_replica {
            ReplicaFallback::Primary => None,
            ReplicaFallback::Wait => Some(FallbackArg::Wait),
        },
        rfr_replicas: options.replicas_max,
        rfr_connections: options.connections.map(Shares),
        per_node: options.per_node,
        rps_per_node: options.rate_per_node,
        ..ReplicaOptions::default()
    }
}

/// The options of TLS.
pub(super) fn tls(options: &TlsOptions) -> TlsArgs {
    let TlsOptions { verify, resume, ciphers, ciphersuites, groups, protocols, .. } = options;
    let TlsOptions { sni, cacert, cacertdir, cert, cert_chain, key, key_password, .. } =
        options.clone();
    TlsArgs {
        tls: true,
        sni,
        cacert,
        cacertdir,
        insecure: *verify == Verify::Nothing,
        cert,
        cert_chain,
        key,
        key_password,
        tls_ciphers: ciphers.clone(),
        tls_ciphersuites: ciphersuites.clone(),
        tls_groups: groups.clone(),
        tls_protocols: protocols.clone(),
        tls_resume: *resume,
    }
}
