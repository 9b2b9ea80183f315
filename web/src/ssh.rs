//! `{RES}/ssh`: the dialog that gives a shell on a machine, and `{RES}/host-keys`: what its machines show.
//!
//! The dialog's form posts to `{RES}/ssh/new`, which answers the same dialog with command and password, once, or 422
//! with its errors.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link};

/// The dialog.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "ssh.html", blocks = ["title", "main", "dialog"])]
pub struct SshPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// What there is, masters first.
    pub machines: Vec<SshMachineRow>,
    /// Why the list is not whole, or empty.
    pub machines_note: String,
    /// Why the person may not have a shell now, and the way to one.
    pub barred: Option<(String, Option<Link>)>,
    /// Lengths of life to choose from, in seconds, shortest first.
    pub lives: Vec<u64>,
    /// What was filled in.
    pub form: SshForm,
    /// What is wrong with it.
    pub errors: SshErrors,
    /// Command and password, shown once.
    pub given: Option<SshCredentials>,
    /// In place of the form.
    pub failure: Option<Failure>,
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

/// The form as it is posted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SshForm {
    pub machine: String,
    /// Seconds; empty means the default.
    pub life: String,
    pub reason: String,
    pub ticket: String,
    /// Any value: agent forwarding is requested.
    pub agent_forwarding: String,
    /// `host:port`, separated by blanks or commas.
    pub destinations: String,
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshErrors {
    pub machine: Option<String>,
    pub life: Option<String>,
    pub reason: Option<String>,
    pub ticket: Option<String>,
    pub destinations: Option<String>,
    /// About all of it.
    pub form: Option<Failure>,
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

impl SshPage {
    pub(crate) fn chosen(&self, life: &u64) -> bool {
        crate::durations::is_chosen(&self.lives, &self.form.life, *life)
    }

    pub(crate) fn life_words(&self, life: &u64) -> String {
        crate::durations::words(&self.lives, *life)
    }

    /// The posted machine, else the first that is ready.
    pub(crate) fn picked(&self, name: &str) -> bool {
        let posted = self.machines.iter().any(|machine| machine.name == self.form.machine);
        if posted {
            return self.form.machine == name;
        }
        let first = self.machines.iter().find(|machine| machine.ready).or(self.machines.first());
        first.is_some_and(|machine| machine.name == name)
    }
}

/// The page of host keys.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "host_keys.html", blocks = ["title", "main", "list"])]
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
