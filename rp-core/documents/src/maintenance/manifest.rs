//! Manifests: one task for one cluster within a time (`contract/mimo.md` §2.1, §2.4).

use std::borrow::Cow;
use std::time::Duration;

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use super::resize::{Resize, step_name};
use super::task::{Build, Task};
use crate::{Collection, Document, Lease, Leased, Unknown};

/// Prefix of the unique keys of manifests that are not over. Those that are over have no unique key, so that a scan of
/// these keys does not grow with what is done.
pub const OPEN: &str = "open";

/// The lowest priority; 0 is the highest (`contract/mimo.md` "Do better" 13).
const LOWEST_PRIORITY: i64 = 1000;

/// One order. Writers: the frontend and the scheduler create it and cancel it while it waits; the actuator that holds
/// its lease writes the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestDocument {
    /// A lower-case UUID.
    pub id: String,
    /// The cluster's lower-cased resource id.
    #[serde(rename = "clusterResourceID")]
    pub cluster_resource_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lease_owner: String,
    /// Unix seconds of the store's clock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lease_expires: i64,
    /// Grows with each take.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lease_token: i64,
    /// How often it was taken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dequeues: i64,
    pub maintenance_manifest: Manifest,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What is to be done, and how far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub state: ManifestState,
    /// The result, or why it waits or failed; a sentence for people, without secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status_text: String,
    #[serde(default, rename = "maintenanceTaskID", skip_serializing_if = "String::is_empty")]
    pub maintenance_task_id: String,
    /// Id of the schedule that made it; empty: a person did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created_by_schedule: String,
    /// 0 (first) to 1000 (last), among those of one cluster that are due at the same time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// It starts after this, Unix seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run_after: i64,
    /// It does not start after this, Unix seconds; 0: no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run_before: i64,
    /// After a failure that may pass: it does not start again before this, Unix seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after: i64,
    /// The stored name of the step to go on with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub position: String,
    /// The steps that ended, in their order; the first [`Manifest::MOST_STEPS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ManifestStep>,
    /// What a resize of the control plane is to do; only of [`Task::ResizeControlPlane`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<Resize>,
    /// The machine that the task is about, where it needs one ([`Task::needs_machine`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Skips the steps in the cluster: check of the control plane, cordon, drain, the wait for the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// When it was first started and when it ended, Unix seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub started: i64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended: i64,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A step of a task that ended, well or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestStep {
    /// The stored name, such as `action.cordon`.
    pub name: String,
    pub milliseconds: i64,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// When a manifest may start, Unix seconds; 0: not named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub run_after: i64,
    pub run_before: i64,
}

/// How far a manifest is (`contract/mimo.md` §2.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ManifestState {
    #[default]
    Pending,
    InProgress,
    Completed,
    Failed,
    RetriesExceeded,
    TimedOut,
    Cancelled,
}

impl ManifestState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::RetriesExceeded,
        Self::TimedOut,
        Self::Cancelled,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::InProgress => "InProgress",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::RetriesExceeded => "RetriesExceeded",
            Self::TimedOut => "TimedOut",
            Self::Cancelled => "Cancelled",
        }
    }

    /// Whether nothing follows.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::InProgress)
    }

    /// Whether a manifest in this state may go to that one. A manifest that runs may be taken again when the lease of
    /// its actuator has ended (`contract/mimo.md` "Do better" 1).
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Pending => matches!(next, Self::InProgress | Self::TimedOut | Self::Cancelled),
            Self::InProgress => matches!(
                next,
                Self::InProgress | Self::Pending | Self::Completed | Self::Failed | Self::RetriesExceeded
            ),
            Self::Completed | Self::Failed | Self::RetriesExceeded | Self::TimedOut | Self::Cancelled => {
                false
            }
        }
    }
}

impl ManifestDocument {
    /// How long a manifest that is over stays in the store.
    pub const KEPT: Duration = Duration::from_hours(180 * 24);

