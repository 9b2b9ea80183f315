//! A file as paragraphs: a citation may go on in the next line of a comment or of a document.

use std::path::Path;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Paragraph {
    /// The number of its first line.
    pub(super) line: usize,
    /// Its lines, joined by blanks, without the signs of comments.
    pub(super) text: String,
}

/// In Markdown a paragraph ends at an empty line; elsewhere it is the lines of a comment, or one line of code.
pub(super) fn paragraphs(file: &Path, text: &str) -> Vec<Paragraph> {
    let markdown = file.extension().is_some_and(|extension| extension == "md");
    let mut found = Vec::new();
    let mut open = Paragraph::default();
    for (number, line) in (1..).zip(text.lines()) {
        let part = if markdown { Some(line) } else { comment(line) };
        match part.map(str::trim) {
            Some(part) if !part.is_empty() => {
                if open.text.is_empty() {
                    open.line = number;
                } else {
                    open.text.push(' ');
                }
                open.text.push_str(part);
            }
            other => {
                found.extend(Some(std::mem::take(&mut open)).filter(|open| !open.text.is_empty()));
                let code = other.is_none();
                found.extend(code.then(|| Paragraph { line: number, text: line.to_owned() }));
            }
        }
    }
    found.extend(Some(open).filter(|open| !open.text.is_empty()));
    found
}

/// The text of a line that is a comment as a whole.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["///", "//!", "//", "# ", "-- ", "* "].iter().find_map(|sign| line.strip_prefix(sign))
}
