//! Man pages, completions and pages of the documents, all of which the program brings.

use std::process::Command;

use crate::program::Keystorm;
use crate::server::KEYSTORM;

/// The subcommands that the help lists.
fn subcommands() -> Vec<String> {
    let help = Keystorm::new("--help all").run().ok().out;
    let (_, list) = help.split_once("Subcommands").unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  keystorm ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The topics that the help lists.
fn topics() -> Vec<String> {
    let listed = Keystorm::new("help topics").run().ok().out;
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    listed.lines().map(name).collect()
}

#[test]
fn each_command_has_a_man_page() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man/man1");
    Keystorm::new(&format!("man --dir {}", pages.display())).run().ok().prints("files to");
    for name in subcommands() {
        let page = std::fs::read_to_string(pages.join(format!("keystorm-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH keystorm-{name} 1")), "{page:.300}");
        let printed = Keystorm::new(&format!("man {name}")).run().ok().out;
        assert_eq!(printed, page, "{name}");
    }
    let page = std::fs::read_to_string(pages.join("keystorm.1")).unwrap();
    assert!(page.contains("\\-\\-rps") && page.contains("keystorm\\-search"), "{page:.2000}");
    assert_eq!(Keystorm::new("man").run().ok().out, page);
    Keystorm::new("man serch").run().exits(2).says("did you mean search?");
    // A page of an experiment has the options of a run as well, and none that it refuses.
    let search = Keystorm::new("man search").run().ok().prints("\\-\\-slo").prints("\\-\\-rps");
    assert!(!search.out.contains("\\-\\-hdr"), "{}", search.out);
}

#[test]
fn shells_are_reported_every_option() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Keystorm::new(&format!("completions {shell}")).run().ok().out;
        for word in ["slo", "fail-on-regression", "rps", "doctor", "measuring"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            let completed = "COMP_WORDS=(keystorm search --sl); COMP_CWORD=2; \
                             _keystorm keystorm --sl search; echo \"${COMPREPLY[@]}\"";
            // A script of more than 128 KiB is no argument.
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), format!("{script}\n{completed}")).unwrap();
            let ran = Command::new("bash").arg(file.path()).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "--slo", "{ran:?}");
        }
    }
    Keystorm::new("completions csh").run().exits(2).says("csh").says("fish");
}

#[test]
fn pages_are_printed_as_text() {
    let topics = topics();
    assert!(topics.len() >= 10, "{topics:?}");
    for topic in topics {
        let page = Keystorm::new(&format!("help {topic}")).run().ok().out;
        for mark in ["<!--", "](", "```", "\n#", "|---"] {
            assert!(!page.contains(mark), "{topic}: {mark} in {page}");
        }
        let first = page.lines().next().unwrap();
        let markdown = format!("{}/../cli/topics/{topic}.md", env!("CARGO_MANIFEST_DIR"));
        let markdown = std::fs::read_to_string(markdown).unwrap();
        assert_eq!(Some(first), markdown.lines().next().unwrap().strip_prefix("# "), "{topic}");
    }
    let unknown = Keystorm::new("help mesuring").run().exits(2);
    unknown.says("'measuring'").says("Topics: ").says("Subcommands: ");
}

#[test]
fn a_pager_is_for_terminals() {
    let dir = tempfile::tempdir().unwrap();
    let pager = dir.path().join("pager");
    std::fs::write(&pager, "#!/bin/sh\necho PAGED; wc -l\n").unwrap();
    let pager = format!("sh {}", pager.display());
    let piped = Keystorm::new("help lab").env("PAGER", &pager).run().ok();
    assert!(!piped.out.contains("PAGED"), "{}", piped.out);
    let command = format!("{KEYSTORM} help lab");
    let watched = |pager: &str| {
        Keystorm::exec("script", ["-qec", &command, "/dev/null"]).env("PAGER", pager).run().ok().out
    };
    assert!(watched(&pager).contains("PAGED"));
    assert!(watched("/no/such/pager").contains("The lab"), "without one it is printed");
    assert!(watched("").contains("The lab"));
}