    /// A new manifest that waits.
    pub fn new(id: impl Into<String>, cluster: impl Into<String>, manifest: Manifest) -> Self {
        Self {
            id: id.into(),
            cluster_resource_id: cluster.into(),
            maintenance_manifest: Manifest { state: ManifestState::Pending, ..manifest },
            ..Self::default()
        }
    }

    /// Start of the unique keys of a cluster's manifests that are not over.
    pub fn open_keys(cluster: &str) -> String {
        format!("{OPEN}{cluster}/")
    }

    /// Goes to another state with that text; gives the document and the instant at which the store forgets it. `None`:
    /// the state does not allow it.
    pub fn with_state(
        mut self,
        state: ManifestState,
        text: impl Into<String>,
        now: Timestamp,
    ) -> Option<(Self, Option<Timestamp>)> {
        let manifest = &mut self.maintenance_manifest;
        let is_dropped = matches!(state, ManifestState::Cancelled | ManifestState::TimedOut);
        if !manifest.state.may_become(state) || (is_dropped && manifest.must_end()) {
            return None;
        }
        manifest.state = state;
        manifest.status_text = text.into();
        if state.is_terminal() {
            manifest.ended = now.seconds();
            manifest.position.clear();
            manifest.retry_after = 0;
            self.lease_owner.clear();
            self.lease_expires = 0;
        }
        Some((self, state.is_terminal().then(|| now + Self::KEPT)))
    }

    /// Whether it may start or be taken again at that time of the store. A lease is free from the second after its end.
    pub const fn is_due(&self, now: Timestamp) -> bool {
        let manifest = &self.maintenance_manifest;
        let now = now.seconds();
        !manifest.state.is_terminal()
            && self.lease_expires < now
            && manifest.run_after < now
            && manifest.retry_after < now
    }

    /// Whether its time is over without a start. One that was started before is not late.
    pub fn is_late(&self, now: Timestamp) -> bool {
        let manifest = &self.maintenance_manifest;
        manifest.state == ManifestState::Pending
            && manifest.run_before != 0
            && manifest.run_before < now.seconds()
            && !manifest.must_end()
    }
}

impl Manifest {
    /// Steps that are kept of one manifest.
    pub const MOST_STEPS: usize = 100;

    /// Adds steps that ended, as far as there is room.
    pub fn add_steps(&mut self, ended: &[ManifestStep]) {
        let room = Self::MOST_STEPS.saturating_sub(self.steps.len());
        self.steps.extend(ended.iter().take(room).cloned());
    }

    /// Whether its task gives the cluster to an operation that waits ([`Task::gives_way`]).
    pub fn gives_way(&self) -> bool {
        Task::with_id(&self.maintenance_task_id).is_none_or(Task::gives_way)
    }

    /// Whether it was begun and may not be dropped any more, also while it waits for its next attempt: a task that does not
    /// give way leaves machines stopped when it ends half-way.
    pub fn must_end(&self) -> bool {
        !self.gives_way() && self.started != 0 && !self.state.is_terminal()
    }

