//! Wrong passwords are counted per account and over all accounts, in windows of a minute.

use std::collections::HashMap;
use std::time::Duration;

use rp_base::Timestamp;

/// Wrong passwords for one name in a window.
const PER_NAME: u32 = 5;
/// Wrong passwords in a window, whatever the name.
const OVERALL: u32 = 200;
const WINDOW: Duration = Duration::from_mins(1);

/// Counts wrong passwords.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    since: Timestamp,
    all: u32,
    names: HashMap<String, u32>,
}

impl Attempts {
    /// Whether another try for `name` may be looked at now.
    pub(super) fn allowed(&mut self, name: &str, now: Timestamp) -> bool {
        if now.since(self.since) >= WINDOW {
            *self = Self { since: now, ..Self::default() };
        }
        self.all < OVERALL && self.names.get(name).copied().unwrap_or(0) < PER_NAME
    }

    /// Counts a wrong password. The table is bounded by [`OVERALL`].
    pub(super) fn wrong(&mut self, name: &str) {
        self.all += 1;
        *self.names.entry(name.to_owned()).or_default() += 1;
    }
}
