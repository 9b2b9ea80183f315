//! Maintenance that failed, or did not start in its time.

use rp_base::Timestamp;
use rp_documents::maintenance::{ManifestState, Task};
use rp_documents::{ManifestDocument, NotificationEvent, NotificationKind};

use super::{ClusterPlace, Draft};

/// Whether the manifest is over and did not end as somebody wanted.
pub(crate) fn is_manifest_told(document: &ManifestDocument) -> bool {
    words(document.maintenance_manifest.state).is_some()
}

/// How a manifest failed.
fn words(state: ManifestState) -> Option<&'static str> {
    match state {
        ManifestState::Failed | ManifestState::RetriesExceeded => Some("failed"),
        ManifestState::TimedOut => Some("did not start in its time"),
        ManifestState::Pending
        | ManifestState::InProgress
        | ManifestState::Completed
        | ManifestState::Cancelled => None,
    }
}

/// The failure of a manifest; `None`: it is not over, or it ended as somebody wanted.
pub(crate) fn manifest(document: &ManifestDocument, place: &ClusterPlace) -> Option<NotificationEvent> {
    let manifest = &document.maintenance_manifest;
    let words = words(manifest.state)?;
    let id = &manifest.maintenance_task_id;
    let task = Task::with_id(id).map_or(id.as_str(), |task| task.name());
    let title = format!("Maintenance '{}' {words} on {}", super::line(task), place.name());
    let by = if manifest.created_by_schedule.is_empty() { "a person" } else { "a schedule" };
    let started = Some(manifest.started).filter(|at| *at > 0).map(Timestamp::from_seconds);
    let at = Timestamp::from_seconds(manifest.ended);
    Some(
        Draft::new(NotificationKind::MaintenanceFailed, format!("maintenance/{}", document.id), at, title)
            .cluster(place)
            .fact("Task", task)
            .fact("Error", &manifest.status_text)
            .fact("Ordered by", by)
            .fact("Began", &started.map(|at| at.to_string()).unwrap_or_default())
            .fact("Ended", &at.to_string())
            .advice(
                "Read the result on the page of the cluster; order the task again when the cause is removed.",
            )
            .page(format!("{}/operations", place.key), "Open the maintenance of the cluster"),
    )
}

#[cfg(test)]
mod tests {
    use rp_documents::maintenance::Manifest;

    use super::*;

    #[test]
    fn failures_are_told_and_nothing_else() {
        let place = ClusterPlace { key: "/c".into(), region: String::new() };
        for state in ManifestState::ALL {
            let manifest_of = Manifest {
                state,
                maintenance_task_id: Task::FixSsh.id().into(),
                status_text: "no answer".into(),
                ended: 77,
                ..Manifest::default()
            };
            let mut document = ManifestDocument::new("m", "/c", Manifest::default());
            document.maintenance_manifest = manifest_of;
            let told = manifest(&document, &place);
            let failed = matches!(
                state,
                ManifestState::Failed | ManifestState::RetriesExceeded | ManifestState::TimedOut
            );
            assert_eq!(told.is_some(), failed, "{state:?}");
            assert!(told.is_none_or(
                |told| told.at == Timestamp::from_seconds(77) && told.title.contains(Task::FixSsh.name())
            ));
        }
    }
}
