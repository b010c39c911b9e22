//! Files of rpc-perf that name certificates.

use std::path::PathBuf;

use crate::certificates::Subject;
use crate::rpc_perf::File;
use crate::tls::TlsServer;

#[test]
fn a_file_of_rpc_perf_trusts_the_authority_that_it_names() {
    let secure = TlsServer::new();
    let run = |tls: &str| {
        let port = secure.port;
        let endpoint = format!("endpoints = ['rediss://127.0.0.1:{port}']\n[tls]\n{tls}");
        let keyspace = "nkeys = 5\nklen = 2\nvlen = 3\ncommands = [{ verb = 'set' }]";
        File::from_port(1).with("endpoints", &endpoint).run(keyspace)
    };
    run("").exits(1).says("certificate");
    assert_eq!(secure.server.calls("set"), 0);
    run(&format!("ca_file = '{}'", secure.file("ca.crt").display())).ok();
    assert_eq!(secure.server.keys().len(), 5);
    // As the files that come with it write it.
    run("verify_hostname = 'false'").ok();
}

#[test]
fn a_file_of_rpc_perf_names_the_certificate_of_the_client_alone_or_with_its_chain() {
    let secure = TlsServer::with(&Subject::default(), &["--tls-auth-clients", "yes"]);
    let (cert, key) = secure.ca.signs(&Subject::default()).write(secure.dir.path(), "client");
    let (cert, key) = (cert.display(), key.display());
    let run = |certificate: &str| {
        let ca = secure.file("ca.crt");
        let endpoint = format!(
            "endpoints = ['rediss://127.0.0.1:{}']\n[tls]\nca_file = '{}'\nprivate_key = '{key}'\n{certificate}",
            secure.port,
            ca.display()
        );
        let keyspace = "nkeys = 5\nklen = 2\nvlen = 3\ncommands = [{ verb = 'set' }]";
        File::from_port(1).with("endpoints", &endpoint).run(keyspace)
    };
    for name in ["certificate", "certificate_chain"] {
        secure.server.reset();
        run(&format!("{name} = '{cert}'")).ok();
        assert!(secure.server.calls("set") > 0, "{name}");
    }
}

#[test]
fn a_file_of_rpc_perf_names_the_rest_of_a_chain_and_the_password_of_a_key() {
    const PASSWORD: &str = "hunter2 and more";
    let secure = TlsServer::with(&Subject::default(), &["--tls-auth-clients", "yes"]);
    let dir = secure.dir.path();
    let between = secure.ca.signs_authority("in between");
    let (between_cert, _) = between.write(dir, "between");
    let client = between.signs(&Subject::default());
    let (cert, _) = client.write(dir, "client");
    let key = secure.file("locked.key");
    let cipher = openssl::symm::Cipher::aes_256_cbc();
    let locked = client.key.private_key_to_pem_pkcs8_passphrase(cipher, PASSWORD.as_bytes());
    std::fs::write(&key, locked.unwrap()).unwrap();
    let (whole, json) = (secure.file("whole.crt"), secure.file("run.json"));
    let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
    std::fs::write(&whole, text(&cert) + &text(&between_cert)).unwrap();
    let line = |tls: &str, words: &str| {
        let endpoint = format!(
            "endpoints = ['rediss://127.0.0.1:{}']\n[tls]\nca_file = '{}'\n\
             private_key = '{}'\ncertificate = '{}'\n{tls}",
            secure.port,
            secure.file("ca.crt").display(),
            key.display(),
            cert.display()
        );
        let keyspace = "nkeys = 5\nklen = 2\nvlen = 3\ncommands = [{ verb = 'set' }]";
        let ran = File::from_port(1).with("endpoints", &endpoint).line(keyspace, words).run();
        ran.keeps_secret(PASSWORD)
    };
    let password = format!("private_key_password = '{PASSWORD}'\n");
    let chain = |file: &PathBuf| format!("{password}certificate_chain = '{}'", file.display());
    for file in [&between_cert, &whole] {
        secure.server.reset();
        line(&chain(file), &format!("--ks-json {} --ks-verdict stderr", json.display())).ok();
        assert!(secure.server.calls("set") > 0, "{}", file.display());
        assert!(!text(&json).contains(PASSWORD));
    }
    // Another process gets it over a pipe.
    line(&chain(&whole), "--ks-on local:2").ok();
    line(&chain(&whole), "--print-plan").ok().prints("\"key_password\": \"***\"");
    let ours = line(&chain(&whole), "--as keystorm").ok();
    ours.prints("taken from KEYSTORM_KEY_PASSWORD").prints(" --cert-chain ");
    line(&password, "").exits(1).says("refused our certificate");
    line("private_key_password = 'other'", "").exits(1).says("does not open the key");
    line("", "").exits(1).says("the key is encrypted");
    let none = secure.file("none.crt");
    line(&chain(&none), "").exits(1).says("certificate chain ").says("No such file");
}
