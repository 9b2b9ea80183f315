//! Tables of objects: sorted, filtered and paged on the server by the page's query, so that they work
//! without scripts and with any number of rows.

use std::cmp::Ordering;

use crate::components::Meter;
use crate::parts::{Badge, Link};
use crate::text;

/// Rows of one page.
pub const PAGE: usize = 100;

/// Rows and columns. The first cell of a row is its heading.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// For those who hear it.
    pub caption: String,
    /// The heads.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Its key in the query; none: it cannot be sorted by.
    pub query: Option<TableQuery>,
}

/// A head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Column {
    /// The key of the column it is sorted by; empty: not sorted.
    pub key: &'static str,
    /// Its words.
    pub words: &'static str,
    /// Numbers stand at the end.
    pub number: bool,
    /// 2 and 3 leave narrower pages.
    pub rank: u8,
    /// Its words stay in one line.
    pub short: bool,
}

impl Column {
    /// A column that stays.
    #[must_use]
    pub const fn new(key: &'static str, words: &'static str) -> Self {
        Self { key, words, number: false, rank: 1, short: false }
    }

    /// One that leaves narrower pages.
    #[must_use]
    pub const fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// One of short words.
    #[must_use]
    pub const fn short(self) -> Self {
        Self { short: true, ..self }
    }

    /// One of numbers.
    #[must_use]
    pub const fn number(self) -> Self {
        Self { number: true, ..self }
    }

    /// Heads of the rows that are awaited: those that stay on every page.
    #[must_use]
    pub fn awaited(columns: &[Self]) -> Vec<&'static str> {
        columns.iter().filter(|column| column.rank < 2).map(|column| column.words).collect()
    }

    /// Its classes.
    pub(crate) fn class(&self) -> String {
        let names = [
            if self.number { "num" } else { "" },
            if self.short { "short" } else { "" },
            match self.rank {
                2 => "p2",
                3 => "p3",
                _ => "",
            },
        ];
        names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// A cell of a row.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Words; empty: a dash.
    Text(String),
    /// Something to paste; empty: a dash.
    Code(String),
    /// Words, and smaller ones under them.
    Two(String, String),
    /// A page of ours.
    Link(Link),
    /// A page of ours, and smaller words under it.
    LinkTwo(Link, String),
    /// States.
    Badges(Vec<Badge>),
    /// An instant; none: a dash.
    Time(Option<i64>),
    /// How long it has lasted; none: a dash.
    Lasting(Option<i64>),
    /// A number; none: nothing is known.
    Number(Option<i64>),
    /// Long words of the cluster.
    Quote(String),
    /// A share.
    Meter(Meter),
    /// What can be done with it: icon, words, address.
    Tools(Vec<(&'static str, String, String)>),
    /// Not known, and why.
    Unknown(&'static str),
}

/// The query of a table: filter, order and page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableQuery {
    /// The page without its query.
    pub path: String,
    /// Words that a row must have.
    pub q: String,
    /// The column; empty: worst first.
    pub sort: String,
    /// From the end.
    pub descending: bool,
    /// Only what needs attention.
    pub problems: bool,
    /// Which page, from 0.
    pub page: usize,
}

impl TableQuery {
    /// From a query string's pairs; what is unknown or too long is left out.
    pub fn read<'a>(
        path: impl Into<String>,
        pairs: impl IntoIterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
    ) -> Self {
        let mut query = Self { path: path.into(), ..Self::default() };
        for (key, value) in pairs {
            let value = value.as_ref();
            match key.as_ref() {
                "q" => query.q = value.trim().chars().take(200).collect(),
                "sort" => {
                    let (name, descending) =
                        value.strip_prefix('-').map_or((value, false), |name| (name, true));
                    query.sort = name.chars().filter(char::is_ascii_lowercase).take(20).collect();
                    query.descending = descending;
                }
                "show" => query.problems = value == "problems",
                "page" => query.page = value.parse::<usize>().unwrap_or(1).clamp(1, 10_000) - 1,
                _ => {}
            }
        }
        query
    }

    /// The page's address with this query.
    #[must_use]
    pub fn href(&self) -> String {
        let mut parts = Vec::new();
        if !self.q.is_empty() {
            parts.push(format!("q={}", text::encode(&self.q)));
        }
        if self.problems {
            parts.push("show=problems".to_owned());
        }
        if !self.sort.is_empty() {
            parts.push(format!("sort={}{}", if self.descending { "-" } else { "" }, self.sort));
        }
        if self.page > 0 {
            parts.push(format!("page={}", self.page + 1));
        }
        if parts.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, parts.join("&")) }
    }

    /// The query alone, for the stream of the same page.
    #[must_use]
    pub fn string(&self) -> String {
        self.href().get(self.path.len()..).unwrap_or_default().to_owned()
    }

    /// Sorted by that column, the other way round when it is already.
    #[must_use]
    pub fn by(&self, key: &str) -> Self {
        let descending = self.sort == key && !self.descending;
        Self { sort: key.to_owned(), descending, page: 0, ..self.clone() }
    }

    /// `aria-sort` of that column.
    pub(crate) fn sorted(&self, key: &str) -> Option<&'static str> {
        (self.sort == key).then_some(if self.descending { "descending" } else { "ascending" })
    }

    /// With or without the restriction to what needs attention.
    #[must_use]
    pub fn only(&self, problems: bool) -> Self {
        Self { problems, page: 0, ..self.clone() }
    }

    /// Whether a row has every word, wherever.
    #[must_use]
    pub fn has(&self, haystack: &[&str]) -> bool {
        let all = haystack.join("\n").to_lowercase();
        self.q.to_lowercase().split_whitespace().all(|word| all.contains(word))
    }

    /// Filters, sorts and cuts to one page. `worst` orders the rows as long as no column was chosen;
    /// equal rows are ordered by name.
    pub fn apply<'a, T>(
        &self,
        rows: &'a [T],
        keep: impl Fn(&T) -> bool,
        compare: impl Fn(&str, &T, &T) -> Ordering,
    ) -> TablePage<'a, T> {
        let mut found: Vec<&T> = rows.iter().filter(|row| keep(row)).collect();
        found.sort_by(|a, b| {
            let order = compare(&self.sort, a, b);
            let order = if self.descending { order.reverse() } else { order };
            order.then_with(|| compare("name", a, b))
        });
        let total = found.len();
        let from = self.page.saturating_mul(PAGE).min(total.saturating_sub(1) / PAGE * PAGE);
        let rows = found.into_iter().skip(from).take(PAGE).collect();
        TablePage { rows, from, total }
    }

    /// A page further or back.
    #[must_use]
    pub fn at_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }
}

