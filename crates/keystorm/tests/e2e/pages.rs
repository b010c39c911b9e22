//! Pages of results: `--html` and `--svg`, of runs and of `keystorm show`, opened in a real browser.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::browser;
use crate::program::Keystorm;
use crate::record::{json, place};
use crate::server::Server;

fn keystorm(args: &[&str]) -> Keystorm {
    Keystorm::exec(crate::server::KEYSTORM, args)
}

/// The command lines that a page gives to run it again.
fn again(html: &str) -> Vec<String> {
    let code = html.split_once("<code>").unwrap().1.split_once("</code>").unwrap().0;
    let plain = code.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    plain.replace("&amp;", "&").lines().map(str::to_owned).collect()
}

/// How many points lines over time have: of rates, one in each interval, of latencies, one where
/// there were replies. The last interval counts if it is not cut too short.
fn over_time(test: &Value) -> (usize, usize) {
    const INTERVAL_S: f64 = 0.25;
    let points = test["timeline"].as_array().unwrap();
    let last_s = points.last().unwrap()["t_s"].as_f64().unwrap();
    let rates = (last_s / INTERVAL_S).round() as usize + 1;
    let whole = rates == 1 || test["elapsed_s"].as_f64().unwrap() - last_s >= 0.2 * INTERVAL_S;
    let cut = usize::from(!whole);
    let replied = |point: &&Value| point["p50"].is_number();
    (rates - cut, points[..points.len() - cut].iter().filter(replied).count())
}

/// How many points a spectrum has: ten in each factor of ten, and the greatest.
fn spectrum(test: &Value) -> usize {
    let count = test["latency_ms"]["response"]["exact"]["count"].as_f64().unwrap();
    let quantiles = (0..).take_while(|n| 10f64.powf(-f64::from(*n) / 10.0) * count >= 1.0);
    quantiles.count() + 1
}

/// The charts of a page with those among them that a test has only if it lasted: its heat map, and what this machine
/// did. How many points they have, the page says: no figure of the saved run is it.
fn with_heat_maps<'c>(html: &str, charts: &[(&'c str, Vec<usize>)]) -> Vec<(&'c str, Vec<usize>)> {
    const HEAT: &str = "All response times over time";
    const LENGTH_CAPTIONS: [&str; 4] = [
        HEAT,
        "CPU time that this machine did not give",
        "Interrupts on the CPUs of keystorm",
        "Frequency of the CPUs of keystorm",
    ];
    let mut all = charts.to_vec();
    for (at, figure) in html.split("<figure data-points=\"").skip(1).enumerate() {
        let (points, rest) = figure.split_once('"').unwrap();
        let caption = rest.split("<figcaption>").nth(1).unwrap_or_default();
        let Some(title) = LENGTH_CAPTIONS.iter().find(|title| caption.starts_with(**title)) else {
            continue;
        };
        let cells: Vec<usize> = points.split(' ').map(|n| n.parse().unwrap()).collect();
        assert!(*title != HEAT || cells.len() == 1 && cells[0] > 2, "{cells:?}");
        assert!(cells.iter().all(|n| *n > 1), "{title}: {cells:?}");
        all.insert(at, (title, cells));
    }
    all
}

#[test]
fn a_page_shows_what_was_measured() {
    let server = Server::redis();
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    let line = format!(
        "--json {} --html {} --svg {2}/svg",
        file.display(),
        page.display(),
        dir.path().display()
    );
    server.run(&format!("{line} -q --rps 2000 --duration 1.4 -r 100 get __rand_int__")).ok();
    let html = fs::read_to_string(&page).unwrap();
    let test = json(&file)["tests"][0].clone();
    let ((n, replied), p) = (over_time(&test), spectrum(&test));
    assert!(n >= 5 && p > 20, "{n} {p}");
    let charts = [
        ("Response time over time", vec![replied; 3]),
        ("Throughput over time", vec![n, n]),
        ("Response time by percentile", vec![p, p]),
    ];
    let charts = with_heat_maps(&html, &charts);
    // A heat map, and two or three of what this machine did.
    assert!((6..=7).contains(&charts.len()), "{charts:?}");
    browser::holds(&html, &charts);
    let verdict = test["verdict"]["text"].as_str().unwrap();
    let first = html.split_once("<main>").unwrap().1.split_once("<figure").unwrap().0;
    let reason = verdict.split_once(": ").unwrap().1;
    assert!(first.contains(&reason[1..15]), "the verdict comes first: {first}");
    let written: Vec<_> = fs::read_dir(dir.path().join("svg")).unwrap().collect();
    for entry in &written {
        let path = entry.as_ref().unwrap().path();
        assert!(fs::read(&path).unwrap().starts_with(b"<svg "), "{}", path.display());
    }
    assert_eq!(written.len(), charts.len(), "{written:?}");
    // What was kept makes the same page.
    let made = dir.path().join("made.html");
    let show = ["show", file.to_str().unwrap(), "--html"];
    let silent = keystorm(&[&show[..], &[made.to_str().unwrap()]].concat()).run().ok();
    assert_eq!(silent.out, "");
    assert_eq!(fs::read_to_string(&made).unwrap(), html);
    let both = [&show[..], &[made.to_str().unwrap(), "--format", "text"]].concat();
    keystorm(&both).run().ok().prints("requests completed");
    assert_eq!(fs::read_to_string(&made).unwrap(), html);
    let printed = keystorm(&[&show[..], &["-"]].concat()).run().ok();
    assert_eq!(printed.out, html);
}

