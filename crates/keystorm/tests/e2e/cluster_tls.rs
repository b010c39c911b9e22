//! Clusters whose nodes speak TLS.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;

use crate::certificates::{Identity, Subject};
use crate::cluster::{Cluster, row};
use crate::counts::is_even;
use crate::program::{Keystorm, PATIENCE, within};
use crate::server::free_port;

/// Arguments of a node that speaks TLS on this port, with these files of the authority, certificate and key.
fn in_tls(port: u16, files: &[&Path; 3]) -> Vec<String> {
    let words = ["--tls-cluster", "yes", "--tls-auth-clients", "no", "--tls-port"];
    let mut args: Vec<String> = words.map(str::to_owned).into();
    args.push(port.to_string());
    for (option, path) in
        ["--tls-ca-cert-file", "--tls-cert-file", "--tls-key-file"].into_iter().zip(files)
    {
        args.extend([option.to_owned(), path.to_str().unwrap().to_owned()]);
    }
    args
}

#[test]
fn a_node_that_comes_back_without_tls_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Identity::authority("test CA");
    let (ca_file, _) = ca.write(dir.path(), "ca");
    let (cert, key) = ca.signs(&Subject::default()).write(dir.path(), "server");
    let ports: Vec<u16> = std::iter::repeat_with(free_port).take(3).collect();
    let args = |n: usize| {
        let mut args = in_tls(ports[n], &[&ca_file, &cert, &key]);
        args.extend(["--cluster-require-full-coverage", "no"].map(str::to_owned));
        args
    };
    let mut cluster = Cluster::with(3, 0, args, Some(&ports));
    let json = dir.path().join("run.json");
    let line = format!(
        "-p {} --tls --cacert {} --cluster -r 100000 --rps 500 -c 6 --duration 5 --reconnect yes \
         --json {} incr key:__rand_int__",
        ports[0],
        ca_file.display(),
        json.display()
    );
    let running = Keystorm::new(&line).start();
    assert!(within(PATIENCE, || cluster.nodes[1].calls("incr") > 100), "no load");
    cluster.nodes[1].kill();
    let plain = TcpListener::bind(("127.0.0.1", ports[1])).unwrap();
    std::thread::spawn(move || {
        for mut connection in plain.incoming().flatten() {
            let _ = connection.write_all(b"-ERR unknown command\r\n");
        }
    });
    let ran = running.wait().ok();
    let name = format!("127.0.0.1:{}", ports[1]);
    let ran = ran.prints(&format!("  {name}: nothing succeeded for "));
    ran.prints(&format!(
        "to {name} were lost and could not be opened again; the last attempt failed: "
    ));
    let test = crate::record::json(&json)["tests"][0].clone();
    // A busy machine may have others of its own.
    let outages = test["outages"].as_array().unwrap().iter();
    let lasting = outages.filter(|outage| outage["to_the_end"] == true).count();
    assert_eq!(lasting, 1, "{}", test["outages"]);
}

#[test]
fn a_cluster_in_tls_is_found_and_measured_in_tls() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Identity::authority("test CA");
    let (ca_file, _) = ca.write(dir.path(), "ca");
    let (cert, key) = ca.signs(&Subject::default()).write(dir.path(), "server");
    // The bus of a cluster listens 10,000 above the port.
    let ports: Vec<u16> = std::iter::repeat_with(free_port).take(3).collect();
    let args = |n: usize| in_tls(ports[n], &[&ca_file, &cert, &key]);
    let cluster = Cluster::with(3, 0, args, Some(&ports));
    let (port, ca_file) = (ports[0], ca_file.display());
    let secure = format!("-p {port} --tls --cacert {ca_file} --cluster -r 100000");
    for engine in ["epoll", "uring"] {
        for (n, shape) in [(3000, "-c 6 -P 4"), (600, "-c 6 -k 0 -P 2 --threads 2")] {
            cluster.reset();
            let line = format!("{secure} --engine {engine} -n {n} {shape} incr key:__rand_int__");
            let ran = Keystorm::new(&line).run().ok().prints("  TLS: TLSv1.3 TLS_");
            let calls = cluster.calls("incr");
            assert_eq!((calls.iter().sum::<u64>(), ran.completed().0), (n, n), "{engine} {shape}");
            assert!(is_even(&calls), "{calls:?}");
            assert_eq!(ran.out.contains("TLS handshake (ms)"), shape.contains("-k 0"));
            for (port, calls) in ports.iter().zip(&calls) {
                assert_eq!(row(&ran, *port).0, *calls, "{}", ran.out);
            }
        }
    }
    // A node in TLS is not spoken to in plain.
    let plain = format!("-p {port} --cluster -n 10 get k");
    Keystorm::new(&plain).run().exits(1).says("--tls");
}

