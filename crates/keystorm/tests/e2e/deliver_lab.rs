//! Deliveries in experiments and on pages: `sweep`, `search` and `compare` of `deliver KIND`.

use std::ffi::OsString;
use std::fs;

use cli::job::FrontEnd;
use serde_json::Value;

use crate::compare::{address, compare};
use crate::deliver::deliver;
use crate::program::Keystorm;
use crate::real_clock::holds_when_quiet;
use crate::record::{json, place, valid_by};
use crate::server::Server;

#[test]
fn a_page_has_the_way_of_messages_and_exact_counts() {
    let server = Server::redis();
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    let line = format!(
        "pubsub --rps 500 -n 400 --channels 2 --subscribers 6 --html {} --json {}",
        page.display(),
        file.display()
    );
    deliver(&server, &line).run().ok().prints("  schedule: ").prints(" messages");
    let html = fs::read_to_string(&page).unwrap();
    for part in [
        "500 messages/s over 10 senders to 6 receivers",
        "deliveries per second",
        "1,200 of 1,200",
        "sent to acknowledged",
        "due to sent",
        "first receiver",
        "Delivery time over time",
        "Delivery time by percentile",
        "400 sent, all acknowledged",
        "out of order",
    ] {
        assert!(html.contains(part), "{part} is not on the page");
    }
    assert!(!html.contains("Response time over time") && !html.contains(">requests per second<"));
    // What was saved is shown, compared and made a page of again.
    let saved = file.display();
    let shown = Keystorm::new(&format!("show {saved}")).run().ok();
    shown.prints("deliveries: 1,200 of 1,200 received; none lost");
    let again = dir.path().join("again.html");
    Keystorm::new(&format!("show {saved} --html {}", again.display())).run().ok();
    assert!(fs::read_to_string(again).unwrap().contains("sent to acknowledged"));
    let compared = Keystorm::new(&format!("compare {saved} {saved} --format json")).run().ok();
    valid_by("keystorm.compare.1.json", &serde_json::from_str(&compared.out).unwrap());
    let csv = deliver(&server, "pubsub -n 300 --channels 2 --subscribers 6 --csv").run().ok();
    let csv = csv.prints("\"test\",\"messages_sent_per_second\",\"messages_acknowledged\"");
    csv.prints("\"300\",\"0\",\"0\",\"900\",\"900\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"\",");
}

#[test]
fn a_sweep_varies_receivers_as_it_does_rates() {
    let server = Server::redis();
    server.reset();
    let (_dir, file) = place();
    let line = format!(
        "sweep -p {} --rps 200,400 --duration 0.3 --json {} deliver pubsub --subscribers 1,4 --channels 1",
        server.port(),
        file.display()
    );
    let ran = Keystorm::new(&line).run().ok();
    let ran = ran.prints("--rps").prints("--subscribers").prints("received/s");
    let ran = ran.prints("client µs/message");
    assert!(!ran.out.contains("request"), "{}", ran.out);
    let document = json(&file);
    assert_eq!(document["points"].as_array().unwrap().len(), 4);
    let tests = document["run"]["tests"].as_array().unwrap();
    let counts = |test: &Value, name: &str| test["deliveries"][name].as_u64().unwrap();
    for (test, subscribers) in tests.iter().zip([1, 4, 1, 4]) {
        let sent = counts(test, "messages_acknowledged");
        assert_eq!(counts(test, "received"), sent * subscribers);
        assert_eq!(counts(test, "lost"), 0);
    }
    let sent: u64 = tests.iter().map(|test| counts(test, "messages_acknowledged")).sum();
    assert_eq!(server.calls("publish"), sent + 4, "and a probe each");
    // Options of the kind may stand on either side of it, and no others do.
    let at = |line: &str| Keystorm::new(&line.replace("AT", &format!("-p {}", server.port())));
    at("sweep AT -n 50 --subscribers 2 --channels 1,2 deliver pubsub --csv").run().ok();
    at("sweep AT deliver --subscribers 2").run().exits(2).says("kind of delivery");
    at("sweep AT deliver pubsub --subscriber 2").run().exits(2).says("--subscriber");
    at("sweep AT deliver pubsub get k").run().exits(2).says("unexpected word get");
    at("sweep AT -t get deliver pubsub")
        .run()
        .exits(2)
        .says("-t: deliver pubsub sends one command");
}

