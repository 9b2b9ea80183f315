//! Schedules of maintenance that stopped.

use rp_base::Timestamp;
use rp_documents::maintenance::Task;
use rp_documents::{NotificationEvent, NotificationKind, ResourceId, ScheduleDocument};

use super::Draft;

/// Clusters that are named.
const NAMED: usize = 10;

/// Whether the schedule stopped.
pub(crate) fn is_schedule_told(document: &ScheduleDocument) -> bool {
    document.rollout.has_stopped()
}

/// The stop of a schedule; `None`: it goes on.
pub(crate) fn schedule(document: &ScheduleDocument) -> Option<NotificationEvent> {
    let rollout = &document.rollout;
    if !rollout.has_stopped() {
        return None;
    }
    let id = &document.maintenance_schedule.maintenance_task_id;
    let task = Task::with_id(id).map_or(id.as_str(), |task| task.name());
    let title = format!("A schedule of '{}' stopped after failures", super::line(task));
    let at = Timestamp::from_seconds(rollout.stopped);
    let name = |key: &String| ResourceId::parse(key).map_or_else(|_| key.clone(), |id| id.name().to_owned());
    let mut failed: Vec<String> = rollout.failed.iter().take(NAMED).map(name).collect();
    if let Some(more) = rollout.failed.len().checked_sub(NAMED).filter(|more| *more > 0) {
        failed.push(format!("{more} more"));
    }
    // Each stop is an event of its own: the schedule may go on and stop again.
    let subject = format!("schedule/{}/{}", document.id, rollout.stopped);
    Some(
        Draft::new(NotificationKind::MaintenanceFailed, subject, at, title)
            .fact("Task", task)
            .fact("Failed", &format!("{} of {} clusters", rollout.failed.len(), rollout.of))
            .fact("Clusters", &failed.join(", "))
            .fact("Stopped", &at.to_string())
            .advice(
                "Nothing more of it begins. Remove the cause, then write the schedule again to let it go on.",
            )
            .page("/maintenance".to_owned(), "Open the maintenance of all clusters"),
    )
}

#[cfg(test)]
mod tests {
    use rp_documents::maintenance::{Rollout, Schedule};

    use super::*;

    #[test]
    fn a_stop_is_told_with_its_count_and_the_first_clusters() {
        let key = |n: usize| {
            format!(
                "/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/c{n}"
            )
        };
        let mut document = ScheduleDocument {
            id: "s".into(),
            maintenance_schedule: Schedule {
                maintenance_task_id: Task::FixSsh.id().into(),
                ..Schedule::default()
            },
            ..ScheduleDocument::default()
        };
        assert_eq!(schedule(&document), None);
        let failed = (0..12).map(key).collect();
        document.rollout = Rollout { window: 1, failed, of: 50, stopped: 77, ..Rollout::default() };
        assert!(is_schedule_told(&document));
        let told = schedule(&document).unwrap();
        assert!(told.title.contains("fix SSH") && told.at == Timestamp::from_seconds(77), "{told:?}");
        let fact = |name: &str| told.facts.iter().find(|fact| fact.name == name).unwrap().value.clone();
        assert_eq!(fact("Failed"), "12 of 50 clusters");
        assert!(fact("Clusters").starts_with("c0, c1, ") && fact("Clusters").ends_with("c9, 2 more"));
    }
}