/// As text and JSON tell them: below the verdict, in a table, and in every chart over time.
#[test]
fn a_page_shows_outages() {
    let server = Server::redis();
    let (dir, file) = place();
    let page = dir.path().join("page.html");
    let line = format!("--json {} --html {}", file.display(), page.display());
    let running = server.keystorm(&format!("{line} --rps 1000 --duration 4 get k")).start();
    running.until("load runs", |_| server.calls("get") > 500);
    server.pause(Duration::from_millis(1200));
    let ran = running.wait().ok();
    let outages = json(&file)["tests"][0]["outages"].as_array().unwrap().len();
    assert!(outages >= 1 && ran.out.contains("Outages"), "{}", ran.out);
    let html = fs::read_to_string(&page).unwrap();
    for width in [1280, 500] {
        let seen = browser::open(&html, width);
        assert_eq!(seen.probe["faults"], serde_json::json!([]));
        assert!(seen.probe["needed"].as_f64() <= seen.probe["width"].as_f64(), "{width}");
    }
    let lede = html.split_once("<header>").unwrap().1.split_once("</header>").unwrap().0;
    assert_eq!(lede.matches("<li>Outage from ").count(), outages.min(5), "{lede}");
    assert!(html.contains("<caption>Outages: "), "it has a table of them");
    for chart in html.split("<figure ").filter(|chart| chart.contains(" over time</figcaption>")) {
        // In both widths.
        assert_eq!(chart.matches("data-band=").count(), 2 * outages, "{chart}");
    }
}

#[test]
fn runs_stand_side_by_side() {
    let server = Server::redis();
    let (dir, file) = place();
    let other = dir.path().join("other.json");
    for (path, depth) in [(&file, 1), (&other, 4)] {
        let line = format!("--json {} -P {depth} -q -n 4000 -t set,get", path.display());
        server.run(&line).ok();
    }
    let html = dir.path().join("p.html");
    let [a, b, html] = [&file, &other, &html].map(|path| path.to_str().unwrap());
    keystorm(&["show", a, b, "--html", html]).run().ok();
    let p = spectrum(&json(&file)["tests"][0]);
    let text = fs::read_to_string(html).unwrap();
    let tests: Vec<Value> =
        [&file, &other].iter().flat_map(|f| json(f)["tests"].as_array().unwrap().clone()).collect();
    let mut charts = vec![
        ("Requests per second", vec![2, 2]),
        ("99th percentile of response time", vec![2, 2]),
        ("Response time by percentile", vec![p; 4]),
        ("Throughput over time", tests.iter().map(|test| over_time(test).0).collect()),
        ("99th percentile over time", tests.iter().map(|test| over_time(test).1).collect()),
    ];
    for test in &tests {
        let (n, replied) = over_time(test);
        charts.push(("Response time over time", vec![replied; 3]));
        charts.push(("Throughput over time", vec![n]));
        charts.push(("Response time by percentile", vec![p]));
    }
    browser::holds(&text, &with_heat_maps(&text, &charts));
    let merged = dir.path().join("m.html");
    let merged = merged.to_str().unwrap();
    let again = dir.path().join("again.json");
    let again = again.to_str().unwrap();
    server.run(&format!("--json {again} -P 1 -q -n 4000 -t set,get")).ok();
    keystorm(&["merge", a, again, "--html", merged, "--format", "quiet"]).run().ok();
    assert!(fs::read_to_string(merged).unwrap().contains("8,000"));
}

#[test]
fn text_of_a_server_is_only_text() {
    let server = Server::redis();
    let (dir, _) = place();
    let page = dir.path().join("p.html");
    let line = format!("--html {} -q -n 200 --on-error count --", page.display());
    let hostile = "'<img/src=x/onerror=alert(1)>' '</script><script>nothing.at.all</script>'";
    server.run(&format!("{line} {hostile}")).ok();
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("unknown command") && html.contains("&lt;img/src"), "{html}");
    let seen = browser::open(&html, 1280);
    assert!(seen.console.is_empty(), "{seen:?}");
    for field in ["faults", "asked"] {
        assert_eq!(seen.probe[field], serde_json::json!([]));
    }
}

