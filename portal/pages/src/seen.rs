//! Pages that ask now and then whether they have changed.

use serde::Deserialize;

/// The address at which a page polls for changes.
pub(crate) fn seen_at(path: &str, digest: &str) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}seen={}", if digest.is_empty() { "none" } else { digest })
}

/// What the page has already.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SeenQuery {
    pub seen: String,
}
