//! Queries of URLs.

use serde::{Deserialize, Deserializer};

use crate::text::encode;

/// Builds `path?a=1&b=2`; empty values are left out.
#[derive(Clone, Debug)]
pub struct Query {
    url: String,
    first: bool,
}

impl Query {
    /// Starts at a path without a query.
    #[must_use]
    pub fn new(path: &str) -> Self {
        Self { url: path.to_owned(), first: true }
    }

    /// Adds a pair.
    pub fn add(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        self.url.push(if self.first { '?' } else { '&' });
        self.first = false;
        self.url.push_str(name);
        self.url.push('=');
        self.url.push_str(&encode(value));
    }

    /// The URL.
    #[must_use]
    pub fn done(self) -> String {
        self.url
    }
}

/// Number of a page; what is not a number is the first page, for a mistyped URL is no error.
///
/// # Errors
/// Only those of the deserializer.
pub(crate) fn page_number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    Ok(text.trim().parse().unwrap_or(1).clamp(1, 1_000_000))
}

/// A switch: `true` or anything else.
///
/// # Errors
/// Only those of the deserializer.
pub(crate) fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(from)? == "true")
}