#[test]
fn each_node_in_tls_is_trusted_by_the_name_that_it_announces() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Identity::authority("test CA");
    let (ca_file, _) = ca.write(dir.path(), "ca");
    // The bus of a cluster listens 10,000 above the port.
    let ports: Vec<u16> = std::iter::repeat_with(free_port).take(3).collect();
    let file = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let args = |n: usize| {
        let name = format!("node{n}.test");
        let names = [name.as_str()];
        let subject = Subject { names: &names, ips: &[], ..Subject::default() };
        let (cert, key) = ca.signs(&subject).write(dir.path(), &name);
        let words = ["--tls-cluster", "yes", "--tls-auth-clients", "no"];
        let announced = ["--cluster-announce-hostname", &name, "--tls-port"];
        let words = words.into_iter().chain(announced);
        let mut args: Vec<String> = words.map(str::to_owned).collect();
        args.push(ports[n].to_string());
        for (option, path) in
            [("--tls-ca-cert-file", &ca_file), ("--tls-cert-file", &cert), ("--tls-key-file", &key)]
        {
            args.extend([option.to_owned(), file(path)]);
        }
        args
    };
    let cluster = Cluster::with(3, 0, args, Some(&ports));
    let is_known =
        |name: &str| cluster.nodes.iter().all(|n| n.text(&["CLUSTER", "NODES"]).contains(name));
    let names = ["node0.test", "node1.test", "node2.test"];
    assert!(within(PATIENCE, || names.iter().all(|name| is_known(name))), "names do not get about");
    // The first node is reached by its address, so --sni must name it.
    let (port, ca_file) = (ports[0], ca_file.display());
    let secure = format!("-p {port} --tls --cacert {ca_file} --sni node0.test --cluster -r 100000");
    for shape in ["--engine epoll -c 6 -P 4", "--engine uring -c 6 -k 0"] {
        cluster.reset();
        let line = format!("{secure} -n 600 {shape} incr key:__rand_int__");
        Keystorm::new(&line).run().ok();
        let calls = cluster.calls("incr");
        assert!(calls.iter().sum::<u64>() == 600 && is_even(&calls), "{calls:?}");
    }
    // A certificate for another name of the cluster is not for this one.
    cluster.nodes[1].ask(&["CONFIG", "SET", "cluster-announce-hostname", "node2.test"]);
    let line = format!("{secure} -n 600 incr key:__rand_int__");
    let refused = || Keystorm::new(&line).run().code == Some(1);
    assert!(within(PATIENCE, refused), "a certificate for another node is taken");
    Keystorm::new(&line).run().exits(1).says("node1.test");
    // Without a name of its own a node is what --sni says, and only the first is that.
    for node in &cluster.nodes {
        node.ask(&["CONFIG", "SET", "cluster-announce-hostname", ""]);
    }
    let silent = || !cluster.nodes[0].text(&["CLUSTER", "NODES"]).contains(".test");
    assert!(within(PATIENCE, silent), "names do not go");
    Keystorm::new(&line).run().exits(1).says(".test");
}