/// The rows of one page.
#[derive(Clone, Debug)]
pub struct TablePage<'a, T> {
    /// The rows.
    pub rows: Vec<&'a T>,
    /// How many come before them.
    pub from: usize,
    /// How many there are in all.
    pub total: usize,
}

impl<T> TablePage<'_, T> {
    /// "101–200 of 300", or nothing where all are shown.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let shown = self.rows.len();
        (shown < self.total).then(|| format!("{}–{} of {}", self.from + 1, self.from + shown, self.total))
    }
}

/// Numbers within names in their order, so that worker-10 follows worker-9.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (Some(x), Some(y)) = (a.first(), b.first()) else { return a.len().cmp(&b.len()) };
        let (digits_a, digits_b) = (run(a), run(b));
        if digits_a > 0 && digits_b > 0 {
            let (one, rest_a) = a.split_at(digits_a);
            let (two, rest_b) = b.split_at(digits_b);
            let (p, q) = (unpadded(one), unpadded(two));
            let order = p.len().cmp(&q.len()).then_with(|| p.cmp(q));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (rest_a, rest_b);
            continue;
        }
        let order = x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase());
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (a.get(1..).unwrap_or_default(), b.get(1..).unwrap_or_default());
    }
}

fn run(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn unpadded(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_people_do() {
        let mut names = ["worker-10", "worker-9", "Worker-2", "a", "worker-09b", "worker-10-x", ""];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["", "a", "Worker-2", "worker-9", "worker-09b", "worker-10", "worker-10-x"]);
    }

    #[test]
    fn queries_are_read_and_written() {
        let read = |pairs: &[(&str, &str)]| TableQuery::read("/r/nodes", pairs.iter().copied());
        let query =
            read(&[("q", " a b&c "), ("sort", "-version"), ("show", "problems"), ("page", "3"), ("x", "y")]);
        assert_eq!(query.href(), "/r/nodes?q=a%20b%26c&show=problems&sort=-version&page=3");
        assert_eq!(query.by("version").href(), "/r/nodes?q=a%20b%26c&show=problems&sort=version");
        assert_eq!(query.sorted("version"), Some("descending"));
        assert_eq!(read(&[("page", "0"), ("sort", "<script>")]).href(), "/r/nodes?sort=script");
        assert_eq!(read(&[("page", "-9")]).string(), "");
        assert!(query.has(&["xA", "B&c"]) && !query.has(&["a", "b"]));
    }

    #[test]
    fn pages_end_where_the_rows_do() {
        let rows: Vec<usize> = (0..250).collect();
        let order = |_: &str, a: &usize, b: &usize| a.cmp(b);
        let page = |page| TableQuery { page, ..TableQuery::default() };
        let last = page(900).apply(&rows, |_| true, order).rows.first().map(|n| **n);
        assert_eq!(last, Some(200));
        let second = page(1).apply(&rows, |_| true, order);
        assert_eq!(second.words().as_deref(), Some("101–200 of 250"));
        let none = page(3).apply(&rows, |_| false, order);
        assert_eq!((none.total, none.rows.len()), (0, 0));
        let turned = TableQuery { sort: "x".into(), descending: true, ..TableQuery::default() };
        assert_eq!(turned.apply(&rows, |_| true, order).rows.first(), Some(&&249));
    }
}
