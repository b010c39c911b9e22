//! A spec in the layout of redis-benchmarks-specification: data to load, and the tools and requests to send.
//!
//! Parsed leniently, by key: missing fields have defaults, and unknown ones are ignored.

use workload::quantity;

use super::yaml::Node;

/// A command line of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolLine {
    /// Name of the tool without a path: `memtier_benchmark`.
    pub tool: String,
    /// Arguments of the tool.
    pub words: Vec<String>,
}

/// A command sent before the load, as text or as words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InitCommand {
    /// A line, to be split by redis-cli's rules.
    Line(String),
    /// Words.
    Words(Vec<String>),
    /// A script without keys.
    Script(String),
}

/// Data that a spec requires before its load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Preload {
    /// Settings of the server.
    pub settings: Vec<(String, String)>,
    /// A load that writes the data to read.
    pub tool: Option<ToolLine>,
    /// Commands after it.
    pub init: Vec<InitCommand>,
    /// URL or path of a data file.
    pub dataset: Option<String>,
}

/// A spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// Name, unique in a suite.
    pub name: String,
    /// Name of its file without the extension, by which a cross-section names it.
    pub file: String,
    /// Description of the spec.
    pub description: String,
    /// Priority, of which 1 is the highest; `None` without one.
    pub priority: Option<u32>,
    /// Groups of commands that it tests, in lower case.
    pub groups: Vec<String>,
    /// Commands that it tests, in lower case.
    pub commands: Vec<String>,
    /// Topologies that it is for, by the specification's names.
    pub topologies: Vec<String>,
    /// Data to load first.
    pub preload: Preload,
    /// Number of keys that the server then has.
    pub keys: Option<u64>,
    /// Bytes of memory that it needs.
    pub memory_bytes: Option<u64>,
    /// Clients that generate the load at the same time.
    pub clients: Vec<ToolLine>,
}

impl Spec {
    /// Parses a spec; `file` is its name if it has none of its own.
    ///
    /// # Errors
    /// Returns an error in words for a person if it is not YAML, or has no client.
    pub fn parse(text: &str, file: &str) -> Result<Self, String> {
        let root = Node::parse(text)?;
        let words = |path: &[&str]| -> Vec<String> {
            let members = root.at(path).map(Node::members).unwrap_or_default();
            members.iter().filter_map(Node::text).map(str::to_lowercase).collect()
        };
        let text = |path: &[&str]| root.at(path).and_then(Node::text).map(str::trim);
        let one = root.get("clientconfig").into_iter();
        let several = root.get("clientconfigs").map(Node::members).unwrap_or_default();
        let clients: Result<Vec<ToolLine>, String> = one.chain(several).map(tool_line).collect();
        let clients = clients?;
        if clients.is_empty() {
            return Err("it has no clientconfig".to_owned());
        }
        let database = root.get("dbconfig");
        let preload = database.map(preload).transpose()?.unwrap_or_default();
        let memory = text(&["dbconfig", "resources", "requests", "memory"]);
        let keys = text(&["dbconfig", "check", "keyspacelen"]);
        Ok(Self {
            name: text(&["name"]).filter(|name| !name.is_empty()).unwrap_or(file).to_owned(),
            file: file.to_owned(),
            description: one_line(text(&["description"]).unwrap_or_default()),
            priority: text(&["priority"]).and_then(|text| text.parse().ok()),
            groups: words(&["tested-groups"]),
            commands: words(&["tested-commands"]),
            topologies: words(&["redis-topologies"]),
            preload,
            keys: keys.and_then(|text| text.parse().ok()),
            memory_bytes: memory.and_then(bytes),
            clients,
        })
    }

    /// Returns whether its clients leave the data unchanged, given the commands that only read.
    pub fn only_reads(&self, reads: impl Fn(&str) -> bool) -> bool {
        let lines = || self.clients.iter();
        lines().all(|line| line.tool == MEMTIER)
            && lines().all(|line| {
                let commands = sent(line);
                !commands.is_empty() && commands.iter().all(|name| reads(name))
            })
    }

