//! `keystorm footprint`: what it says is held against MEMORY USAGE, the allocator's classes and the settings.

use serde_json::Value;

use crate::program::Keystorm;
use crate::record::valid_by;
use crate::server::{Server, valkey_program};

fn measured(line: &str) -> Value {
    let ran = Keystorm::new(&format!("footprint {line} --format json")).run().ok();
    serde_json::from_str(&ran.out).unwrap()
}

/// Bytes of `used_memory` for each key, by the first start.
fn used(row: &Value) -> f64 {
    row["bytes_per_key"][0]["used"].as_f64().unwrap()
}

#[test]
fn a_string_costs_what_its_allocations_add_up_to() {
    let line = "--spawn=redis-server --starts 2 --no-steps --keys 4096 string:100 string:100+ttl";
    let document = measured(line);
    assert_eq!(
        (&document["schema"], &document["complete"]),
        (&"keystorm.footprint/1".into(), &true.into())
    );
    valid_by("keystorm.footprint.1.json", &document);
    let [plain, expiring] = [0, 1].map(|at| &document["rows"][at]);
    assert_eq!(plain["encoding"], "raw");
    // MEMORY USAGE counts an entry of 24 bytes, whatever class of the allocator it is in, and no bucket of 8 in the
    // table, which is as full as it can be. The class of 24 shows in a key of three small allocations: 8 for its name,
    // 24 for its entry, and the class for its value of 21.
    let usage = plain["memory_usage"].as_f64().unwrap();
    let server = Server::redis();
    server.ask(&["SET", "k", "v"]);
    let class = server.number(&["MEMORY", "USAGE", "k"]) - 8 - 24;
    assert!(class == 24 || class == 32, "{class}");
    let predicted = usage + (class as f64 - 24.0) + 8.0;
    for bytes in plain["bytes_per_key"].as_array().unwrap() {
        let used = bytes["used"].as_f64().unwrap();
        assert!((used / predicted - 1.0).abs() < 0.03, "{used}, and not {predicted}");
        let (dataset, rss) = (bytes["dataset"].as_f64().unwrap(), bytes["resident"].as_f64());
        assert!(dataset > 100.0 && dataset < used, "{dataset} of {used}");
        assert!(rss.unwrap() > 0.8 * used, "{rss:?}");
    }
    // The entry and the bucket of the second table.
    let more = used(expiring) - used(plain);
    assert!((24.0..=48.0).contains(&more), "{more} bytes for a lifetime");
}

#[test]
fn a_curve_of_limits_follows_its_schema() {
    let line = "--spawn=redis-server --maxmemory 3mb,20mb -r 5000 -d 400 -n 2000 -t get --fill";
    let document = measured(line);
    assert_eq!(document["schema"], "keystorm.memory/1");
    valid_by("keystorm.memory.1.json", &document);
    let found = |at: usize| document["points"][at]["hit_ratio"].as_f64().unwrap();
    assert!(found(0) < 0.9 && found(1) > 0.99, "{} {}", found(0), found(1));
}

#[test]
fn steps_are_where_the_settings_put_them() {
    let args =
        "--hash-max-listpack-entries 37 --zset-max-listpack-value 50 --set-max-intset-entries 99";
    let line = format!(
        "--spawn=redis-server --spawn-args='{args}' --starts 1 --keys 8 hash:37x8 hash:38x8"
    );
    let document = measured(&line);
    let steps = document["steps"].as_array().unwrap();
    let step = |growth: &str| {
        let found = steps.iter().find(|step| step["growth"] == growth);
        let found = found.unwrap_or_else(|| panic!("{growth}: {steps:#?}"));
        let words = ["from", "to"].map(|at| found[at].as_str().unwrap().to_owned());
        (words, found["last"].as_u64().unwrap(), found["setting"][0].as_str().map(str::to_owned))
    };
    let words = |from: &str, to: &str| [from.to_owned(), to.to_owned()];
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        step("hash, elements of 8 bytes"),
        (words("listpack", "hashtable"), 37, named("hash-max-listpack-entries"))
    );
    assert_eq!(
        step("zset, bytes of one element"),
        (words("listpack", "skiplist"), 50, named("zset-max-listpack-value"))
    );
    assert_eq!(
        step("set of integers"),
        (words("intset", "hashtable"), 99, named("set-max-intset-entries"))
    );
    assert_eq!(step("string, bytes"), (words("embstr", "raw"), 44, None));
    let encodings = [0, 1].map(|at| document["rows"][at]["encoding"].as_str().unwrap());
    assert_eq!(encodings, ["listpack", "hashtable"]);
}

