//! `/api/v1/maintenance/schedules`: the rules that make manifests for many clusters (`contract/mimo.md` §2.2).

use axum::extract::State;
use axum::response::Response;
use portal_model::fleet_schedules::{ScheduleStanding, next_window};
use portal_model::maintenance::task_name;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use rp_base::Timestamp;
use rp_documents::ScheduleDocument;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Items;

/// A rule that makes manifests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Schedule")]
pub struct ScheduleView {
    id: String,
    task_id: String,
    /// Name of the task.
    task: String,
    /// Stopped: the task failed on too many clusters.
    #[schemars(extend("enum" = ["Enabled", "Disabled", "Stopped"]))]
    state: &'static str,
    /// When its windows begin, UTC, such as `Tue,Wed *-*-* 4:00`.
    calendar: String,
    /// Over how long the clusters of a wave are spread, such as `24h`.
    across: String,
    /// The share of the clusters, in percent, whose turn is over at the end of each wave; empty: one wave.
    waves: Vec<i64>,
    /// From the beginning of one wave to the beginning of the next; empty: one wave.
    wave_every: String,
    /// It stops when the task failed on more than this share, in percent, of the clusters whose wave has begun; 0: never.
    stop_at_percent: i64,
    /// When the next window begins; null: none is to come, or it makes no manifests.
    next: Option<Timestamp>,
    /// The latest window in which the task failed; null: there is none, or the schedule does not count failures.
    rollout: Option<RolloutView>,
}

/// The latest window of a schedule in which its task failed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Rollout")]
pub struct RolloutView {
    /// When the window began.
    window: Timestamp,
    /// Resource ids of the clusters on which it failed, in lower case, at most 1000.
    failed: Vec<String>,
    /// The clusters whose wave had begun at the last failure.
    of: i64,
    /// When the schedule stopped; null: it goes on.
    stopped: Option<Timestamp>,
}

impl ScheduleView {
    fn new(document: &ScheduleDocument, now: Timestamp) -> Self {
        let schedule = &document.maintenance_schedule;
        let rollout = &document.rollout;
        let time = |seconds: i64| (seconds != 0).then(|| Timestamp::from_seconds(seconds));
        Self {
            id: document.id.clone(),
            task_id: schedule.maintenance_task_id.clone(),
            task: task_name(&schedule.maintenance_task_id).to_owned(),
            state: ScheduleStanding::of(document).name(),
            calendar: schedule.schedule.clone(),
            across: schedule.schedule_across.clone(),
            waves: schedule.waves.clone(),
            wave_every: schedule.wave_every.clone(),
            stop_at_percent: schedule.stop_at_percent,
            next: next_window(document, now),
            rollout: time(rollout.window).map(|window| RolloutView {
                window,
                failed: rollout.failed.clone(),
                of: rollout.of,
                stopped: time(rollout.stopped),
            }),
        }
    }
}

/// All schedules: first those that stopped, last those that are disabled.
pub async fn list(State(state): State<PortalState>) -> Result<Response, Fault> {
    let (all, _) = state.model.schedules.all();
    let now = state.session.clock.now();
    let items: Vec<ScheduleView> = all.iter().map(|one| ScheduleView::new(one, now)).collect();
    json(&Items { total: Some(items.len()), items, next: None })
}
