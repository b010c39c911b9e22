//! `--dataset` and `-x`: arguments from files and from standard input.

use tempfile::TempDir;

use crate::program::Keystorm;
use crate::server::{Server, calls};

fn file(name: &str, text: &str) -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

const CSV: &str = "id,title,note\n1,\"one, or \"\"1\"\"\",a\n2,two,\n3,drei über vier,c\n";

#[test]
fn fields_of_a_csv_file_fill_requests_row_by_row_and_go_round() {
    let server = Server::redis();
    let (_dir, path) = file("docs.csv", CSV);
    server
        .run(&format!("-q -c 1 -n 5 --dataset {path} rpush l <__field:title__> __field:id__"))
        .ok();
    let expected = ["<one, or \"1\">", "1", "<two>", "2", "<drei über vier>", "3"];
    let got = server.texts(&["LRANGE", "l", "0", "-1"]);
    assert_eq!(got[..6], expected);
    assert_eq!(got[6..], expected[..4]);
}

#[test]
fn fields_work_with_pipelines_threads_and_keys() {
    let server = Server::redis();
    let (_dir, path) = file("docs.csv", CSV);
    let shape = "-q -c 5 -P 4 --threads 2 -n 900 -r 100000 --sequential";
    server
        .run(&format!(
            "{shape} --dataset {path} hset doc:__rand_int__ t __field:title__ n __field:note__"
        ))
        .ok();
    assert_eq!(server.number(&["DBSIZE"]), 900);
    assert_eq!(server.texts(&["HGETALL", "doc:000000000001"]), ["t", "two", "n", ""]);
}

#[test]
fn tabs_separate_the_cells_of_a_tsv_file() {
    let server = Server::redis();
    let (_dir, path) = file("docs.tsv", "id\ttitle\n1\ta,b\n");
    server.run(&format!("-q -n 3 --dataset {path} set k __field:title__")).ok();
    assert_eq!(server.text(&["GET", "k"]), "a,b");
}

#[test]
fn elements_of_an_xml_file_are_rows() {
    let server = Server::redis();
    let dump = "<feed>\n<doc>\n<title>One &amp; all</title>\n<abstract><![CDATA[a<b]]></abstract>\n\
                <links><sublink><anchor>x</anchor></sublink></links>\n</doc>\n<doc><title>Zwölf\
                </title><abstract/></doc>\n<doc><title>Three</title></doc></feed>\n";
    let (_dir, path) = file("enwiki.xml", dump);
    let line = format!("-q -c 1 --dataset {path} --xml-root-element doc");
    server.run(&format!("{line} -n 3 rpush l __field:title__ __field:abstract__")).ok();
    let expected = ["One & all", "a<b", "Zwölf", "", "Three", ""];
    assert_eq!(server.texts(&["LRANGE", "l", "0", "-1"]), expected);
    server.run(&format!("{line} --maxdocs 2 -n 9 sadd s __field:title__")).ok();
    let mut titles = server.texts(&["SMEMBERS", "s"]);
    titles.sort();
    assert_eq!(titles, ["One & all", "Zwölf"]);
    server.run(&format!("{line} -n 1 set anchor __field:anchor__")).ok();
    assert_eq!(server.text(&["GET", "anchor"]), "x");
}

#[test]
fn maxdocs_bounds_the_rows() {
    let server = Server::redis();
    let (_dir, path) = file("docs.csv", CSV);
    server.run(&format!("-q -n 9 --dataset {path} --maxdocs 2 sadd s __field:id__")).ok();
    let mut ids = server.texts(&["SMEMBERS", "s"]);
    ids.sort();
    assert_eq!(ids, ["1", "2"]);
}

