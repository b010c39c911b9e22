//! Line breaking of words for a terminal.

/// Columns of a line of text, and of a table whose heads can be broken.
pub(super) const WIDTH: usize = 80;

/// Text in lines of at most `columns`, with `indent` spaces before all but the first. A longer word has its own line.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let (mut all, mut line, mut width) = (String::new(), String::new(), 0);
    for word in text.split_inclusive(' ') {
        let long = word.trim_end().chars().count();
        if width + long > columns && !line.trim().is_empty() {
            all = all + line.trim_end() + "\n";
            (line, width) = (" ".repeat(indent), indent);
        }
        line += word;
        width += word.chars().count();
    }
    all + line.trim_end() + "\n"
}

/// A name in lines of at most `width` columns.
pub(super) fn broken(name: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        for (at, part) in parts_of(word, width).into_iter().enumerate() {
            let gap = if at == 0 { " " } else { "" };
            let long = gap.len() + part.chars().count();
            match lines.last_mut() {
                Some(line) if line.chars().count() + long <= width => {
                    *line += gap;
                    *line += &part;
                }
                _ => lines.push(part),
            }
        }
    }
    lines
}

/// Parts of a word of at most `width` columns; a longer word is broken after hyphens and slashes, or else
/// anywhere.
fn parts_of(word: &str, width: usize) -> Vec<String> {
    if word.chars().count() <= width {
        return vec![word.to_owned()];
    }
    word.split_inclusive(['-', '/'])
        .flat_map(|part| -> Vec<String> {
            let letters: Vec<char> = part.chars().collect();
            letters.chunks(width).map(|chunk| chunk.iter().collect()).collect()
        })
        .collect()
}
