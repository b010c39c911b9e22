//! A YAML document as text, lists and maps: every scalar is text, which the user of a key interprets.
//!
//! Owns the bounds on memory for a file. Aliases are refused: no spec uses them, and a few nested ones stand
//! for gigabytes.

use yaml_rust2::Event;
use yaml_rust2::parser::{MarkedEventReceiver, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

/// Largest size of a file.
pub const BYTES_MAX: u64 = 16 << 20;
const DEPTH_MAX: usize = 32;

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Parses a document.
    ///
    /// # Errors
    /// Returns an error in words for a person if it is not YAML, or nested too deeply.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut builder = Builder::default();
        let mut parser = Parser::new_from_str(text);
        parser.load(&mut builder, false).map_err(|why| why.to_string())?;
        match (builder.fault, builder.root) {
            (Some(fault), _) => Err(fault),
            (None, Some(root)) => Ok(root),
            (None, None) => Err("the file is empty".to_owned()),
        }
    }

    /// Returns the node of a key; the last one of several, as in other readers.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Self::Map(pairs) = self else { return None };
        pairs.iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Returns the node at the end of a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the text of a text node.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the pairs of a map; empty for other nodes.
    pub(super) fn pairs(&self) -> &[(String, Node)] {
        match self {
            Self::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// Returns the members of a list, and otherwise the node itself.
    pub(super) fn members(&self) -> &[Node] {
        match self {
            Self::List(members) => members,
            one => std::slice::from_ref(one),
        }
    }
}

/// A list or a map being parsed, with the key of the next value.
enum OpenNode {
    List(Vec<Node>),
    Map(Vec<(String, Node)>, Option<String>),
}

#[derive(Default)]
struct Builder {
    open: Vec<OpenNode>,
    root: Option<Node>,
    fault: Option<String>,
}

impl Builder {
    fn put(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = self.root.take().or(Some(node)),
            Some(OpenNode::List(members)) => members.push(node),
            Some(OpenNode::Map(pairs, key)) => match (key.take(), node) {
                (Some(key), node) => pairs.push((key, node)),
                (None, Node::Text(text)) => *key = Some(text),
                // No setting has a key that is not text.
                (None, _) => *key = Some(String::new()),
            },
        }
    }

    fn begin(&mut self, open: OpenNode, mark: Marker) {
        if self.open.len() >= DEPTH_MAX {
            self.refuse("nested too deeply", mark);
        }
        // Only if everything above is valid.
        if self.fault.is_none() {
            self.open.push(open);
        }
    }

    fn end(&mut self) {
        if self.fault.is_some() {
            return;
        }
        match self.open.pop() {
            Some(OpenNode::List(members)) => self.put(Node::List(members)),
            Some(OpenNode::Map(pairs, _)) => self.put(Node::Map(pairs)),
            None => {}
        }
    }

    fn refuse(&mut self, why: &str, mark: Marker) {
        self.fault.get_or_insert_with(|| format!("line {}: {why}", mark.line()));
    }
}

impl MarkedEventReceiver for Builder {
    fn on_event(&mut self, event: Event, mark: Marker) {
        match event {
            // An empty value.
            Event::Scalar(text, TScalarStyle::Plain, ..) if text == "~" => {
                self.put(Node::Text(String::new()));
            }
            Event::Scalar(text, ..) => self.put(Node::Text(text)),
            Event::SequenceStart(..) => self.begin(OpenNode::List(Vec::new()), mark),
            Event::MappingStart(..) => self.begin(OpenNode::Map(Vec::new(), None), mark),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(_) => {
                self.refuse("aliases (*name) are not read", mark);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_text_however_they_are_written() {
        let text = "version: 0.4\nname: 'a'\nsave: '\"\"'\nlong: >\n  one\n  two\nwords: plain\n  over lines\n\
                    list: [1, \"2\"]\nflag: yes\n";
        let node = Node::parse(text).unwrap();
        let of = |key: &str| node.get(key).and_then(Node::text).map(str::trim_end);
        assert_eq!(of("version"), Some("0.4"));
        assert_eq!((of("save"), of("flag")), (Some("\"\""), Some("yes")));
        assert_eq!((of("long"), of("words")), (Some("one two"), Some("plain over lines")));
        assert_eq!(node.get("list").unwrap().members().len(), 2);
    }

    #[test]
    fn what_would_grow_without_end_is_refused() {
        let bomb = "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        assert_eq!(Node::parse(bomb).unwrap_err(), "line 2: aliases (*name) are not read");
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        assert!(Node::parse(&deep).is_err());
        assert!(Node::parse("").is_err() && Node::parse("a: [").is_err());
    }
}
