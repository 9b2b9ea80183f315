//! Conditions of objects: which status is well, and their rows.

use rp_rows::Condition;

use super::seconds;
use crate::components;
use crate::parts::{Badge, Tone};

/// The badge of a condition's status; `well` says which status is well, for types it knows.
pub(super) fn toned(kind: &str, status: &str, well: impl Fn(&str) -> Option<bool>) -> Badge {
    match (status, well(kind)) {
        ("True" | "False", Some(good)) if (status == "True") == good => Badge::quiet(Tone::Ok, "ok", status),
        ("True" | "False", Some(_)) => Badge::filled(Tone::Bad, "failed", status),
        ("True" | "False", None) => Badge::quiet(Tone::Mute, "info", status),
        (_, Some(_)) => Badge::filled(Tone::Warn, "unknown", "Unknown"),
        (_, None) => Badge::quiet(Tone::Mute, "unknown", "Unknown"),
    }
}

/// The rows of a table of conditions; `well` as of [`toned`].
pub(super) fn condition_rows(
    all: &[Condition],
    well: impl Fn(&str) -> Option<bool>,
) -> Vec<components::Condition> {
    let row = |each: &Condition| components::Condition {
        status: toned(&each.kind, each.status.as_str(), &well),
        kind: each.kind.clone(),
        reason: each.reason.clone(),
        since: seconds(each.since),
        message: each.message.clone(),
    };
    all.iter().map(row).collect()
}

/// Which status is well, of the types that machines, sets, pools and operators share.
pub(super) fn usual(kind: &str) -> Option<bool> {
    match kind {
        "Available" | "Upgradeable" | "Updated" | "Ready" | "MachineCreated" | "InstanceExists" => Some(true),
        _ if kind.ends_with("Degraded") || kind.ends_with("Failing") => Some(false),
        _ if kind.ends_with("Available") => Some(true),
        _ => None,
    }
}
