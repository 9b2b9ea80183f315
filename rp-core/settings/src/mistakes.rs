//! What is wrong with the settings, all of it, each with its place and what would be right.

use std::fmt;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// `section.key`; empty for a file that is no TOML.
    pub key: String,
    /// `aro.toml:12`, a name of the environment, a flag; empty when something is missing.
    pub place: String,
    /// What is wrong and what would be right. Never a secret.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.place, &self.key] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.message)
    }
}

/// Every mistake, in the order in which they were met; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", Self::lines(.0))]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    fn lines(mistakes: &[Mistake]) -> String {
        let count = mistakes.len();
        let plural = if count == 1 { "mistake" } else { "mistakes" };
        let mut out = format!("{count} {plural} in the settings");
        for mistake in mistakes {
            out.push_str("\n  ");
            out.push_str(&mistake.to_string());
        }
        out
    }
}
