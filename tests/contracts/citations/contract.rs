//! What of a contract can be cited: its numbered sections, the items of its list "Do better", rows of the checklist.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Contract {
    sections: BTreeSet<String>,
    /// The empty text is the list as a whole; a part has its letter and a blank before the number.
    items: BTreeSet<String>,
    rows: BTreeSet<String>,
}

impl Contract {
    pub(super) fn read(text: &str) -> Self {
        let mut contract = Self::default();
        // The part of "Do better" that the line is in.
        let mut part: Option<String> = None;
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()) {
                part = contract.heading(heading, part);
            } else if let (Some(part), Some(number)) = (&part, item(line)) {
                contract.items.insert(format!("{part}{number}"));
            } else if let Some(row) = row(line) {
                contract.rows.insert(row.to_owned());
            }
        }
        contract
    }

    fn heading(&mut self, heading: &str, part: Option<String>) -> Option<String> {
        let first = heading.split(' ').next().unwrap_or_default();
        let number = first.strip_suffix('.').unwrap_or(first);
        if number
            .split('.')
            .all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        {
            self.sections.insert(number.to_owned());
            return None;
        }
        if heading == "Do better" {
            self.items.insert(String::new());
            return Some(String::new());
        }
        let letter = number.len() == 1 && first.ends_with('.');
        part.map(|part| if letter { format!("{number} ") } else { part })
    }

    pub(super) fn has_section(&self, number: &str) -> bool {
        self.sections.contains(number)
    }

    pub(super) fn has_item(&self, item: &str) -> bool {
        self.items.contains(item)
    }

    pub(super) fn has_row(&self, id: &str) -> bool {
        self.rows.contains(id)
    }
}

/// The number of `1. …` or `| 1 | …`.
fn item(line: &str) -> Option<&str> {
    let (number, _) = match line.strip_prefix("| ") {
        Some(cells) => cells.split_once(" |")?,
        None => line.split_once(". ")?,
    };
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// The id of `| TL-02 | …`.
fn row(line: &str) -> Option<&str> {
    let (id, _) = line.strip_prefix("| ")?.split_once(" |")?;
    let (area, number) = id.split_once('-')?;
    let shaped = area.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.bytes().all(|byte| byte.is_ascii_digit());
    shaped.then_some(id)
}
