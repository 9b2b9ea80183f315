//! What is recorded, and what that needs.

use std::time::Duration;

use rp_audit::Audit;
use rp_base::{SharedClock, SharedRandom};
use rp_database::SharedStore;
use rp_metrics::Registry;
use rp_seal::Keyring;

use crate::SharedStorage;

/// Whether sessions are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// None is.
    #[default]
    Off,
    /// All are; one that cannot be goes on unrecorded, counted and logged.
    Wanted,
    /// All are; one that cannot be is refused, or cut.
    Required,
}

/// The policy and its figures.
#[derive(Debug, Clone)]
pub struct Options {
    pub policy: Policy,
    /// Keystrokes too: they hold what the screen does not show, passwords among it.
    pub input: bool,
    /// How long recordings are kept after their begin.
    pub keep: Duration,
    /// Longest that a session waits for the storage.
    pub patience: Duration,
    /// Where the portal is, without a slash at its end: sessions say where their recording is.
    pub pages: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: Policy::Off,
            input: false,
            keep: Duration::from_secs(400 * 24 * 3600),
            patience: Duration::from_secs(10),
            pages: None,
        }
    }
}

/// What recordings are made with.
#[derive(Debug)]
pub struct RecordingParts {
    pub store: SharedStore,
    pub keyring: Keyring,
    pub audit: Audit,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub storage: SharedStorage,
    pub registry: Registry,
    pub options: Options,
}
