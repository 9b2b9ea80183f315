//! States and rights, three times over: colour, shape and word.

use crate::parts::Tone;

/// Colour, shape and word of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Badge {
    /// Its colour.
    pub tone: Tone,
    /// Symbol id.
    pub icon: &'static str,
    /// Its word.
    pub word: String,
    /// Without a ground: well, or nothing to look at.
    pub quiet: bool,
}

impl Badge {
    /// A badge; `icon` is a symbol id.
    pub fn new(tone: Tone, icon: &'static str, word: impl Into<String>, quiet: bool) -> Self {
        Self { tone, icon, word: word.into(), quiet }
    }
}

/// The state of a cluster, in the words of the field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Looked at lately, and well.
    Healthy,
    /// Provisioned, but its health was not checked yet.
    Succeeded,
    /// Answers, but something is wrong.
    Degraded,
    /// An operation failed: its name, e.g. `Creating`.
    Failed(String),
    /// Does not answer.
    NoAnswer,
    /// Being installed.
    Creating,
    /// Being updated; percent where known.
    Updating(Option<u8>),
    /// Being updated by us.
    AdminUpdate,
    /// Being deleted.
    Deleting,
    /// An operation was cancelled.
    Canceled,
    /// Maintenance is planned or runs.
    Maintenance,
    /// An imported cluster that was not checked yet.
    Imported,
    /// Nothing is known.
    #[default]
    Unknown,
}

impl State {
    /// From `provisioningState` and `failedProvisioningState` of a cluster document (contract/api.md);
    /// unknown words become [`State::Unknown`].
    #[must_use]
    pub fn from_provisioning(state: &str, failed: &str) -> Self {
        match state {
            "Succeeded" => Self::Succeeded,
            "Creating" => Self::Creating,
            "Updating" => Self::Updating(None),
            "AdminUpdating" => Self::AdminUpdate,
            "Deleting" => Self::Deleting,
            "Canceled" => Self::Canceled,
            "Maintenance" => Self::Maintenance,
            "Failed" => Self::Failed(failed.to_owned()),
            _ => Self::Unknown,
        }
    }

    /// How it is shown.
    #[must_use]
    pub fn badge(&self) -> Badge {
        match self {
            Self::Healthy => Badge::new(Tone::Ok, "ok", "Healthy", true),
            Self::Succeeded => Badge::new(Tone::Ok, "ok", "Succeeded", true),
            Self::Degraded => Badge::new(Tone::Warn, "degraded", "Degraded", false),
            Self::Failed(what) if what.is_empty() => Badge::new(Tone::Bad, "failed", "Failed", false),
            Self::Failed(what) => Badge::new(Tone::Bad, "failed", format!("Failed: {what}"), false),
            Self::NoAnswer => Badge::new(Tone::Bad, "away", "No answer", false),
            Self::Creating => Badge::new(Tone::Busy, "busy", "Creating", false),
            Self::Updating(None) => Badge::new(Tone::Busy, "busy", "Updating", false),
            Self::Updating(Some(p)) => Badge::new(Tone::Busy, "busy", format!("Updating, {p} %"), false),
            Self::AdminUpdate => Badge::new(Tone::Busy, "wrench", "Admin update", false),
            Self::Deleting => Badge::new(Tone::Busy, "trash", "Deleting", false),
            Self::Canceled => Badge::new(Tone::Warn, "revoke", "Canceled", false),
            Self::Maintenance => Badge::new(Tone::Mute, "wrench", "Maintenance", false),
            Self::Imported => Badge::new(Tone::Mute, "import", "Imported", true),
            Self::Unknown => Badge::new(Tone::Mute, "unknown", "Unknown", false),
        }
    }
}

/// What a grant allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rights {
    /// Get, list, watch, logs.
    #[default]
    Read,
    /// Everything but RBAC and Secrets.
    Write,
    /// Everything.
    Admin,
}

impl Rights {
    /// `read`, `write`, `admin`: the value in forms and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// How it is shown.
    #[must_use]
    pub fn badge(self) -> Badge {
        match self {
            Self::Read => Badge::new(Tone::Mute, "eye", "Read-only", true),
            Self::Write => Badge::new(Tone::Power, "pen", "Write", false),
            Self::Admin => Badge::new(Tone::Power, "power", "Admin", false),
        }
    }
}
