//! Pages that ask now and then whether they have changed.

use serde::Deserialize;

/// The address at which a page polls for changes.
pub(crate) fn poll_address(path: &str, digest: &str) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}seen={}", if digest.is_empty() { "none" } else { digest })
}

/// The query of a page that polls.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PollQuery {
    /// The digest or generation of what the page shows; empty: it is asked for the first time.
    pub seen: String,
}
