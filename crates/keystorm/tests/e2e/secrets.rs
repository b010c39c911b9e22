//! Passwords in commands of the user's own and in arguments of a server: sent, and shown nowhere.

use crate::program::Keystorm;
use crate::record::place;
use crate::server::{Server, called};

/// Runs a line in every layout and with every file, and looks for the password in all of it.
#[track_caller]
fn kept_secret(server: &Server, command: &str) {
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    let files = format!("--json {} --html {}", file.display(), page.display());
    for options in ["", "-q", "--csv", "--format classic", "--json -", "--print-plan"] {
        let files = if options == "--json -" { "" } else { &files };
        let line = format!("-n 3 -c 1 --yes --on-error count {files} {options} {command}");
        let ran = server.run(&line).keeps_secret("hunter2");
        assert!(!ran.err.contains("hunter2"), "{line}: {}", ran.err);
    }
    for written in [&file, &page] {
        let text = std::fs::read_to_string(written).unwrap();
        assert!(!text.contains("hunter2"), "{command}: {} tells", written.display());
        assert!(text.contains("***"), "{command}: {} hides nothing", written.display());
    }
    for line in [format!("show {}", file.display()), format!("merge {}", file.display())] {
        Keystorm::new(&line).run().keeps_secret("hunter2");
    }
}

#[test]
fn commands_with_a_password_run_and_hide_it() {
    let server = Server::redis();
    for command in [
        "auth hunter2",
        "hello 3 auth default hunter2",
        "acl setuser u on '>hunter2' '~*'",
        "acl setuser w '<hunter2'",
        "acl setuser w '#hunter2'",
        "migrate 127.0.0.1 1 k 0 5 auth hunter2",
        "config set masterauth hunter2",
        "multi ';' acl setuser v '>hunter2' ';' exec",
        // Servers quote what they do not know.
        "auth hunter2 hunter2 hunter2 hunter2",
    ] {
        kept_secret(&server, command);
    }
    // What was sent was the password, and not what is shown of it.
    let users = server.texts(&["ACL", "LIST"]).join("\n");
    let hash = "f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7";
    assert_eq!(users.matches(hash).count(), 2, "{users}");
    assert_eq!(server.texts(&["CONFIG", "GET", "masterauth"]), ["masterauth", "hunter2"]);
}

#[test]
fn what_is_known_to_be_a_password_is_hidden_anywhere() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    kept_secret(&server, "-a hunter2 set k hunter2");
    kept_secret(&server, "-a hunter2 frobnicate hunter2");
    let line = format!("-p {} -n 3 -c 1 set k hunter2", server.port());
    let (_dir, link) = called("redis-benchmark");
    let run = Keystorm::new(&line).called(link).env("REDISCLI_AUTH", "hunter2");
    run.run().ok().keeps_secret("hunter2");
}

#[test]
fn a_password_of_a_spawned_server_is_hidden() {
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    let run = format!(
        "--spawn --spawn-args '--requirepass hunter2' -a hunter2 -n 5 --json {} --html {} get k",
        file.display(),
        page.display()
    );
    Keystorm::new(&run).run().ok().keeps_secret("hunter2");
    for written in [&file, &page] {
        let text = std::fs::read_to_string(written).unwrap();
        assert!(!text.contains("hunter2") && text.contains("--requirepass"), "{text}");
    }
    for line in [
        "--spawn --spawn-args '--requirepass hunter2' --print-plan get k",
        "--spawn --spawn-args '--user u on >hunter2' --print-plan get k",
        "sweep --spawn --spawn-args '--requirepass hunter2' -a hunter2 --print-plan get k",
    ] {
        Keystorm::new(line).run().ok().keeps_secret("hunter2").prints("***");
    }
    let sweep = format!(
        "sweep --spawn --spawn-args '--requirepass hunter2' -a hunter2 -c 1,2 -n 5 --json {} get k",
        file.display()
    );
    Keystorm::new(&sweep).run().ok().keeps_secret("hunter2");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("hunter2"));
}

#[test]
fn a_server_that_does_not_start_says_why_line_by_line_without_it() {
    let line = "--spawn --spawn-args '--requirepass hunter2 surplus --no-such 1' get k";
    let ran = Keystorm::new(line).run().exits(1).keeps_secret("hunter2");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].ends_with("Its last output:"), "{}", ran.err);
    assert!(lines.len() > 1 && lines[1].starts_with("  "), "{}", ran.err);
    assert!(!ran.err.contains("\\n"), "{}", ran.err);
}
