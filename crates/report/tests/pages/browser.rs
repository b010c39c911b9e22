//! Pages in a real browser: Chromium, without a window.
//!
//! A copy of the page gets a script that looks around as a reader would, and leaves what it saw in
//! the document, which Chromium prints. The page's own policy stays in force.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::Value;

const PROBE: &str = include_str!("probe.js");
/// Names of the browser on Linux and macOS.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const MACOS: [&str; 2] = [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

fn chromium() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut candidates =
        NAMES.iter().flat_map(|name| env::split_paths(&path).map(move |dir| dir.join(name)));
    let found = candidates.find(|file| file.is_file());
    let found = found.or_else(|| MACOS.iter().map(PathBuf::from).find(|file| file.is_file()));
    found.expect("Chromium is not installed; `make setup-test` installs it")
}

/// Result of loading a page in a browser.
#[derive(Debug)]
pub(crate) struct PageProbe {
    /// Findings of the probe; its fields are in `probe.js`.
    pub(crate) probe: Value,
    /// Lines of the console.
    pub(crate) console: Vec<String>,
}

/// Opens a page in a window of this width.
pub(crate) fn open(html: &str, width: u32) -> PageProbe {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    let probed = html.replace("</body>", &format!("<script>{PROBE}</script></body>"));
    assert_ne!(probed, html, "a page has a body");
    fs::write(&file, probed).unwrap();
    let ran = run(&file, dir.path(), width);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let dom = String::from_utf8_lossy(&ran.stdout);
    let found = dom.split_once("data-probe=\"").and_then(|(_, rest)| rest.split_once('"'));
    let found = found.unwrap_or_else(|| panic!("the page was not shown: {stderr}\n{dom:.2000}")).0;
    let text = found.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    let probe = serde_json::from_str(&text.replace("&nbsp;", " ").replace("&amp;", "&")).unwrap();
    let console = stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    PageProbe { probe, console: console.collect() }
}

fn run(file: &Path, dir: &Path, width: u32) -> std::process::Output {
    Command::new(chromium())
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--hide-scrollbars"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--window-size={width},1000"))
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .env("HOME", dir)
        .stdin(Stdio::null())
        .output()
        .expect("Chromium starts")
}

/// Checks a page on a desktop's screen and on a phone's: nothing on the console, nothing loaded,
/// nothing cut off, no label on another, every point of every series drawn, and a tooltip for each
/// point.
#[track_caller]
pub(crate) fn holds(html: &str, charts: &[(&str, Vec<usize>)]) {
    for width in [1280, 500] {
        let PageProbe { probe, console } = open(html, width);
        assert!(console.is_empty(), "{width}: {console:?}");
        for field in ["faults", "asked"] {
            assert_eq!(probe[field], serde_json::json!([]), "{field} at {width}");
        }
        let page = probe["width"].as_f64().unwrap();
        assert!(probe["needed"].as_f64().unwrap() <= page, "wider than {page}: {probe}");
        let figures = probe["figures"].as_array().unwrap();
        assert_eq!(figures.len(), charts.len(), "charts at {width}");
        for (figure, (title, counts)) in figures.iter().zip(charts) {
            assert_eq!(figure["title"], *title);
            assert_eq!(figure["pictures"], 1, "{title} at {width}");
            for field in ["outside", "collisions"] {
                assert_eq!(figure[field], serde_json::json!([]), "{field} of {title} at {width}");
            }
            let drawn = figure["points"].as_array().unwrap();
            let drawn: Vec<u64> = drawn.iter().map(|n| n.as_u64().unwrap()).collect();
            let wanted: Vec<u64> = counts.iter().map(|n| *n as u64).collect();
            assert_eq!(drawn, wanted, "points of {title} at {width}");
            if wanted.iter().sum::<u64>() > 0 {
                assert_eq!(figure["told"], true, "{title} at {width}: {figure}");
            }
        }
    }
}