#[test]
fn servers_stand_beside_each_other_and_memcached_has_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("footprint.html");
    let line = format!(
        "footprint --spawn=redis-server --starts 1 --keys 1024 --no-steps --beside {} --beside memcached \
         --format csv --html {} string:100 set:10x5",
        valkey_program().display(),
        page.display()
    );
    let ran = Keystorm::new(&line).run().ok();
    let used = |server: &str| {
        let line = ran.out.lines().find(|line| {
            line.starts_with(&format!("\"string:100\",\"{server}"))
                && line.contains("\"used_memory\"")
        });
        let line = line.unwrap_or_else(|| panic!("{server}: {}", ran.out));
        line.split(',').nth(6).unwrap().trim_matches('"').parse::<f64>().unwrap()
    };
    let (redis, valkey, memcached) = (used("redis"), used("valkey"), used("memcached"));
    assert!(redis > 150.0 && valkey > 116.0 && valkey < redis, "{redis} and {valkey}");
    // 48 bytes of header, the key, the value and its line end, in the chunk of a class.
    assert!((170.0..=240.0).contains(&memcached), "{memcached}");
    ran.says("set:10x5: not measured in memcached").says("memcached has strings only");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Memory for each byte stored") && page.contains("set:10x5"));
}

#[test]
fn a_server_that_is_used_is_left_alone_and_an_empty_one_is_empty_again() {
    let server = Server::redis();
    server.ask(&["SET", "precious", "1"]);
    let line = format!("footprint -p {} --no-steps --keys 256 string:10", server.port());
    Keystorm::new(&line).run().exits(1).says("already holds 1 key");
    server.ask(&["DEL", "precious"]);
    let ran = Keystorm::new(&line).run().ok();
    ran.prints("was not restarted");
    assert!(server.calls("set") >= 1024, "every key of the largest fill");
    assert_eq!(server.number(&["DBSIZE"]), 0);
}

#[test]
fn a_cache_with_more_memory_misses_less() {
    // The keys take about 6 MB, and an empty server takes 1.
    let load = "-t get --fill -r 20k -d 200 -n 20000 -c 4 -P 8";
    let line =
        format!("footprint --spawn=redis-server --maxmemory 3mb,4mb,30mb {load} --format json");
    let ran = Keystorm::new(&line).run().ok();
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let points = document["points"].as_array().unwrap();
    assert_eq!((points.len(), &document["complete"]), (3, &true.into()));
    let bytes: Vec<u64> = points.iter().map(|p| p["limit_bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [3 << 20, 4 << 20, 30 << 20]);
    let hits: Vec<f64> = points.iter().map(|p| p["hit_ratio"].as_f64().unwrap()).collect();
    assert!(hits[0] > 0.1 && hits[0] < hits[1] && hits[1] < 0.9 && hits[2] == 1.0, "{hits:?}");
    let misses = |at: usize| points[at]["misses_per_s"].as_f64().unwrap();
    assert!(misses(0) > 0.0 && misses(2) == 0.0);
}

#[test]
fn a_hit_ratio_is_that_of_a_cache_in_its_steady_state() {
    // The fill writes hot keys first, which are evicted first: how long the measured run is must not matter.
    let line = |n: u32| {
        format!(
            "footprint --spawn=redis-server --maxmemory 4mb --fill -r 8000 -d 500 -n {n} -c 8 -P 8 \
             --key-dist zipf:1.1 --format json get user:__key__ ';?' set user:__key__ __data__"
        )
    };
    let measured = |n: u32| -> Value {
        let ran = Keystorm::new(&line(n)).run().ok();
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        document["points"][0].clone()
    };
    let (short, long) = (measured(4_000), measured(100_000));
    let ratio = |of: &Value| of["hit_ratio"].as_f64().unwrap();
    assert!((ratio(&short) - ratio(&long)).abs() < 0.03, "{short} and {long}");
    for point in [&short, &long] {
        let settled = &point["settled"];
        let last = [0, 1].map(|at| settled["last"][at].as_f64().unwrap());
        assert!((last[1] - ratio(point)).abs() < 1e-9, "{point}");
        // A busy machine may not come to the end of it, and then says so.
        assert!(settled["still"] == false || (last[0] - last[1]).abs() < 0.03, "{point}");
        assert!(settled["requests"].as_u64().unwrap() >= 50_000, "{point}");
    }
}

#[test]
fn a_load_that_looks_up_no_keys_has_no_hit_ratio_in_any_sentence() {
    let line = "footprint --spawn=redis-server --maxmemory 3mb,20mb -r 100 -n 500 -t set";
    let ran = Keystorm::new(line).run().ok().prints("No hit ratio: this load looks up no keys");
    assert!(!ran.out.contains("% miss") && !ran.out.contains("% hits"), "{}", ran.out);
}

#[test]
fn what_cannot_be_weighed_is_refused_by_name() {
    for (line, why) in [
        ("127.0.0.1:6379", "keystorm footprint takes one server, as -h 127.0.0.1 -p 6379"),
        ("--spawn strings:10", "no such type"),
        ("--spawn -c 5 string:10", "footprint stores keys and measures no load"),
        ("--spawn=memcached hash:10x20", "memcached has strings only"),
        ("--maxmemory 1mb -t get", "--maxmemory requires --spawn"),
        ("--spawn --maxmemory 1mb", "name what is measured"),
        ("--spawn --maxmemory 1mb string:10", "measures a workload, not keys"),
    ] {
        Keystorm::new(&format!("footprint {line}")).run().exits(2).says(why);
    }
}
