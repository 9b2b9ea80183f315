//! The names that a mistyped one may mean.

use std::sync::Arc;

use super::{Entry, Snapshot};

/// Longer texts are not compared: they are no name.
const MOST_TEXT: usize = 90;
/// A shorter common beginning says nothing.
const BEGINNING: usize = 3;

/// Up to `limit` clusters whose name or infrastructure id is close to the text, the closest first. Close is at most one
/// slip for each four characters, three at most: a letter changed, left out, put in, or two exchanged. The text may
/// also be a part of the name. Where none is close: those with the longest common beginning.
pub fn nearest(text: &str, snapshot: &Snapshot, limit: usize) -> Vec<Arc<Entry>> {
    let wanted = text.trim().to_lowercase();
    let letters: Vec<char> = wanted.chars().collect();
    if letters.len() < BEGINNING || letters.len() > MOST_TEXT {
        return Vec::new();
    }
    let most = (letters.len() / 4).min(3);
    let mut found: Vec<(usize, usize, &Arc<Entry>)> = Vec::new();
    for entry in &snapshot.entries {
        let names = [entry.id.name(), &entry.infra_id];
        let slips = names.into_iter().filter(|name| !name.is_empty()).map(|name| slips(&letters, name)).min();
        if let Some(slips) = slips.filter(|slips| *slips <= most) {
            found.push((slips, entry.id.name().len().abs_diff(wanted.len()), entry));
        }
    }
    if found.is_empty() {
        return by_beginning(&wanted, snapshot, limit);
    }
    found.sort_by(|a, b| (a.0, a.1, a.2.id.key()).cmp(&(b.0, b.1, b.2.id.key())));
    found.into_iter().take(limit).map(|(_, _, entry)| Arc::clone(entry)).collect()
}

/// Those that share the longest beginning with the text.
fn by_beginning(wanted: &str, snapshot: &Snapshot, limit: usize) -> Vec<Arc<Entry>> {
    let common =
        |name: &str| name.bytes().zip(wanted.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let longest = snapshot.entries.iter().map(|entry| common(entry.id.name())).max().unwrap_or_default();
    if longest < BEGINNING {
        return Vec::new();
    }
    let alike = snapshot.entries.iter().filter(|entry| common(entry.id.name()) == longest);
    alike.take(limit).cloned().collect()
}

/// How many slips lead from the letters to the part of the name that is closest to them.
fn slips(letters: &[char], name: &str) -> usize {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // Rows of the table of distances: a part may begin anywhere, so the first row costs nothing.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = vec![0; name.len() + 1];
    let mut letter_before = None;
    for (done, letter) in letters.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(done + 1);
        let mut in_name_before = None;
        for (at, in_name) in name.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let changed = get(&last, at) + usize::from(letter != in_name);
            let mut best = changed.min(get(&last, at + 1) + 1).min(get(&row, at) + 1);
            if at > 0 && Some(in_name) == letter_before && in_name_before == Some(letter) {
                best = best.min(get(&before, at - 1) + 1);
            }
            row.push(best);
            in_name_before = Some(in_name);
        }
        letter_before = Some(letter);
        before = std::mem::replace(&mut last, row);
    }
    last.into_iter().min().unwrap_or(letters.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str, name: &str) -> usize {
        slips(&text.chars().collect::<Vec<_>>(), name)
    }

    #[test]
    fn slips_are_counted_to_the_closest_part_of_a_name() {
        assert_eq!(count("harbor", "harbor-prod-weu-01"), 0);
        assert_eq!(count("prod", "harbor-prod-weu-01"), 0, "a part in the middle");
        assert_eq!(count("habror-prod", "harbor-prod-weu-01"), 1, "two letters exchanged");
        assert_eq!(count("harbr-prod", "harbor-prod-weu-01"), 1, "one left out");
        assert_eq!(count("harboor-prod", "harbor-prod-weu-01"), 1, "one put in");
        assert_eq!(count("hxrbor-pxod", "harbor-prod-weu-01"), 2, "two changed");
        assert_eq!(count("abc", ""), 3);
    }
}