#[test]
fn what_is_wrong_with_a_dataset_is_stated_before_anything_is_sent() {
    let server = Server::redis();
    let (_dir, path) = file("docs.csv", CSV);
    let (_dir2, empty) = file("empty.csv", "id\n");
    let unknown = server.run(&format!("--dataset {path} set k __field:titel__")).exits(2);
    unknown.says("'__field:titel__' not found in dataset fields").says("title");
    for command in ["set k v", "-t set", "-q"] {
        let ran = server.run(&format!("--dataset {path} {command}")).exits(2);
        ran.says("Dataset mode requires a command with field placeholders").says("__field:");
    }
    let (_dir3, xml) = file("docs.xml", "<doc><title>one</title></doc>");
    let ran = server.run(&format!("--dataset {xml} set k __field:title__")).exits(2);
    ran.says("XML dataset requires --xml-root-element parameter");
    server.run("--xml-root-element doc set k v").exits(2).says("--dataset");
    server.run("set k __field:title__").exits(2).says("--dataset");
    server.run("--dataset /no/such.csv set k __field:a__").exits(2).says("/no/such.csv");
    server.run(&format!("--dataset {empty} set k __field:id__")).exits(2).says(&empty);
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn the_last_argument_comes_from_standard_input_to_the_byte() {
    let server = Server::redis();
    server.keystorm("-q -n 10 -x set k").stdin("two\nlines\r\n").run().ok();
    assert_eq!(server.text(&["GET", "k"]), "two\nlines\r\n");
    server.keystorm("-q -n 10 -x set k").stdin([0, 255, 10]).run().ok();
    assert_eq!(server.number(&["STRLEN", "k"]), 3);
    server.keystorm("-q -n 10 -x set k").run().ok();
    assert_eq!(server.text(&["GET", "k"]), "");
    let ran = server.keystorm("-q -n 20 -r 10 -x set").stdin("key:__rand_int__").run();
    ran.exits(1).says("wrong number of arguments");
    let long = vec![b'x'; 3_000_000];
    server.keystorm("-q -n 3 -x set k").stdin(long).run().ok();
    assert_eq!(server.number(&["STRLEN", "k"]), 3_000_000);
}

/// A capture of a thousand different SETs, with commands of other kinds among them.
fn capture(dir: &std::path::Path) -> String {
    let mut text = String::new();
    for n in 0..3000 {
        let command = match n % 3 {
            0 => format!(r#""SET" "key{n}" "a \"b\" \xff\r\n""#),
            1 => format!(r#""get" "key{}""#, n - 1),
            _ => format!(r#""MGET" "key{}" "none""#, n - 2),
        };
        text += &format!("1700000000.{n:06} [0 127.0.0.1:1] {command}\n");
    }
    let path = dir.join("monitor.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn what_monitor_printed_is_sent_again() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = capture(dir.path());
    let json = dir.path().join("run.json").display().to_string();
    server.reset();
    let line = format!("-p {} --replay {file}", server.port());
    let ran = Keystorm::new(&format!("{line} -c 4 -P 3 --json {json}")).run().ok();
    ran.prints("3000 requests completed").prints("\n  operation ");
    let calls = ["set", "get", "mget"].map(|name| server.calls(name));
    assert_eq!((calls, server.keys().len()), ([1000; 3], 1000));
    assert_eq!(server.text(&["STRLEN", "key2997"]).trim(), "9");
    // Saved, it is a description, and shows how to run it again.
    Keystorm::new(&format!("show {json}")).run().ok().prints("replay ").prints("mget");
    Keystorm::new(&format!("show {json} --html {json}.html")).run().ok();
    let page = std::fs::read_to_string(format!("{json}.html")).unwrap();
    assert!(page.contains("--replay ") && !page.contains("--dataset"), "{json}");
    // Any of them, as often as asked; and by several clients.
    server.reset();
    Keystorm::new(&format!("{line} --set rows-by=random -n 6000 -q")).run().ok();
    let calls = ["set", "get", "mget"].map(|name| server.calls(name));
    assert_eq!(calls.iter().sum::<u64>(), 6000);
    assert!(calls.iter().all(|count| (1800..2200).contains(count)), "{calls:?}");
    server.reset();
    Keystorm::new(&format!("{line} --on local:2 -c 4 -q")).run().ok();
    assert_eq!(["set", "get", "mget"].map(|name| server.calls(name)), [1000; 3]);
    // memtier_benchmark's words for it.
    server.reset();
    let theirs = "--command=__monitor_line@__ -t 1 -c 3 -n 2000 --hide-histogram --monitor-input";
    let ran = Keystorm::new(&format!("memtier -p {} {theirs} {file}", server.port())).run().ok();
    ran.prints("\nSets ").prints("\nGets ").prints("\nMgets ").says("Loaded 3000 monitor");
    assert_eq!(["set", "get", "mget"].map(|name| server.calls(name)), [2000; 3]);
}

#[test]
fn what_does_not_go_with_a_capture_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = capture(dir.path());
    for (words, says) in [
        ("get a", "cannot be combined with a command"),
        ("--fill", "--fill: has no effect with --replay"),
        ("--set rows-by=turn", "request or random"),
        ("-t get", "cannot be used with"),
        ("--print-workload", "cannot name the file of --replay"),
        ("--protocol memcache", "this is memcached"),
    ] {
        Keystorm::new(&format!("--replay {file} {words}")).run().exits(2).says(says);
    }
    let line = format!("--replay {file} --set order=turns");
    Keystorm::new(&line).run().exits(2).says("--set order requires operations");
    Keystorm::new("--replay /no/such").run().exits(2).says("No such file");
    Keystorm::new("--replay /dev/null").run().exits(2).says("no valid commands");
    Keystorm::new("--set rows-by=random get a").run().exits(2).says("--dataset or --replay");
}

#[test]
fn what_a_capture_has_of_its_connections_and_scripts_is_left_out() {
    let server = Server::redis();
    let lines = [
        "1 [0 127.0.0.1:1] \"AUTH\" \"(redacted)\"",
        "2 [0 127.0.0.1:1] \"EVAL\" \"return redis.call('incr','n')\" \"0\"",
        "3 [0 lua] \"incr\" \"n\"",
        "4 [0 127.0.0.1:1] \"CLIENT\" \"REPLY\" \"OFF\"",
        "5 [0 127.0.0.1:1] \"QUIT\"",
    ];
    let (_dir, file) = file("capture", &lines.join("\n"));
    let line = format!("-p {} --time-limit 60 --replay {file}", server.port());
    let ran = Keystorm::new(&line).run().ok();
    let [about, scripts] =
        ["3 lines left out, which are about", "1 line left out, which were sent"];
    ran.says(about).says(scripts);
    assert_eq!((server.calls("eval"), server.text(&["GET", "n"]).trim()), (1, "1"));
}
