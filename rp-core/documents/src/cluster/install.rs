//! `properties.install`: an installation that is going on (`contract/api.md` §5).

use super::member::Outcome;
use super::object::{object, optional_objects};
use super::shape::Instant;

object! {
    /// There only while the cluster is installed.
    #[derive(Default)]
    pub struct Install {
        /// When the installation began.
        "now" => now: Outcome<Instant>,
        /// The phase's name; very old documents have its number. Read it by [`Install::phase`].
        "phase" => phase: Outcome<String>,
    }
}

optional_objects!(Install);

/// A phase of an installation. Each is run by the worker that takes the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstallPhase {
    Bootstrap,
    RemoveBootstrap,
}

impl InstallPhase {
    const ALL: [Self; 2] = [Self::Bootstrap, Self::RemoveBootstrap];

    /// The stored name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bootstrap => "InstallPhaseBootstrap",
            Self::RemoveBootstrap => "InstallPhaseRemoveBootstrap",
        }
    }
}

impl Install {
    /// The phase: by its name in any case, or by its number.
    pub fn phase(&self) -> Option<InstallPhase> {
        if let Some(word) = self.phase.get() {
            return InstallPhase::ALL.into_iter().find(|phase| phase.name().eq_ignore_ascii_case(word));
        }
        let number = usize::try_from(self.phase.odd()?.as_u64()?).ok()?;
        InstallPhase::ALL.get(number).copied()
    }
}
