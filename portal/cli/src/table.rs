//! Tables, laid out for where they go: whole in a pipe or a file, no wider than the window on a terminal.

use rp_base::text;
use serde_json::Value;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The most characters of a cell.
const MOST: usize = 10_000;
/// Blanks between two columns.
const GAP: usize = 2;
/// A shortened column keeps at least so many cells of the terminal.
const LEAST: usize = 8;
/// Stands where text was left out.
const MARK: char = '…';

/// A column: its heading, and where its text comes from. Columns stand in the order of their importance: in a narrow window the
/// last one is shortened first.
pub(crate) type Column<'a> = (&'a str, fn(&Value) -> String);

/// Rows under headings, not laid out yet.
#[derive(Debug)]
pub(crate) struct Table {
    /// The headings, then the rows; each as long as the first.
    rows: Vec<Vec<String>>,
}

/// Rows under headings. Cells are cleaned: a name must not steer the terminal, and no cell holds a tab.
pub(crate) fn table(rows: &[Value], columns: &[Column<'_>]) -> Table {
    let mut cells: Vec<Vec<String>> =
        vec![columns.iter().map(|(heading, _)| (*heading).to_owned()).collect()];
    let clean = |text: String| text::clean(&text.replace('\t', " "), MOST);
    cells.extend(rows.iter().map(|row| columns.iter().map(|(_, cell)| clean(cell(row))).collect()));
    Table { rows: cells }
}

impl Table {
    /// The lines, columns two blanks apart. `width` is that of the terminal in cells, which no line exceeds; without it every
    /// cell is whole.
    pub(crate) fn lines(&self, width: Option<usize>) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let cell = shortened(cell, *width);
                line.push_str(&cell);
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + GAP));
            }
            let line = line.trim_end();
            // A window narrower than all headings: the line ends at its edge.
            out.push_str(&width.map_or_else(|| line.to_owned(), |width| shortened(line, width)));
            out.push('\n');
        }
        out
    }

    /// The width of each column.
    fn widths(&self, most: Option<usize>) -> Vec<usize> {
        let Some(headings) = self.rows.first() else { return Vec::new() };
        let widest = |n: usize| self.rows.iter().map(|row| row[n].width()).max().unwrap_or_default();
        let mut widths: Vec<usize> = (0..headings.len()).map(widest).collect();
        let Some(most) = most else { return widths };
        let gaps = GAP * widths.len().saturating_sub(1);
        let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(most);
        for (width, heading) in widths.iter_mut().zip(headings).rev() {
            let least = heading.width().max(LEAST);
            let less = over.min(width.saturating_sub(least));
            *width -= less;
            over -= less;
        }
        widths
    }
}

/// The text in at most `width` cells of a terminal; a mark stands for what is left out.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or_default();
        if used > width {
            break;
        }
        out.push(letter);
    }
    if width > 0 {
        out.push(MARK);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::cell;

    const COLUMNS: [Column<'_>; 3] = [
        ("NAME", |row| cell(row, &["/name"])),
        ("STATE", |row| cell(row, &["/state"])),
        ("RESOURCE ID", |row| cell(row, &["/id"])),
    ];

    fn example() -> Table {
        let id = "/subscriptions/00000000/resourcegroups/g";
        let rows = json!([
            {"name": "harbor", "state": "Succeeded", "id": id},
            {"name": "漁港", "state": "Failed\tlong ago", "id": id},
        ]);
        table(rows.as_array().unwrap(), &COLUMNS)
    }

    #[test]
    fn a_pipe_gets_whole_cells_without_tabs() {
        let text = example().lines(None);
        assert_eq!(text.matches("/subscriptions/00000000/resourcegroups/g\n").count(), 2, "{text}");
        assert!(!text.contains('\t') && !text.contains(MARK), "{text}");
        assert!(text.contains("漁港    Failed long ago"), "a wide letter takes two cells: {text}");
        let long = json!([{ "name": "x".repeat(3_000) }]);
        assert!(table(long.as_array().unwrap(), &COLUMNS).lines(None).contains(&"x".repeat(3_000)));
    }

    #[test]
    fn no_line_is_wider_than_the_window_and_the_last_column_is_shortened_first() {
        for width in 1..100 {
            let text = example().lines(Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
            assert_eq!(text.lines().count(), 3, "{width}: {text}");
        }
        let text = example().lines(Some(40));
        assert!(text.contains("harbor  Succeeded        /subscriptions…"), "{text}");
        let text = example().lines(Some(30));
        assert!(text.contains("harbor  Succeeded  /subscript…"), "{text}");
        assert!(text.contains("漁港    Failed l…  /subscript…"), "{text}");
        assert_eq!(example().lines(Some(100)), example().lines(None));
    }

    #[test]
    fn what_is_left_out_is_marked() {
        assert_eq!(shortened("harbor", 6), "harbor");
        assert_eq!(shortened("harbor", 4), "har…");
        assert_eq!(shortened("漁港", 3), "漁…");
        assert_eq!((shortened("harbor", 1).as_str(), shortened("harbor", 0).as_str()), ("…", ""));
    }
}
