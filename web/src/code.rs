//! Text and trees of objects as markup: spans of a log line with its colours, a tree of values, the rows of a
//! comparison. Everything comes from outside and is escaped here.

use std::fmt::Write as _;

use askama::filters::Safe;

use crate::text;

/// Deepest level of a tree that is drawn; deeper levels are only in the YAML.
const DEEPEST: usize = 24;

/// A piece of a log line in one colour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Class of the colour, `a1` to `a7`, with `ab` for bold; empty for plain text.
    pub class: String,
    /// The text, without control characters.
    pub text: String,
}

/// Splits a line at its colours (SGR, ECMA-48 §8.3.117). Other escape sequences and control characters vanish:
/// nothing of a log may steer what shows it.
#[must_use]
pub fn ansi(line: &str) -> Vec<Span> {
    let (mut spans, mut now) = (Vec::new(), Span::default());
    let (mut colour, mut bold) = (0_u8, false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                let Some((parameters, last)) = sequence(&mut rest) else { continue };
                if last != 'm' {
                    continue;
                }
                sgr(&parameters, &mut colour, &mut bold);
                let class = class_of(colour, bold);
                if class != now.class {
                    if !now.text.is_empty() {
                        spans.push(std::mem::take(&mut now));
                    }
                    now.class = class;
                }
            }
            '\t' => now.text.push('\t'),
            c if c.is_control() => {}
            c => now.text.push(c),
        }
    }
    if !now.text.is_empty() {
        spans.push(now);
    }
    spans
}

/// Reads an escape sequence after its ESC; gives parameters and final byte of a control sequence.
fn sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<(String, char)> {
    match rest.next()? {
        '[' => {
            let mut parameters = String::new();
            while let Some(c) = rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)) {
                if parameters.len() < 64 {
                    parameters.push(c);
                }
            }
            let last = rest.next_if(|c| ('\u{40}'..='\u{7e}').contains(c))?;
            Some((parameters, last))
        }
        // A string for the terminal: up to BEL or ST.
        ']' | 'P' | 'X' | '^' | '_' => {
            while let Some(c) = rest.next() {
                if c == '\u{7}' {
                    break;
                }
                if c == '\u{1b}' {
                    rest.next_if_eq(&'\\');
                    break;
                }
            }
            None
        }
        _ => None,
    }
}

fn sgr(parameters: &str, colour: &mut u8, bold: &mut bool) {
    let mut codes = parameters.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => (*colour, *bold) = (0, false),
            1 => *bold = true,
            22 => *bold = false,
            31..=37 => *colour = code - 30,
            91..=97 => *colour = code - 90,
            30 | 39 | 90 => *colour = 0,
            // A colour of a palette or of three parts: its numbers are no codes.
            38 | 48 => match codes.next() {
                Some(5) => drop(codes.next()),
                Some(2) => drop(codes.nth(2)),
                _ => {}
            },
            _ => {}
        }
    }
}

fn class_of(colour: u8, bold: bool) -> String {
    match (colour, bold) {
        (0, false) => String::new(),
        (0, true) => "ab".to_owned(),
        (n, false) => format!("a{n}"),
        (n, true) => format!("a{n} ab"),
    }
}

/// A value of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Text, a number, a truth; empty text is shown as `""`.
    Leaf(String),
    /// Members by name.
    Map(Vec<(String, Self)>),
    /// Elements.
    List(Vec<Self>),
}

impl Node {
    /// Nested lists of names and values. Long values are cut with their size.
    #[must_use]
    pub fn html(&self) -> Safe<String> {
        let mut out = String::new();
        self.write(&mut out, 0);
        Safe(out)
    }

    fn write(&self, out: &mut String, depth: usize) {
        if depth >= DEEPEST {
            out.push_str("<span class=\"mute\">…</span>");
            return;
        }
        match self {
            Self::Leaf(text) if text.is_empty() => out.push_str("<span class=\"mute\">\"\"</span>"),
            Self::Leaf(text) => {
                let _ = write!(out, "<span class=\"mono\">{}</span>", text::cut(text).0);
            }
            Self::Map(members) if members.is_empty() => out.push_str("<span class=\"mute\">{}</span>"),
            Self::List(elements) if elements.is_empty() => out.push_str("<span class=\"mute\">[]</span>"),
            Self::Map(members) => {
                out.push_str("<ul class=\"tree\">");
                for (name, value) in members {
                    let _ = write!(out, "<li><span class=\"key\">{}</span> ", text::cut(name).0);
                    value.write(out, depth + 1);
                    out.push_str("</li>");
                }
                out.push_str("</ul>");
            }
            Self::List(elements) => {
                out.push_str("<ol class=\"tree\">");
                for value in elements {
                    out.push_str("<li>");
                    value.write(out, depth + 1);
                    out.push_str("</li>");
                }
                out.push_str("</ol>");
            }
        }
    }
}

/// A row of two versions side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffRow {
    /// In both: numbers of the line before and after.
    Same(usize, usize, String),
    /// The line was replaced by another one.
    Changed(usize, String, usize, String),
    /// Only before.
    Removed(usize, String),
    /// Only after.
    Added(usize, String),
    /// So many equal lines are left out.
    Gap(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(line: &str) -> String {
        ansi(line).into_iter().map(|span| span.text).collect()
    }

    #[test]
    fn colours_are_kept_and_everything_else_is_dropped() {
        let spans = ansi("a \u{1b}[1;31mred\u{1b}[0m b\u{1b}[38;5;31mc\u{1b}[38;2;31;32;33md");
        let shown: Vec<(&str, &str)> = spans.iter().map(|s| (s.class.as_str(), s.text.as_str())).collect();
        assert_eq!(shown, [("", "a "), ("a1 ab", "red"), ("", " bcd")]);
        for attack in [
            "\u{1b}]0;title\u{7}x",
            "\u{1b}]8;;http://evil\u{1b}\\x",
            "\u{1b}[2J\u{1b}[Hx",
            "\u{1b}Pq\u{1b}\\x",
            "\u{1b}cx",
            "\u{8}\u{7f}\u{9b}x",
        ] {
            assert_eq!(plain(attack), "x", "{attack:?}");
        }
        assert_eq!(plain("\u{1b}[31"), "");
        assert_eq!(plain("\u{1b}"), "");
        assert_eq!(plain("a\tb"), "a\tb");
    }

    #[test]
    fn trees_are_escaped_cut_and_bounded() {
        let mut deep = Node::Leaf("end".into());
        for _ in 0..100 {
            deep = Node::List(vec![deep]);
        }
        assert!(deep.html().0.contains('…'));
        let node = Node::Map(vec![
            ("<a>".into(), Node::Leaf("\u{202e}<b>".into())),
            ("long".into(), Node::Leaf("x".repeat(1_000_000))),
            ("none".into(), Node::List(Vec::new())),
        ]);
        let html = node.html().0;
        assert!(html.len() < 2000 && html.contains("&lt;a&gt;") && html.contains("U+202E"), "{html}");
        assert!(html.contains("976.5 KiB in all"), "{html}");
    }
}
