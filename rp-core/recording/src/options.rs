//! What is recorded, and what that needs.

use std::time::Duration;

use rp_audit::Audit;
use rp_base::{SharedClock, SharedRandom};
use rp_database::SharedStore;
use rp_metrics::Registry;
use rp_seal::Keyring;

use crate::SharedStorage;

/// Longest that a session waits for the storage.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What is recorded, and what sessions are told of it.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The policy and its figures, of `[recording]`.
    pub rules: rp_config::RecordingRules,
    /// Where the portal is, without a slash at its end: sessions say where their recording is.
    pub pages: Option<String>,
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
