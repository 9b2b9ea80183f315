//! Lists of a cluster's objects. A column is declared once: its head, its cell, its order, and the words that the filter
//! finds. The table, its heads, the keys of `sort` and the filter come from the declaration.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;

use crate::table::{Cell, Column, Table, TablePage, TableQuery, natural};

/// An object as a list shows it.
pub trait Row {
    /// Its name.
    fn name(&self) -> &str;

    /// It needs attention.
    fn wrong(&self) -> bool;

    /// How bad it is: 0 is worst. Rows stand in this order as long as no column is chosen.
    fn rank(&self) -> u8 {
        u8::from(!self.wrong())
    }
}

/// What cells need besides their row.
pub(super) struct ListContext<'a> {
    /// Path of the cluster's pages.
    pub(super) base: &'a str,
    /// The rows are the last known ones.
    pub(super) stale: bool,
}

/// A column of a list of `R`.
pub(super) struct ListColumn<R: 'static> {
    head: Column,
    content: Content<R>,
    order: Option<fn(&R, &R) -> Ordering>,
    words: Option<fn(&R) -> Cow<'_, str>>,
}

/// What the cells of a column hold.
enum Content<R: 'static> {
    /// The column's words.
    Words,
    /// What the function makes.
    Cell(fn(&R, &ListContext<'_>) -> Cell),
    /// There are none: rows can be sorted and filtered by the column, and the table does not have it.
    Hidden,
}

impl<R: 'static> ListColumn<R> {
    /// A column of cells that it makes. It has no order and no words yet; sorted by its key, the worst rows come first.
    pub(super) const fn new(
        key: &'static str,
        head: &'static str,
        cell: fn(&R, &ListContext<'_>) -> Cell,
    ) -> Self {
        Self { head: Column::new(key, head), content: Content::Cell(cell), order: None, words: None }
    }

    /// A column of words: shown as text, found by the filter, in natural order.
    pub(super) const fn text(key: &'static str, head: &'static str, words: fn(&R) -> Cow<'_, str>) -> Self {
        Self { head: Column::new(key, head), content: Content::Words, order: None, words: Some(words) }
    }

    /// Words that are found and sorted by, if it has a key, and not shown.
    pub(super) const fn hidden(key: &'static str, words: fn(&R) -> Cow<'_, str>) -> Self {
        Self { head: Column::new(key, ""), content: Content::Hidden, order: None, words: Some(words) }
    }

    /// With words that are found and sorted by.
    pub(super) const fn words(self, words: fn(&R) -> Cow<'_, str>) -> Self {
        Self { words: Some(words), ..self }
    }

    /// In an order of its own.
    pub(super) const fn order(self, order: fn(&R, &R) -> Ordering) -> Self {
        Self { order: Some(order), ..self }
    }

    /// Leaves narrower pages.
    pub(super) const fn rank(self, rank: u8) -> Self {
        Self { head: self.head.rank(rank), ..self }
    }

    /// Of short words.
    pub(super) const fn short(self) -> Self {
        Self { head: self.head.short(), ..self }
    }

    /// Of numbers.
    pub(super) const fn number(self) -> Self {
        Self { head: self.head.number(), ..self }
    }

    fn compare(&self, a: &R, b: &R) -> Option<Ordering> {
        match (self.order, self.words) {
            (Some(order), _) => Some(order(a, b)),
            (None, Some(words)) => Some(natural(&words(a), &words(b))),
            (None, None) => None,
        }
    }

    /// The cell of a row; none where the table does not have the column.
    fn cell(&self, row: &R, context: &ListContext<'_>) -> Option<Cell> {
        match self.content {
            Content::Words => {
                Some(Cell::Text(self.words.map(|words| words(row).into_owned()).unwrap_or_default()))
            }
            Content::Cell(cell) => Some(cell(row, context)),
            Content::Hidden => None,
        }
    }
}

/// The columns of a list, in the order of the table.
pub(super) struct List<R: 'static> {
    pub(super) columns: &'static [ListColumn<R>],
}

