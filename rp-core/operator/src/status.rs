//! The status of the `Cluster` (`contract/operator.md` §3): conditions, the version of the operator, and the flags as it goes
//! by them. Writes of one process come one after the other; a write that meets another process's is decided again.

use std::sync::Arc;

use rp_base::SharedClock;
use rp_operator_api::cluster::ClusterStatus;
use rp_operator_api::conditions;
use rp_operator_api::{Cluster, Condition, Flags, SINGLETON};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::api::{Api, ApiError};
use crate::controller::{ReconcileError, Role};
use crate::kinds::{CLUSTER, ObjectName};

/// Attempts of a write that meets others.
const ATTEMPTS: u32 = 5;

/// Reads the one `Cluster`; `None`: it is not there yet.
///
/// # Errors
/// It cannot be read.
pub async fn read_cluster(api: &Api) -> Result<Option<Cluster>, ReconcileError> {
    let Some(object) = api.get(ObjectName::of_cluster(&CLUSTER, SINGLETON)).await? else { return Ok(None) };
    let read = Cluster::deserialize(object);
    read.map(Some)
        .map_err(|error| ReconcileError::invalid(format!("Cluster cluster cannot be read: {error}")))
}

/// Writes the status. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StatusWriter {
    api: Api,
    clock: SharedClock,
    role: Role,
    version: Arc<str>,
    turn: Arc<Semaphore>,
}

impl StatusWriter {
    /// A writer for the process; `version` is the build of the operator.
    pub fn new(api: &Api, clock: &SharedClock, role: Role, version: &str) -> Self {
        let turn = Arc::new(Semaphore::new(1));
        Self { api: api.clone(), clock: Arc::clone(clock), role, version: version.into(), turn }
    }

    /// Sets conditions, and with the first write of role master the version and the flags. `seen` is the `Cluster` as the
    /// caller read it: where it has all that already, nothing is asked and nothing written.
    ///
    /// # Errors
    /// [`ApiError`], also when others wrote five times meanwhile.
    pub async fn write(&self, seen: &Cluster, flags: &Flags, set: &[Condition]) -> Result<(), ApiError> {
        if self.patch(&seen.status, flags, set).is_none() {
            return Ok(());
        }
        let Ok(_turn) = self.turn.acquire().await else { return Ok(()) };
        let name = ObjectName::of_cluster(&CLUSTER, SINGLETON);
        let mut attempt = 1;
        loop {
            let Some(live) = self.api.get(name).await? else { return Ok(()) };
            let status = live.get("status").cloned().unwrap_or_default();
            let status = ClusterStatus::deserialize(status).unwrap_or_default();
            let Some(status) = self.patch(&status, flags, set) else { return Ok(()) };
            let version = live.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
            let patch = json!({ "metadata": { "resourceVersion": version }, "status": status });
            match self.api.merge_status(name, &patch).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Sets members of the status that are none of the above.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn set(&self, member: &str, value: &Value) -> Result<(), ApiError> {
        let patch = json!({ "status": { member: value } });
        self.api.merge_status(ObjectName::of_cluster(&CLUSTER, SINGLETON), &patch).await?;
        Ok(())
    }

    /// What differs of the status; `None`: nothing.
    fn patch(&self, status: &ClusterStatus, flags: &Flags, set: &[Condition]) -> Option<Value> {
        let mut patch = Map::new();
        let now = self.clock.now().to_string();
        if let Some(conditions) = conditions::with(&status.conditions, set, &seconds(&now)) {
            patch.insert("conditions".to_owned(), json!(conditions));
        }
        if self.role == Role::Master {
            if *status.operator_version != *self.version {
                patch.insert("operatorVersion".to_owned(), json!(*self.version));
            }
            let effective = flags.effective();
            if status.effective_flags != effective {
                patch.insert("effectiveFlags".to_owned(), flags_patch(status, &json!(effective)));
            }
            let problems: Vec<_> = flags.problems().iter().map(ToString::to_string).collect();
            if status.flag_problems != problems {
                patch.insert("flagProblems".to_owned(), json!(problems));
            }
        }
        (!patch.is_empty()).then_some(Value::Object(patch))
    }
}

/// A merge patch keeps what it does not name: flags that are no longer there are named with null.
fn flags_patch(status: &ClusterStatus, effective: &Value) -> Value {
    let mut patch = effective.clone();
    for name in status.effective_flags.keys().filter(|name| effective.get(name.as_str()).is_none()) {
        patch[name] = Value::Null;
    }
    patch
}

/// Times of conditions have whole seconds (`metav1.Time`).
fn seconds(now: &str) -> String {
    match now.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => now.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_whole_seconds() {
        assert_eq!(seconds("2026-11-27T10:00:00.25Z"), "2026-11-27T10:00:00Z");
        assert_eq!(seconds("2026-11-27T10:00:00Z"), "2026-11-27T10:00:00Z");
    }

    #[test]
    fn a_flag_that_is_gone_is_removed() {
        let status = ClusterStatus {
            effective_flags: [("old".to_owned(), "x".to_owned())].into(),
            ..ClusterStatus::default()
        };
        assert_eq!(flags_patch(&status, &json!({ "new": "y" })), json!({ "new": "y", "old": null }));
    }
}