#[test]
fn a_search_finds_a_rate_of_messages() {
    let server = Server::redis();
    let (_dir, file) = place();
    let line = format!(
        "search --slo p50<500ms -p {} --start 300 --most 600 --repeat 1 --duration 0.3 --no-curve --json {} \
         deliver pubsub --subscribers 3 --channels 6",
        server.port(),
        file.display()
    );
    let ran = Keystorm::new(&line).run();
    let document = json(&file);
    let trials = document["run"]["tests"].as_array().unwrap();
    for test in trials {
        // Half of the channels have no subscriber, and no message is missed for that.
        let of = &test["deliveries"];
        assert_eq!((&of["lost"], &of["expected"]), (&0.into(), &of["received"]), "{of}");
    }
    let kept = ran.code == Some(0) && ran.out.contains(": 600/s keep p50<500ms");
    holds_when_quiet("a rate of messages is kept", kept, format!("{:?} {}", ran.code, ran.out));
}

#[test]
fn servers_are_compared_by_deliveries() {
    let (a, b) = (Server::redis(), Server::valkey());
    let (_dir, file) = place();
    let line = format!(
        "-n 300 --repeat 2 --json {} deliver pubsub --subscribers 4 --channels 2",
        file.display()
    );
    compare(&address(&a), &address(&b), &line).run().ok().prints("PUBLISH to SUBSCRIBE");
    valid_by("keystorm.compare.1.json", &json(&file));
    let line = "--rps 200,400 --slo p50<30s --inconclusive pass --duration 0.3 --repeat 1 deliver pubsub \
                --subscribers 4 --channels 2";
    let ran = compare(&address(&a), &address(&b), line).run().ok();
    let kept = ran.out.contains("keeps p50<30s up to 400/s, the highest rate");
    holds_when_quiet("a target is kept at both rates", kept, &ran.out);
    ran.prints("against throughput");
    // The rate is of messages, however many deliveries each has.
    let line =
        "--rps 200,400 --duration 0.3 --repeat 1 deliver pubsub --subscribers 1 --channels 4";
    let ran = compare(&address(&a), &address(&b), line).run().ok();
    let paced = ran.out.contains("keeps pace up to 400/s");
    holds_when_quiet("rates are of messages", paced, &ran.out);
}

#[test]
fn messages_that_heap_up_are_named_and_keep_no_rate() {
    let server = Server::redis();
    let (_dir, file) = place();
    // One receiver asks for one message at a time; the senders do not wait for it.
    let line = format!(
        "list -n 20000 -P 32 --senders 4 --receivers 1 --keys 1 --slo p50<100s --json {}",
        file.display()
    );
    let ran = deliver(&server, &line).run();
    let test = &json(&file)["tests"][0];
    let limit = test["verdict"]["limited_by"].as_str().unwrap();
    let named = ["backlog", "contention", "client", "server", "unknown"].contains(&limit);
    assert!(named, "{}: {}", limit, ran.out);
    let backlog = limit == "backlog" && ran.out.contains("had heaped up when the last was sent");
    holds_when_quiet("a backlog is named", backlog || limit != "unknown", &ran.out);
    // Far more than one receiver can take: no machine keeps it, and what it keeps is not asked.
    let line = format!(
        "search --slo p50<100s -p {} --start 400k --most 400k --repeat 1 --duration 0.2 --budget 3 --no-curve \
         -q deliver list -P 32 --receivers 1 --keys 1",
        server.port()
    );
    let ran = Keystorm::new(&line).run();
    assert!(!ran.out.contains("400,000/s keep"), "{}", ran.out);
}

