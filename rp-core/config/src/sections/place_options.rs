//! Places outside that a setting names as one text `WHERE#option=value&…`. URL fragments are never sent, so they hold the
//! options.

use std::collections::BTreeMap;

/// The options; each is taken once.
pub(crate) struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    /// Reads what stands after the `#`.
    ///
    /// # Errors
    /// An option without a value, or twice.
    pub(crate) fn read(text: &'a str) -> Result<Self, String> {
        let mut options = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or("options are key=value, with & between them")?;
            if options.insert(key, value).is_some() {
                return Err(format!("the option {key} stands there twice"));
            }
        }
        Ok(Self(options))
    }

    /// The value of an option that is there.
    pub(crate) fn take(&mut self, key: &str) -> Option<&'a str> {
        self.0.remove(key)
    }

    /// Whether an option is the second of two words; the first is the default.
    ///
    /// # Errors
    /// It is another word.
    pub(crate) fn word(&mut self, key: &str, words: [&'static str; 2]) -> Result<bool, String> {
        match self.take(key) {
            None => Ok(false),
            Some(word) if word == words[0] => Ok(false),
            Some(word) if word == words[1] => Ok(true),
            Some(_) => Err(format!("{key} is {} or {}", words[0], words[1])),
        }
    }

    /// Nothing may be left.
    ///
    /// # Errors
    /// Names an option that nobody took.
    pub(crate) fn rest(self) -> Result<(), String> {
        match self.0.keys().next() {
            Some(key) => Err(format!("there is no option {key} here")),
            None => Ok(()),
        }
    }
}

/// Checks the name that tells one place from another.
///
/// # Errors
/// Says what a name is.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 40 || !name.chars().all(good) {
        return Err("name is 1 to 40 of a-z, 0-9 and -".to_owned());
    }
    Ok(())
}
