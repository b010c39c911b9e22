//! Definitions of the figures on a page: a sentence for a tooltip, and a link to the chapter with the
//! details.

/// Base address of the handbook's chapters that pages link to.
const DOCS: &str = "https://github.com/keystorm/keystorm/blob/main/docs/";

/// Returns the meaning of the figure with this name, and a link to its chapter. `None` for names that need no
/// definition.
pub(crate) fn definition(name: &str) -> Option<(String, String)> {
    let bare = name.strip_suffix(" (ms)").or_else(|| name.strip_suffix(" (UTC)")).unwrap_or(name);
    let (_, meaning, chapter) =
        definitions().find(|(names, ..)| names.contains(&bare.to_lowercase().as_str()))?;
    let meaning: Vec<&str> = meaning.split_whitespace().collect();
    Some((meaning.join(" "), format!("{DOCS}{chapter}")))
}

/// Names of figures, their meaning and the chapter, a paragraph each.
const DEFINITIONS: &str = include_str!("definitions.txt");

/// The names of each figure, its meaning, and its chapter.
fn definitions() -> impl Iterator<Item = (Vec<&'static str>, &'static str, &'static str)> {
    DEFINITIONS.trim_end().split("\n\n").filter_map(|paragraph| {
        let (names, rest) = paragraph.split_once('\n')?;
        let (meaning, chapter) = rest.rsplit_once('\n')?;
        Some((names.split(", ").collect(), meaning, chapter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_leads_to_a_heading_that_is_there() {
        let chapter = std::fs::read_to_string(
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measuring.md"),
        )
        .unwrap();
        let anchors: Vec<String> = chapter
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-"))
            .collect();
        for (names, meaning, place) in definitions() {
            let anchor = place.split_once('#').unwrap().1;
            assert!(anchors.iter().any(|known| known == anchor), "{names:?}: {place}");
            assert!(meaning.ends_with('.') && !names.is_empty());
            assert!(names.iter().all(|name| definition(name).is_some()), "{names:?}");
        }
        assert!(definition("p99 (ms)").is_some() && definition("test").is_none());
    }
}
