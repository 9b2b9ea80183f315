//! Maintenance of a cluster: what runs, what is planned and what has ended.

use crate::panel::{Block, DisplayTime, Item, Pair, Panel};
use crate::parts::{Badge, Link, Tone};

use super::{Operations, OrderPart};

/// How far a manifest is. The names of the API are `contract/mimo.md` §2.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManifestProgress {
    #[default]
    Planned,
    Running,
    Done,
    Failed,
    /// It could not start in its time.
    Late,
    Cancelled,
}

/// One task for the cluster within a time.
#[derive(Clone, Debug, Default)]
pub struct ManifestRow {
    /// Name of the task.
    pub task: String,
    pub progress: ManifestProgress,
    /// The result, or why it waits or failed.
    pub text: String,
    /// A schedule made it; else a person did.
    pub scheduled: bool,
    /// When it starts, started, or ended; Unix seconds.
    pub at: i64,
    /// Its cluster and the page of its operations; empty where all rows are of one cluster.
    pub cluster: Link,
    /// Address of the dialog that cancels it; empty: the person may not, or it does not wait.
    pub cancel: String,
}

impl ManifestRow {
    pub(crate) fn item(&self, now: i64) -> Item {
        let (tone, icon, word) = match self.progress {
            ManifestProgress::Planned => (Tone::Mute, "wait", "Planned"),
            ManifestProgress::Running => (Tone::Busy, "busy", "Running"),
            ManifestProgress::Done => (Tone::Ok, "ok", "Done"),
            ManifestProgress::Failed => (Tone::Bad, "failed", "Failed"),
            ManifestProgress::Late => (Tone::Warn, "degraded", "Not started in time"),
            ManifestProgress::Cancelled => (Tone::Mute, "close", "Cancelled"),
        };
        let at = match self.progress {
            _ if self.at == 0 => None,
            ManifestProgress::Planned if self.at > now => Some(DisplayTime::In(self.at)),
            ManifestProgress::Running => Some(DisplayTime::For(self.at)),
            _ => Some(DisplayTime::Ago(self.at)),
        };
        let by = if self.scheduled { "by a schedule" } else { "ordered" };
        let (name, kind) = if self.cluster.text.is_empty() {
            (Link::new(&*self.task, ""), by.to_owned())
        } else {
            (self.cluster.clone(), format!("{}, {by}", self.task))
        };
        let cancel = (!self.cancel.is_empty()).then(|| Link::new("Cancel…", &*self.cancel));
        Item {
            tone,
            icon,
            name,
            kind,
            badges: vec![Badge::quiet(tone, icon, word)],
            quote: self.text.clone(),
            at,
            acts: cancel.into_iter().collect(),
            ..Item::default()
        }
    }
}

/// The state in the cluster's document, and its manifests.
pub(super) fn panel(operations: &Operations) -> Panel {
    let panel = Panel::new("maintenance", "Maintenance");
    let quiet = operations.maintenance.is_empty() || operations.maintenance == "None";
    let mut pairs = if quiet { Vec::new() } else { vec![Pair::text("State", &*operations.maintenance)] };
    pairs.extend(operations.more.iter().map(|(label, value)| Pair::text(label, value)));
    let items: Vec<Item> = operations.manifests.iter().map(|row| row.item(operations.now)).collect();
    let mut panel = if pairs.is_empty() && items.is_empty() {
        panel.well("None", "No maintenance is planned, runs, or ran in the last months.")
    } else {
        panel
    };
    if !pairs.is_empty() {
        panel = panel.with(Block::Pairs(pairs));
    }
    if !items.is_empty() {
        panel = panel.fact("what is over: newest first").with(Block::Items(items));
    }
    match &operations.order {
        OrderPart::Hidden => panel,
        order @ (OrderPart::Barred(..) | OrderPart::Form(_)) => panel.with(Block::Order(order.clone())),
    }
}