#[test]
fn a_run_is_repeated_by_the_command_line_that_its_page_has() {
    let plans = |line: &str| {
        let words = shell_words::split(line.strip_prefix("deliver ").unwrap()).unwrap();
        let words = words.into_iter().map(OsString::from).collect();
        match cli::deliver::DeliverFront.parse(None, words) {
            Ok(cli::job::Intent::Run(job)) => job.plans,
            _ => panic!("{line}"),
        }
    };
    for line in [
        "pubsub --channels 3 --subscribers 6 --publishers 2 -d 100 --patterns -3",
        "pubsub --channels 4 --subscribers 2 --channels-per-subscriber 2 --sharded --rps 1k -n 50",
        "pubsub --channels 1 --subscribers 2 -d uniform:40..400",
        "list --pop blmpop --count 3 --keys 2 --keys-per-receiver all --block 0.5 --drain 1",
        "list --push rpush --pop rpop --poll 0.2 --receiver-threads 2 -d 1k --key-dist zipf",
        "zset --zpop bzpopmax --receivers 3 --senders 4 --duration 2 --warmup 1",
        "stream --receivers 3 --maxlen 0 --count 7",
        "stream --groups 2 --consumers 3 --ack noack",
        "stream --groups 1 --claim 1s --maxlen 50",
        "notify --event expired --ttl 50ms --enable-events --subscribers 2 --dbnum 3",
        "notify --event del --writers 3",
        "invalidate --caches 3 --writers 2 -d 50",
        "invalidate --tracking default --keys 7 --caches 3 --noloop -d 50",
        "invalidate --tracking optin --rps 1k --redirect",
        "invalidate --prefixes 4 --prefixes-per-cache 3 --caches 4",
        "replica --keys 2 --at 127.0.0.1:1 --at 127.0.0.1:2 --wait 1 --wait-timeout 300ms",
        "replica --at 127.0.0.1:1 --waitaof 1,0",
    ] {
        let [plan] = &plans(&format!("deliver {line}"))[..] else { panic!("one plan") };
        let again = spec::LoadSpec::of_plan(plan).command_line(plan, Vec::new());
        let words = again.strip_prefix("keystorm ").unwrap();
        let [repeated] = &plans(words)[..] else { panic!("one plan") };
        let text =
            |plan: &workload::Plan| serde_json::to_string_pretty(&plan.without_options()).unwrap();
        assert_eq!(text(repeated), text(plan), "{line}: {again}");
    }
}

#[test]
fn saved_deliveries_follow_the_schema_and_are_shown_with_their_waits() {
    let server = Server::redis();
    let at = format!("replica --at 127.0.0.1:{} --wait 1 --wait-timeout 5ms", server.port());
    for (kind, shown) in [
        ("pubsub --channels 2 --subscribers 6", "deliveries: 120 of 120 received"),
        ("list --block 0.05 --rps 100", "waiting: "),
        ("stream --groups 2 --consumers 2", "backlog: at most "),
        ("invalidate --tracking default", "stale window: "),
        (at.as_str(), "WAIT 1: reached for 0 of 40 messages, 40 had too few after 5 ms"),
    ] {
        let (dir, file) = place();
        deliver(&server, &format!("{kind} -n 40 --json {}", file.display())).run().ok();
        valid_by("keystorm.run.1.json", &json(&file));
        Keystorm::new(&format!("show {}", file.display())).run().ok().prints(shown);
        let page = dir.path().join("page.html");
        let line = format!("show {} --html {}", file.display(), page.display());
        Keystorm::new(&line).run().ok();
        let html = fs::read_to_string(&page).unwrap();
        let is_queue = kind.starts_with("list") || kind.starts_with("stream");
        let parts = ["Backlog over time", " of messages met a receiver that waited"];
        assert!(parts.iter().all(|part| html.contains(part) == is_queue), "{kind}");
        assert!(html.contains("keystorm deliver ") && html.contains("receiver 1"), "{kind}");
    }
    let csv = deliver(&server, "list -n 50 --csv").run().ok();
    csv.prints("\"met_a_waiting_receiver\",\"wake_up_p50_ms\"").prints("\"backlog_max\"");
}
