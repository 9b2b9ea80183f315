//! Operations on the cluster: those in its document, maintenance, and versions.

use super::maintenance::{self, ManifestRow};
use super::{Board, OrderPart, Run, runs};
use crate::panel::{Block, DisplayTime, Item, Pair, Panel, Value};
use crate::parts::{Badge, Step};

/// The operations recorded in the cluster document and the logs.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// Path of the cluster's pages.
    pub base: String,
    /// The server's clock.
    pub now: i64,
    /// The running operation, else the last one; or the one that was requested.
    pub run: Option<Run>,
    /// The others, newest first.
    pub earlier: Vec<Run>,
    /// Shown instead of both: why they cannot be determined.
    pub unknown: String,
    /// The provisioning state as a badge.
    pub state: Badge,
    /// Since when.
    pub since: Option<i64>,
    /// `provisioningState`.
    pub provisioning: String,
    /// `lastProvisioningState`.
    pub last: String,
    /// `failedProvisioningState`.
    pub failed: String,
    /// `asyncOperationId` of the document.
    pub operation: String,
    /// `lastAdminUpdateError`, unedited.
    pub admin_error: String,
    /// Who last changed it.
    pub by: String,
    /// Commit that last provisioned it.
    pub provisioned_by: String,
    /// The installation, while it runs or where it stopped.
    pub install: Vec<Step>,
    /// `maintenanceState`.
    pub maintenance: String,
    /// What runs, what waits, and the newest of what is over.
    pub manifests: Vec<ManifestRow>,
    /// What the person may order.
    pub order: OrderPart,
    /// Further maintenance fields of the document: label and value.
    pub more: Vec<(String, String)>,
    /// What people did through this portal.
    pub done: Vec<ActionRow>,
    /// Shown instead of that: why it is not shown.
    pub done_hidden: String,
    /// It is an imported cluster.
    pub imported: bool,
}

/// An action of a person.
#[derive(Clone, Debug, Default)]
pub struct ActionRow {
    /// What.
    pub verb: String,
    /// Who.
    pub person: String,
    /// On what.
    pub what: String,
    /// When.
    pub at: i64,
    /// It did not come about.
    pub failed: bool,
}

/// The page of operations.
#[must_use]
pub fn operations_board(operations: &Operations) -> Board {
    let mut main = followed(operations);
    let mut side = Vec::new();
    if !operations.imported {
        side.push(document(operations));
        main.push(maintenance::panel(operations));
    }
    main.push(done(operations));
    Board { top: Vec::new(), main, side }
}

/// The panels that change while an operation runs.
#[must_use]
pub fn followed(operations: &Operations) -> Vec<Panel> {
    if operations.imported {
        return Vec::new();
    }
    if !operations.unknown.is_empty() {
        return vec![Panel::new("operation", "Operation").nothing(
            "unknown",
            "Operations cannot be told now",
            &*operations.unknown,
        )];
    }
    let mut panels = runs::panels(operations.run.as_ref(), operations.now);
    panels.push(runs::earlier(&operations.base, &operations.earlier));
    panels
}

/// The page of one operation.
#[must_use]
pub fn run_board(run: &Run, now: i64) -> Board {
    Board { main: runs::panels(Some(run), now), ..Board::default() }
}

fn document(operations: &Operations) -> Panel {
    let mut panel = Panel::new("stored", "Resource record");
    if !operations.install.is_empty() {
        panel = panel.with(Block::Steps(operations.install.clone()));
    }
    panel.with(Block::Pairs(vec![
        Pair::new("State", Value::Badge(operations.state.clone())),
        Pair::new("Since", Value::Time(operations.since)),
        Pair::text("Provisioning state", &*operations.provisioning),
        Pair::text("State before", &*operations.last),
        Pair::text("Failed state", &*operations.failed),
        Pair::code("Operation ID", &*operations.operation),
        Pair::text("Last modified by", &*operations.by),
        Pair::code("Provisioned by", &*operations.provisioned_by),
        Pair::new("Last admin update error", Value::Long(operations.admin_error.clone())),
    ]))
}

fn done(operations: &Operations) -> Panel {
    let panel = Panel::new("done", "Done through this portal");
    if !operations.done_hidden.is_empty() {
        return panel.nothing("lock", "Not shown", &*operations.done_hidden);
    }
    if operations.done.is_empty() {
        return panel.nothing(
            "list",
            "Nothing",
            "Nobody has done anything with this cluster through this portal.",
        );
    }
    let items = operations.done.iter().map(|done| Item {
        tone: if done.failed { crate::parts::Tone::Bad } else { crate::parts::Tone::Mute },
        icon: if done.failed { "failed" } else { "ok" },
        name: crate::parts::Link::new(&*done.verb, ""),
        kind: done.person.clone(),
        quote: done.what.clone(),
        at: Some(DisplayTime::Ago(done.at)),
        ..Item::default()
    });
    panel.fact("newest first").with(Block::Items(items.collect()))
}