    /// What people read of its state: the stored text, or of a task that runs its step.
    pub fn status(&self) -> Cow<'_, str> {
        if self.state != ManifestState::InProgress || !self.status_text.is_empty() {
            return self.status_text.as_str().into();
        }
        let (step, node) = match &self.resize {
            Some(order) => order.step(&self.position),
            None if self.machine.is_empty() => ("", ""),
            None => (step_name(&self.position), self.machine.as_str()),
        };
        match (step, node) {
            ("", _) => self.position.as_str().into(),
            (step, "") => step.into(),
            (step, node) => format!("{step} of {node}").into(),
        }
    }

    /// How long after its time a manifest may still start when nobody names an end.
    const WEEK: Duration = Duration::from_hours(7 * 24);

    /// It does not start before this, Unix seconds: its time, and that of the next attempt after a failure.
    pub fn starts_after(&self) -> i64 {
        self.run_after.max(self.retry_after)
    }

    /// One that a person orders. A time of 0 is not named: it may start now, and within a week
    /// (`contract/mimo.md` §7).
    pub fn ordered(task_id: &str, priority: i64, times: Times, now: Timestamp) -> Self {
        let or = |named: i64, default: Timestamp| if named == 0 { default.seconds() } else { named };
        Self {
            maintenance_task_id: task_id.to_ascii_lowercase(),
            priority,
            run_after: or(times.run_after, now),
            run_before: or(times.run_before, now + Self::WEEK),
            ..Self::default()
        }
    }

    /// Checks a manifest that a person makes: target and message of the first mistake (`contract/mimo.md` §7).
    ///
    /// # Errors
    /// The first member that is wrong.
    pub fn check(&self) -> Result<Task, super::Problem> {
        let task = check_task(&self.maintenance_task_id)?;
        if !(0..=LOWEST_PRIORITY).contains(&self.priority) {
            return Err(super::Problem::new(
                "priority",
                format!("Must be between 0 (first) and {LOWEST_PRIORITY} (last)"),
            ));
        }
        if self.run_after < 0 || self.run_before < 0 {
            let target = if self.run_after < 0 { "runAfter" } else { "runBefore" };
            return Err(super::Problem::new(target, "Must be provided"));
        }
        if self.run_before <= self.run_after {
            return Err(super::Problem::new("runBefore", "Must be later than runAfter"));
        }
        self.check_machine(task)?;
        Ok(task)
    }

    fn check_machine(&self, task: Task) -> Result<(), super::Problem> {
        let wrong = |message: &str| Err(super::Problem::new("machine", message));
        match (task.needs_machine(), self.machine.as_str()) {
            (true, "") => wrong("Must be provided"),
            (true, name) if !is_machine_name(name) => wrong("Must be the name of a machine"),
            (_, _) if self.force && !task.is_on_machine() => Err(super::Problem::new(
                "force",
                "Only tasks that start, stop, restart or redeploy a machine can be forced",
            )),
            (true, _) => Ok(()),
            (false, "") => Ok(()),
            (false, _) => wrong("The task is not about a machine"),
        }
    }
}

/// As Azure and Kubernetes both allow: lower-case letters, digits and dashes, at most 64 characters.
fn is_machine_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 64 && name.bytes().all(good)
}

/// The task of that id, if it can run.
pub(super) fn check_task(id: &str) -> Result<Task, super::Problem> {
    const TARGET: &str = "maintenanceTaskID";
    if id.is_empty() {
        return Err(super::Problem::new(TARGET, "Must be provided"));
    }
    let task = Task::with_id(id).ok_or_else(|| super::Problem::new(TARGET, "task ID not registered"))?;
    match task.build() {
        Build::Ready => Ok(task),
        Build::Missing(why) | Build::Ordered(why) => {
            Err(super::Problem::new(TARGET, format!("task '{}' is not available: {why}", task.name())))
        }
    }
}

impl Document for ManifestDocument {
    const COLLECTION: Collection = Collection::MaintenanceManifests;

    fn id(&self) -> &str {
        &self.id
    }

    fn partition(&self) -> &str {
        &self.cluster_resource_id
    }

    fn unique_key(&self) -> Option<Cow<'_, str>> {
        let open = !self.maintenance_manifest.state.is_terminal();
        open.then(|| format!("{}{}", Self::open_keys(&self.cluster_resource_id), self.id).into())
    }
}

impl Leased for ManifestDocument {
    fn lease(&self) -> Lease {
        Lease {
            owner: self.lease_owner.clone(),
            expires: self.lease_expires,
            token: u64::try_from(self.lease_token).unwrap_or_default(),
            dequeues: u32::try_from(self.dequeues).unwrap_or_default(),
        }
    }

    fn set_lease(&mut self, lease: &Lease) {
        self.lease_owner.clone_from(&lease.owner);
        self.lease_expires = lease.expires;
        self.lease_token = i64::try_from(lease.token).unwrap_or(i64::MAX);
        self.dequeues = i64::from(lease.dequeues);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
