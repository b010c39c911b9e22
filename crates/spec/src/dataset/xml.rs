//! Rows from the elements of an XML file, such as a dump of Wikipedia's abstracts.
//!
//! Every element of one name is a row, at any depth, and its child elements are its fields. If a row has
//! several of one name, the first counts; a child with children is their whole text. The file is streamed: only
//! the rows are kept.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use naming::{DATASET, Text, XML_ROOT_ELEMENT, text};
use quick_xml::Reader;
use quick_xml::errors::{Error, SyntaxError};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};
use workload::Dataset;

/// Reads the elements called `row`. A last one that the file cuts off is left out, as in
/// valkey-benchmark.
///
/// # Errors
/// Returns the name, the place and the reason if it cannot be read.
pub(crate) fn read(path: &Path, row: &str, rows_max: usize) -> Result<Dataset, Text> {
    let fault = |what: &dyn Display| text!("{DATASET} {}: {what}", path.display());
    let mut reader = Reader::from_file(path).map_err(|error| fault(&error))?;
    let mut table = Table::default();
    let mut buffer = Vec::new();
    while table.rows.len() < rows_max {
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => break,
            Ok(event) => table.take(&event, row),
            Err(Error::Syntax(syntax)) if is_cut_off(syntax) && !table.rows.is_empty() => break,
            Err(error) => {
                let at = reader.error_position();
                return Err(fault(&format!("{error}, at byte {at}")));
            }
        }
        buffer.clear();
    }
    if table.rows.is_empty() {
        return Err(fault(&text!("it has no element <{row}>, which {XML_ROOT_ELEMENT} names")));
    }
    if table.columns.is_empty() {
        return Err(fault(&format!("<{row}> has no child elements, so there are no fields")));
    }
    Ok(Dataset::new(path.display().to_string(), table.columns, table.rows)?)
}

/// Returns whether the file ends within markup.
fn is_cut_off(syntax: SyntaxError) -> bool {
    syntax != SyntaxError::InvalidBangMarkup
}

/// Table that was read so far.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    places: HashMap<String, usize>,
    rows: Vec<Vec<Vec<u8>>>,
    within: Option<Row>,
}

/// The row that is being read.
#[derive(Default)]
struct Row {
    cells: Vec<Option<Vec<u8>>>,
    /// The elements that are open, each with its column unless that was filled before.
    open: Vec<Option<usize>>,
}

impl Table {
    fn take(&mut self, event: &Event<'_>, row: &str) {
        match event {
            Event::Start(element) => self.start(element.name().as_ref(), row),
            Event::Empty(element) => {
                self.start(element.name().as_ref(), row);
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(text),
            Event::CData(text) => self.text(text),
            Event::GeneralRef(entity) => self.text(&resolved(entity)),
            _ => {}
        }
    }

    fn start(&mut self, name: &str, row: &str) {
        let Some(within) = &mut self.within else {
            if name == row {
                self.within = Some(Row::default());
            }
            return;
        };
        let column = match self.places.get(name) {
            Some(column) => *column,
            None => {
                self.columns.push(name.to_owned());
                self.places.insert(name.to_owned(), self.columns.len() - 1);
                self.columns.len() - 1
            }
        };
        if within.cells.len() <= column {
            within.cells.resize(column + 1, None);
        }
        let cell = &mut within.cells[column];
        within.open.push(cell.is_none().then_some(column));
        cell.get_or_insert_default();
    }

    fn end(&mut self) {
        let Some(within) = &mut self.within else { return };
        if within.open.pop().is_none() {
            let cells = std::mem::take(&mut within.cells).into_iter();
            self.rows.push(cells.map(Option::unwrap_or_default).collect());
            self.within = None;
        }
    }

    fn text(&mut self, text: &str) {
        let Some(within) = &mut self.within else { return };
        for column in within.open.iter().flatten() {
            if let Some(cell) = &mut within.cells[*column] {
                cell.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Resolves `&amp;`, `&#252;` and the like. Entities that only the file could define stay unchanged.
fn resolved(entity: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return character.to_string();
    }
    let name: &str = entity;
    resolve_predefined_entity(name).map_or_else(|| format!("&{name};"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Dataset, Text> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.xml");
        std::fs::write(&path, text).unwrap();
        read(&path, "doc", usize::MAX)
    }

    fn cell(data: &Dataset, row: u64, column: &str) -> String {
        let at = data.columns().iter().position(|c| c == column).unwrap();
        String::from_utf8(data.cell(row, at).to_vec()).unwrap()
    }

    #[test]
    fn rows_stand_wherever_they_stand() {
        let data = rows(
            "<?xml version=\"1.0\"?><feed><doc id='1'><title>A &amp; B&#252; &nbsp;</title>\
             <links><sublink><anchor>x</anchor></sublink><sublink><anchor>y</anchor></sublink>\
             </links></doc><part><doc><title lang=\"de\"><![CDATA[<b>]]></title><url/></doc></part>\
             <other>no</other></feed>",
        );
        let data = data.unwrap();
        assert_eq!(data.columns(), ["title", "links", "sublink", "anchor", "url"]);
        assert_eq!(data.len(), 2);
        assert_eq!(cell(&data, 0, "title"), "A & Bü &nbsp;");
        assert_eq!((cell(&data, 0, "anchor"), cell(&data, 0, "links")), ("x".into(), "xy".into()));
        assert_eq!((cell(&data, 1, "title"), cell(&data, 1, "url")), ("<b>".into(), "".into()));
    }

    #[test]
    fn a_file_of_many_roots_and_one_that_is_cut_off_are_read() {
        let whole = "<doc><t>1</t></doc>\n<doc><t>2</t></doc>\n";
        for end in ["", "<doc><t>3", "<doc><t>3</t></do", "<doc><t a='"] {
            assert_eq!(rows(&format!("{whole}{end}")).unwrap().len(), 2, "{end}");
        }
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        for (text, says) in [
            ("<doc><t>1</x></doc>", "at byte"),
            ("<page><t>1</t></page>", "<doc>, which --xml-root-element names"),
            ("<doc>text</doc>", "no fields"),
            ("", "<doc>"),
        ] {
            let error = rows(text).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("a.xml"), "{error}");
        }
    }
}