    /// Commands that it sends or requires, in lower case, without repetition.
    pub fn needs(&self) -> Vec<String> {
        let tools = self.clients.iter().chain(&self.preload.tool);
        let init = self.preload.init.iter().filter_map(|init| match init {
            InitCommand::Line(line) => {
                Some(line.split_whitespace().next()?.trim_matches('"').to_owned())
            }
            InitCommand::Words(words) => words.first().cloned(),
            InitCommand::Script(_) => Some("eval".to_owned()),
        });
        let mut names: Vec<String> =
            tools.flat_map(sent).chain(init).map(|name| name.to_lowercase()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The tool in most specs.
pub const MEMTIER: &str = "memtier_benchmark";

/// Names of the commands in a line of memtier: those of `--command`, or its own SET and GET.
fn sent(line: &ToolLine) -> Vec<String> {
    if line.tool != MEMTIER {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut words = line.words.iter();
    while let Some(word) = words.next() {
        let command = match word.strip_prefix("--command=") {
            Some(command) => Some(command),
            None if word == "--command" => words.next().map(String::as_str),
            None => None,
        };
        let name = command.and_then(|command| command.split_whitespace().next());
        names.extend(name.map(|name| name.trim_matches(['"', '\'']).to_lowercase()));
    }
    if names.is_empty() {
        names = vec!["set".to_owned(), "get".to_owned()];
    }
    names
}

fn preload(node: &Node) -> Result<Preload, String> {
    let settings = node.get("configuration-parameters").map(Node::pairs).unwrap_or_default();
    let tool = node.get("preload_tool").filter(|node| node.get("tool").is_some());
    let mut init = Vec::new();
    for member in node.get("init_commands").map(Node::members).unwrap_or_default() {
        match member {
            Node::Text(text) => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                init.extend(lines.map(|line| InitCommand::Line(line.to_owned())));
            }
            list => {
                let words: Vec<String> =
                    list.members().iter().filter_map(Node::text).map(str::to_owned).collect();
                init.extend((!words.is_empty()).then_some(InitCommand::Words(words)));
            }
        }
    }
    let script = node.get("init_lua").and_then(Node::text);
    init.extend(script.map(|script| InitCommand::Script(script.to_owned())));
    let dataset = node.get("dataset").and_then(|node| {
        // A list or a map of them has the URL somewhere within.
        node.text().or_else(|| node.members().iter().find_map(Node::text))
    });
    let settings = settings.iter().filter_map(|(name, value)| {
        let value = value.text()?.trim();
        // An empty value is written as two quotes within the text.
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        Some((name.clone(), bare.unwrap_or(value).to_owned()))
    });
    Ok(Preload {
        settings: settings.collect(),
        tool: tool.map(tool_line).transpose()?,
        init,
        dataset: dataset.map(str::to_owned),
    })
}

fn tool_line(node: &Node) -> Result<ToolLine, String> {
    let text = |key: &str| node.get(key).and_then(Node::text).map(str::trim);
    let tool = text("tool").ok_or("a client without a tool")?;
    let tool = tool.rsplit('/').next().unwrap_or(tool).to_owned();
    let arguments = node.get("arguments").map(Node::members).unwrap_or_default();
    let mut words = Vec::new();
    for part in arguments.iter().filter_map(Node::text) {
        let split = shell_words::split(part);
        words.extend(split.map_err(|why| format!("arguments of {tool}: {why}"))?);
    }
    Ok(ToolLine { tool, words })
}

/// Text without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses bytes in the form of specs: `1g`, `512mb`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim_end_matches('b').trim_end_matches('i') {
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1_u64 << 40,
        _ => 1,
    };
    quantity::number(digits.trim()).map(|number| (number * factor as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"
ersion: 0.4
name: hash-get
description: |
  Reads | of
    hashes
priority: 7
dbconfig:
  configuration-parameters:
    save: '""'
    hash-max-listpack-entries: 64
  check:
    keyspacelen: 1000
  preload_tool:
    run_image: redislabs/memtier_benchmark:edge
    tool: memtier_benchmark
    arguments: '"--data-size" "100" --command "HSET __key__ f __data__" --command-key-pattern="P"
      --key-minimum=1 --key-maximum 1000 -n allkeys'
  init_commands:
  - SET a "b c"
  - ["SET", "d", "e f"]
  init_lua: |-
    -- a comment
    return redis.call('SET', 'x', '1')
  resources:
    requests:
      memory: 1g
tested-commands:
- HGET
tested-groups:
- hash
redis-topologies:
- oss-standalone
- oss-standalone-04-io-threads
build-variants:
- dockerhub
clientconfig:
  tool: memtier_benchmark
  arguments: >-
    --test-time 180 -c 50 -t 4
    --command="HGET __key__ f" --command-key-pattern "R"
"#;

    #[test]
    fn a_spec_is_read_by_its_keys() {
        let spec = Spec::parse(SPEC, "file").unwrap();
        assert_eq!((spec.name.as_str(), spec.priority), ("hash-get", Some(7)));
        assert_eq!((spec.description.as_str(), spec.file.as_str()), ("Reads | of hashes", "file"));
        assert_eq!(
            (spec.groups, spec.commands),
            (vec!["hash".to_owned()], vec!["hget".to_owned()])
        );
        assert_eq!((spec.keys, spec.memory_bytes), (Some(1000), Some(1 << 30)));
        let settings = spec.preload.settings;
        assert_eq!(settings[0], ("save".to_owned(), String::new()));
        assert_eq!(settings[1].1, "64");
        let words = spec.preload.tool.unwrap().words;
        assert_eq!(words[..4], ["--data-size", "100", "--command", "HSET __key__ f __data__"]);
        assert_eq!(words[4..7], ["--command-key-pattern=P", "--key-minimum=1", "--key-maximum"]);
        assert_eq!(spec.preload.init.len(), 3);
        assert_eq!(
            spec.preload.init[1],
            InitCommand::Words(["SET", "d", "e f"].map(String::from).into())
        );
        assert!(
            matches!(&spec.preload.init[2], InitCommand::Script(text) if text.contains("comment\nreturn"))
        );
        assert_eq!(
            spec.clients[0].words[6..8],
            ["--command=HGET __key__ f", "--command-key-pattern"]
        );
    }

    #[test]
    fn several_clients_and_commands_by_lines_are_read() {
        let text = "dbconfig:\n  init_commands: |\n    SET a 1\n\n    SET b 2\n  dataset: http://x/y.rdb\n\
                    clientconfigs:\n- tool: memtier_benchmark\n  arguments: --command 'LPUSH l x'\n\
                    - tool: /bin/pubsub-sub-bench\n  arguments: -clients 10\n";
        let spec = Spec::parse(text, "of-file").unwrap();
        assert_eq!((spec.name.as_str(), spec.clients.len()), ("of-file", 2));
        assert_eq!(spec.clients[1].tool, "pubsub-sub-bench");
        assert_eq!(spec.preload.init.len(), 2);
        assert_eq!(spec.preload.dataset.as_deref(), Some("http://x/y.rdb"));
        assert_eq!(spec.needs(), ["lpush", "set"]);
        assert!(!spec.only_reads(|_| true), "a tool that is not known may write");
        assert!(Spec::parse("name: x\n", "x").unwrap_err().contains("clientconfig"));
        assert!(Spec::parse("a: [", "x").is_err());
    }

    #[test]
    fn what_only_reads_is_known_by_its_commands() {
        let spec = Spec::parse(SPEC, "file").unwrap();
        assert!(spec.only_reads(|name| name == "hget"));
        assert!(!spec.only_reads(|name| name == "get"));
        assert_eq!(spec.needs(), ["eval", "hget", "hset", "set"]);
        let plain = "clientconfig:\n  tool: memtier_benchmark\n  arguments: --test-time 1\n";
        assert_eq!(Spec::parse(plain, "x").unwrap().needs(), ["get", "set"]);
    }

    #[test]
    fn bytes_have_the_units_of_servers() {
        assert_eq!(
            ["1g", "512mb", "2Gi", "100"].map(bytes),
            [Some(1 << 30), Some(1 << 29), Some(2 << 30), Some(100)]
        );
        assert_eq!(bytes("much"), None);
    }
}