impl<R: Row + 'static> List<R> {
    fn heads(&self) -> Vec<Column> {
        let shown = self.columns.iter().filter(|column| !matches!(column.content, Content::Hidden));
        shown.map(|column| column.head).collect()
    }

    /// Heads of the rows that are awaited.
    pub(super) fn awaited(&self) -> Vec<&'static str> {
        Column::awaited(&self.heads())
    }

    /// The rows that the query asks for, shared or not.
    pub(super) fn choose<'a, T: Borrow<R>>(&self, rows: &'a [T], query: &TableQuery) -> TablePage<'a, T> {
        let keep = |row: &T| {
            let row: &R = row.borrow();
            (!query.problems || row.wrong()) && self.finds(row, query)
        };
        query.apply(rows, keep, |key, a, b| self.compare(key, a.borrow(), b.borrow()))
    }

    fn finds(&self, row: &R, query: &TableQuery) -> bool {
        let words: Vec<Cow<'_, str>> =
            self.columns.iter().filter_map(|column| Some((column.words?)(row))).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        query.has(&words)
    }

    fn compare(&self, key: &str, a: &R, b: &R) -> Ordering {
        let column = self.columns.iter().find(|column| !key.is_empty() && column.head.key == key);
        column.and_then(|column| column.compare(a, b)).unwrap_or_else(|| a.rank().cmp(&b.rank()))
    }

    /// The table of these rows. Without a query its heads do not sort.
    pub(super) fn table<'a, T: Borrow<R> + 'a>(
        &self,
        caption: &str,
        rows: impl Iterator<Item = &'a T>,
        context: &ListContext<'_>,
        query: Option<&TableQuery>,
    ) -> Table {
        let cells = |row: &T| {
            let row: &R = row.borrow();
            self.columns.iter().filter_map(|column| column.cell(row, context)).collect()
        };
        Table {
            caption: caption.to_owned(),
            columns: self.heads(),
            rows: rows.map(cells).collect(),
            query: query.cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SampleRow(&'static str, &'static str);

    impl Row for SampleRow {
        fn name(&self) -> &str {
            self.0
        }

        fn wrong(&self) -> bool {
            self.0.starts_with('!')
        }
    }

    type SampleColumn = ListColumn<SampleRow>;

    static SAMPLES: List<SampleRow> = List {
        columns: &[
            SampleColumn::text("name", "Name", |row| row.0.into()),
            SampleColumn::new("state", "State", |_, context| Cell::Text(context.base.to_owned())).rank(2),
            SampleColumn::hidden("size", |row| row.1.into()).order(|a, b| a.1.len().cmp(&b.1.len())),
        ],
    };

    fn names(query: &[(&str, &str)]) -> Vec<&'static str> {
        let rows = [SampleRow("a-10", "xxx"), SampleRow("a-9", "x"), SampleRow("!b", "xx")];
        let query = TableQuery::read("/things", query.iter().copied());
        SAMPLES.choose(&rows, &query).rows.iter().map(|row| row.0).collect()
    }

    #[test]
    fn a_list_is_sorted_and_filtered_by_its_columns() {
        assert_eq!(names(&[]), ["!b", "a-9", "a-10"]);
        assert_eq!(names(&[("sort", "-name")]), ["a-10", "a-9", "!b"]);
        assert_eq!(names(&[("sort", "state")]), names(&[]), "no order of its own: the worst first");
        assert_eq!(names(&[("sort", "size")]), ["a-9", "!b", "a-10"], "a column that is not shown");
        assert_eq!(names(&[("q", "XX")]), ["!b", "a-10"]);
        assert_eq!(names(&[("show", "problems")]), ["!b"]);
    }

    #[test]
    fn a_table_has_the_columns_that_are_shown() {
        let context = ListContext { base: "/c", stale: false };
        let table = SAMPLES.table("Things", [SampleRow("a", "x")].iter(), &context, None);
        assert_eq!(table.columns.iter().map(|column| column.words).collect::<Vec<_>>(), ["Name", "State"]);
        assert!(matches!(&table.rows[..], [row] if row.len() == 2));
        assert_eq!(SAMPLES.awaited(), ["Name"]);
    }
}
