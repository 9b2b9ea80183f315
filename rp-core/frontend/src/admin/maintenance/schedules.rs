//! Schedules of maintenance.

use http::StatusCode;
use rp_api::CloudError;
use rp_base::text::clean;
use rp_database::{Expect, Span, StoreError, Typed, Versioned};
use rp_documents::maintenance::{Schedule, ScheduleDocument, ScheduleState, Selector};
use serde::Deserialize;
use serde_json::json;

use super::view::{self, ListView};
use super::{TRIES, manifests, page_size, read_body, refused};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::paging::PagedList;
use crate::response::{HttpResponse, json_response};

/// What a caller says of a schedule. Other members are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentSchedule {
    #[serde(default)]
    id: String,
    /// Empty: disabled.
    #[serde(default)]
    state: String,
    #[serde(default, rename = "maintenanceTaskID")]
    maintenance_task_id: String,
    #[serde(default)]
    schedule: String,
    #[serde(default)]
    look_forward_count: i64,
    #[serde(default)]
    schedule_across: String,
    #[serde(default)]
    start_within: String,
    #[serde(default)]
    waves: Vec<i64>,
    #[serde(default)]
    wave_every: String,
    #[serde(default)]
    stop_at_percent: i64,
    #[serde(default)]
    selectors: Vec<SentSelector>,
}

#[derive(Debug, Deserialize)]
struct SentSelector {
    #[serde(default)]
    key: String,
    #[serde(default)]
    operator: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    values: Vec<String>,
}

fn schedules(parts: &FrontendParts) -> Typed<ScheduleDocument> {
    Typed::new(parts.store.clone())
}

async fn find(parts: &FrontendParts, id: &str) -> Result<Versioned<ScheduleDocument>, Fault> {
    let found = schedules(parts).get(id).await?;
    found.ok_or_else(|| {
        let message = format!("schedule '{}' not found: there is none with this ID", clean(id, 64));
        CloudError::new(404, "NotFound", "", message).into()
    })
}

pub(super) async fn list(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let size = page_size(call);
    let list = PagedList { place: "api/skipToken/schedules", prefix: "" };
    let after = list.after(parts, call)?;
    let found = schedules(parts).scan(Span::All, after.as_deref(), size + 1).await?;
    let more = found.items.len() > size as usize;
    let shown: Vec<_> = found.items.into_iter().take(size as usize).map(|found| found.value).collect();
    let next_link = match shown.last().filter(|_| more) {
        Some(last) => list.next(parts, call, &last.id)?,
        None => String::new(),
    };
    let value = shown.into_iter().map(view::schedule).collect();
    Ok(json_response(StatusCode::OK, &ListView { value, next_link }))
}

pub(super) async fn get(parts: &FrontendParts, id: &str) -> Result<HttpResponse, Fault> {
    Ok(json_response(StatusCode::OK, &view::schedule(find(parts, id).await?.value)))
}

/// Creates a schedule, or changes the one with that id. The scheduler follows: what a changed or disabled schedule
/// planned and does not want any more is cancelled. One that stopped after failures goes on.
pub(super) async fn put(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let sent: SentSchedule = read_body(call)?;
    let id = id_of(parts, &sent.id)?;
    let schedule = schedule_of(sent)?;
    schedule.check().map_err(refused)?;
    let mut tried = 0;
    loop {
        let found = schedules(parts).get(&id).await?;
        if let Some(found) = &found
            && found.value.maintenance_schedule.maintenance_task_id != schedule.maintenance_task_id
        {
            let message = "Changing property 'maintenanceTaskID' is not allowed.";
            return Err(CloudError::bad("PropertyChangeNotAllowed", "maintenanceTaskID", message).into());
        }
        tried += 1;
        let status = if found.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        match write(parts, &id, schedule.clone(), found).await {
            Ok(document) => return Ok(json_response(status, &view::schedule(document))),
            Err(StoreError::Stale { .. } | StoreError::Gone { .. } | StoreError::Exists { .. })
                if tried < TRIES => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn write(
    parts: &FrontendParts,
    id: &str,
    mut schedule: Schedule,
    found: Option<Versioned<ScheduleDocument>>,
) -> Result<ScheduleDocument, StoreError> {
    let Some(mut found) = found else {
        let document = ScheduleDocument {
            id: id.to_owned(),
            maintenance_schedule: schedule,
            ..ScheduleDocument::default()
        };
        return Ok(schedules(parts).create(document).await?.value);
    };
    // Members of newer software are kept.
    schedule.unknown = std::mem::take(&mut found.value.maintenance_schedule.unknown);
    found.value.maintenance_schedule = schedule;
    found.value.rollout.resume();
    Ok(schedules(parts).replace(found).await?.value)
}

/// The id that the caller names, or a new one.
fn id_of(parts: &FrontendParts, sent: &str) -> Result<String, CloudError> {
    if sent.is_empty() {
        return Ok(parts.random.uuid().to_string());
    }
    let id = sent.to_ascii_lowercase();
    let shaped = id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if shaped { Ok(id) } else { Err(CloudError::invalid("id", "Must be a UUID")) }
}

fn schedule_of(sent: SentSchedule) -> Result<Schedule, CloudError> {
    let state = match sent.state.as_str() {
        "Enabled" => ScheduleState::Enabled,
        "" | "Disabled" => ScheduleState::Disabled,
        _ => return Err(CloudError::invalid("state", "Must be one of ['Enabled', 'Disabled']")),
    };
    let selector = |sent: SentSelector| Selector {
        key: sent.key,
        operator: sent.operator,
        value: sent.value,
        values: sent.values,
        ..Selector::default()
    };
    Ok(Schedule {
        state,
        maintenance_task_id: sent.maintenance_task_id.to_ascii_lowercase(),
        schedule: sent.schedule,
        look_forward_count: sent.look_forward_count,
        schedule_across: sent.schedule_across,
        start_within: sent.start_within,
        waves: sent.waves,
        wave_every: sent.wave_every,
        stop_at_percent: sent.stop_at_percent,
        selectors: sent.selectors.into_iter().map(selector).collect(),
        ..Schedule::default()
    })
}

/// Removes a schedule and cancels what it planned (`contract/mimo.md` "Do better" 12).
pub(super) async fn delete(parts: &FrontendParts, id: &str) -> Result<HttpResponse, Fault> {
    let found = find(parts, id).await?;
    match schedules(parts).delete(&found.value.id, Expect::Any).await {
        Ok(()) | Err(StoreError::Gone { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    // What is left, because this request ends early, the scheduler cancels.
    manifests::cancel_planned(parts, &found.value.id).await?;
    Ok(json_response(StatusCode::OK, &json!({})))
}
