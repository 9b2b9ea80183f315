//! Cells and lines of CSV (RFC 4180), for spreadsheets and scripts.

/// A cell that begins with one of these, full-width signs among them, is a formula to some spreadsheet.
pub const FORMULA: [char; 11] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A line's cells, guarded, without the line's end.
pub fn row<S: AsRef<str>>(out: &mut String, cells: impl IntoIterator<Item = S>) {
    for (at, text) in cells.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        cell(out, text.as_ref());
    }
}

/// A cell that no spreadsheet runs: what begins like a formula gets an apostrophe before it, and quotes.
pub fn cell(out: &mut String, text: &str) {
    if text.starts_with(FORMULA) {
        quoted(out, "'", text);
    } else {
        value(out, text);
    }
}

/// A cell as it is, in quotes only where it needs them: for numbers, whose sign is no formula.
pub fn value(out: &mut String, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) {
        quoted(out, "", text);
    } else {
        out.push_str(text);
    }
}

fn quoted(out: &mut String, mark: &str, text: &str) {
    out.push('"');
    out.push_str(mark);
    for (at, part) in text.split('"').enumerate() {
        out.push_str(if at > 0 { "\"\"" } else { "" });
        out.push_str(part);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl Fn(&mut String, &str), text: &str) -> String {
        let mut out = String::new();
        write(&mut out, text);
        out
    }

    /// Reads a line back.
    fn read(line: &str) -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut letters = line.chars().peekable();
        let mut inside = false;
        while let Some(c) = letters.next() {
            match c {
                '"' if inside && letters.next_if_eq(&'"').is_some() => cells.last_mut().unwrap().push('"'),
                '"' => inside = !inside,
                ',' if !inside => cells.push(String::new()),
                c => cells.last_mut().unwrap().push(c),
            }
        }
        cells
    }

    #[test]
    fn cells_cannot_break_out_or_run() {
        let mut out = String::new();
        row(&mut out, ["a", "b,\"c\"\nd", "=cmd()", ""]);
        assert_eq!(out, "a,\"b,\"\"c\"\"\nd\",\"'=cmd()\",");
        assert_eq!(written(cell, "plain"), "plain");
        assert_eq!(written(cell, "a,b \"c\""), "\"a,b \"\"c\"\"\"");
        assert_eq!(written(cell, "=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
        for start in ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"] {
            assert_eq!(written(cell, &format!("{start}x")), format!("\"'{start}x\""));
        }
        assert_eq!(written(cell, "a\n=b"), "\"a\n=b\"", "a line within quotes begins no cell");
        assert_eq!(written(value, "-1.5"), "-1.5");
        assert_eq!(written(value, "1,\"2"), "\"1,\"\"2\"");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(texts in prop::collection::vec("[a\",\n\r=\\PC]{0,6}", 1..5)) {
            let mut out = String::new();
            row(&mut out, &texts);
            let told = texts.iter().map(|text| {
                if text.starts_with(FORMULA) { format!("'{text}") } else { text.clone() }
            });
            prop_assert_eq!(read(&out), told.collect::<Vec<_>>());
        }
    }
}
