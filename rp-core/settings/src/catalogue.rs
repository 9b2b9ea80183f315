//! All sections: where keys are looked up.

use crate::reader::Reader;
use crate::setting::Key;
use crate::source::{self, Input, Values};
use crate::{Mistakes, reference};

/// Keys that are declared together.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub section: &'static str,
    /// Lines of the documentation, as they stand at the declaration.
    pub about: &'static [&'static str],
    pub keys: &'static [Key],
}

/// A section: the groups of its keys in the order of the reference. The first one says what it is about.
pub type Section = &'static [Group];

/// Every section, in the order of the reference.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue(pub &'static [Section]);

impl Catalogue {
    /// Reads settings: `assemble` takes the values of every section.
    ///
    /// # Errors
    /// Every mistake at once: unknown keys, wrong shapes, missing keys, keys that contradict each other.
    pub fn read<T>(self, input: &Input<'_>, assemble: impl FnOnce(&mut Reader) -> T) -> Result<T, Mistakes> {
        let (mut values, mut mistakes) = (Values::new(), Vec::new());
        if let Some(file) = &input.file {
            source::file(self, file, &mut values, &mut mistakes);
        }
        source::environment(self, input.environment, &mut values, &mut mistakes);
        source::overrides(self, input.overrides, &mut values, &mut mistakes);
        let needs = input.needs.iter().map(|key| (*key).to_owned()).collect();
        let mut reader = Reader::new(values, needs, mistakes);
        let settings = assemble(&mut reader);
        if reader.mistakes.is_empty() { Ok(settings) } else { Err(Mistakes(reader.mistakes)) }
    }

    /// Every key, in the order of the reference.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> {
        self.0.iter().flat_map(|section| section.iter()).flat_map(|group| group.keys)
    }

    /// The reference page, Markdown.
    pub fn reference(self) -> String {
        reference::markdown(self)
    }

    pub(crate) fn find(self, path: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.path == path)
    }

    pub(crate) fn has_section(self, name: &str) -> bool {
        self.0.iter().filter_map(|section| section.first()).any(|group| group.section == name)
    }

    /// The key nearest to a wrong one, when it is near enough to be meant.
    pub(crate) fn nearest(self, wrong: &str) -> Option<&'static str> {
        // Bounded, for the wrong key may be anything.
        let wrong: String = wrong.chars().take(80).collect();
        let last = wrong.rsplit('.').next().unwrap_or_default();
        let rank = |path: &'static str| {
            let name = path.rsplit('.').next().unwrap_or_default();
            let whole = distance(&wrong, path);
            // The right key in the wrong section, or the start of a longer key, is near too.
            let starts = last.len() >= 4 && (name.starts_with(last) || path.starts_with(&wrong));
            let near = if name == last || starts { whole.min(2) } else { whole };
            (near, whole, path)
        };
        let (near, _, path) = self.keys().map(|key| rank(key.path)).min()?;
        (near <= (wrong.len() / 4).max(2)).then_some(path)
    }
}

/// Levenshtein's distance: how many characters to put in, take out or change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
