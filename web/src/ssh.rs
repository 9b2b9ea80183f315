//! What the dialog of a shell on a machine alone offers and gives out, and `{RES}/host-keys`: what machines show.

use crate::filters;
use crate::frame::Frame;
use crate::parts::Failure;

/// Machines to choose from.
#[derive(Clone, Debug, Default)]
pub struct SshChoices {
    /// What there is, masters first.
    pub machines: Vec<SshMachineRow>,
    /// Why the list is not whole, or empty.
    pub machines_note: String,
}

/// A machine to choose.
#[derive(Clone, Debug, Default)]
pub struct SshMachineRow {
    pub name: String,
    pub control_plane: bool,
    pub ready: bool,
    /// How it is reached, e.g. `through a master`.
    pub way: String,
}

/// The access that was issued.
#[derive(Clone, Default)]
pub struct SshCredentials {
    pub machine: String,
    pub command: String,
    /// The one-time password.
    pub password: String,
    /// Until when the password opens a shell.
    pub password_until: i64,
    /// The access's own end.
    pub ends: i64,
    /// Path of the grant.
    pub grant: String,
}

// The password is for the page alone.
impl std::fmt::Debug for SshCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SshCredentials").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl SshChoices {
    /// Whether a machine is the chosen one: the posted one, else the first that is ready.
    pub(crate) fn picked(&self, posted: &str, name: &str) -> bool {
        if self.machines.iter().any(|machine| machine.name == posted) {
            return posted == name;
        }
        let first = self.machines.iter().find(|machine| machine.ready).or(self.machines.first());
        first.is_some_and(|machine| machine.name == name)
    }
}

/// The page of host keys.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "host_keys.html", blocks = ["list"])]
pub struct HostKeysPage {
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    pub rows: Vec<HostKeyRow>,
    /// The person may trust keys.
    pub may_trust: bool,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// What is known of one machine.
#[derive(Clone, Debug, Default)]
pub struct HostKeyRow {
    pub machine: String,
    pub uid: String,
    /// Algorithm and fingerprint.
    pub keys: Vec<(String, String)>,
    /// How it came to be known, with who did it.
    pub learned: String,
    pub at: i64,
    /// The key that was refused last.
    pub refused: Option<RefusedKeyRow>,
}

/// A key that was shown and is not trusted.
#[derive(Clone, Debug, Default)]
pub struct RefusedKeyRow {
    pub algorithm: String,
    pub fingerprint: String,
    pub at: i64,
}