#[test]
fn a_page_tells_how_to_run_it_again_and_no_password() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "default", ">hunter2"]);
    let (dir, _) = place();
    let page = dir.path().join("p.html");
    let lines = [
        "-a hunter2 --seed 5 -c 5 -n 300 -P 3 -r 1000 -d 20 -t set,get,lrange_100",
        "-a hunter2 --user default -n 100 --seed 7 --on-error count set 'a b' \"it's\" ';' get k",
        "-a hunter2 --seed 5 --rps 900..1500/0.1s --arrivals poisson --duration 0.3 --window batch get k",
        "-a hunter2 --seed 5 -n 200 --threads 2 --first-byte -3 --engine epoll --sequential -r 9 -t get -k 0",
        "-a hunter2 --seed 5 -n 200 -r 900 --key-dist hotspot:90/10 -d normal:500,50 \
         --set size-by=request --content compressible:3 set k:__key__ __data__",
        "-a hunter2 --seed 5 -n 200 -r 900 -d 100 set k:__key__ __data__",
        "-a hunter2 --seed 5 -n 20 -t fcall,function_load --num-functions 3 --num-keys-in-fcall 2",
    ];
    for line in lines {
        let out = format!("--html {} --svg {} -q", page.display(), dir.path().display());
        server.run(&format!("{out} {line}")).ok();
        for entry in fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            assert!(!fs::read_to_string(&path).unwrap().contains("hunter2"), "{}", path.display());
        }
        let plans = |args: &str| -> Vec<Value> {
            let ran = Keystorm::new(&format!("--print-plan {args}")).run().ok();
            serde_json::from_str(&ran.out).unwrap()
        };
        let documents = again(&fs::read_to_string(&page).unwrap());
        let documents: Vec<Value> =
            documents.iter().flat_map(|l| plans(l.strip_prefix("keystorm").unwrap())).collect();
        let asked = plans(&format!("-p {} {line}", server.port()));
        for plan in &asked {
            assert!(documents.contains(plan), "{line}: {plan:#}\n{documents:#?}");
        }
        assert_eq!(documents.len(), asked.len(), "{line}");
    }
}

#[test]
fn what_cannot_be_made_is_refused_in_words() {
    let server = Server::redis();
    let (dir, file) = place();
    let path = file.to_str().unwrap();
    server.run(&format!("--json {path} -q -n 100 get k")).ok();
    keystorm(&["show"]).run().exits(2).says("FILE");
    keystorm(&["show", "-", "-"]).run().exits(2).says("once");
    keystorm(&["show", path, path]).run().exits(2).says("--html FILE");
    keystorm(&["show", "/no/such", "--html", "-"]).run().exits(1).says("/no/such: ");
    keystorm(&["show", path, "--html", "/no/dir/p"]).run().exits(1).says("--html /no/dir/p");
    keystorm(&["show", path, "--svg", path]).run().exits(1).says("--svg");
    keystorm(&["show", path, "--format", "csv", "--html", "-"]).run().exits(2).says("--html");
    server.reset();
    server.run("-n 10 --html /no/dir/p get k").exits(1).says("--html /no/dir/p");
    server.run("-n 10 --html - get k").exits(2).says("--html");
    server.run("-I --svg x").exits(2).says("--svg");
    assert_eq!(server.calls("get"), 0, "nothing is measured that cannot be kept");
    drop(dir);
}

#[test]
fn an_interrupted_run_has_its_page() {
    let server = Server::redis();
    let (dir, _) = place();
    let page = dir.path().join("p.html");
    let running =
        server.keystorm(&format!("--html {} --duration 30 get k", page.display())).start();
    running.until("load runs", |_| server.calls("get") > 200);
    running.interrupt();
    running.wait().exits(130);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("Interrupted after ") && html.contains("interrupted after "), "{html}");
}

#[test]
fn the_example_of_the_help_runs() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let help = keystorm(&["show", "--help"]).run().ok().out;
    let examples: Vec<&str> = help.lines().filter_map(|l| l.trim().strip_prefix("$ ")).collect();
    assert_eq!(examples.len(), 3, "{help}");
    let lines = examples.join(" && ");
    let lines = lines.replace("keystorm -t", &format!("keystorm -p {} -t", server.port()));
    let lines = lines.replace("keystorm", crate::server::KEYSTORM);
    let ran = Keystorm::exec("sh", ["-c", &format!("cd {} && {lines}", dir.path().display())]);
    ran.run().ok();
    assert!(dir.path().join("run.html").exists());
    let charts = fs::read_dir(dir.path().join("charts")).unwrap().count();
    // On a slow machine a test lasts long enough for a heat map, and for what this machine did.
    assert!((2 + 1 + 2 * 3..=2 + 1 + 2 * 7).contains(&charts), "{charts}");
}

#[test]
fn a_page_of_an_interrupted_run_says_how_far_it_came() {
    let server = Server::redis();
    let (_dir, file) = place();
    let page = file.with_extension("html");
    let running = server.keystorm(&format!("-t get --duration 600 --html {}", page.display()));
    let running = running.start();
    running.until("load runs", |_| server.calls("get") >= 100);
    running.interrupt();
    running.wait().exits(130);
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("Interrupted after "), "{html}");
    assert!(html.contains("of 600 s; the figures cover that part"), "{html}");
}
