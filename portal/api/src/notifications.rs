//! `/api/v1/notifications`: the destinations of the settings and what was sent to them; a test.

use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::notifications::send_test;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::{Notification, NotificationKind, NotificationState};
use rp_notify::DestinationView;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::answer::{Items, Query, created};

/// Notifications of a destination, without a limit and at most.
const USUAL: u32 = 20;
const MOST: u32 = 100;

/// A receiver, and how it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotificationDestination")]
pub struct DestinationState {
    name: &'static str,
    #[schemars(extend("enum" = ["webhook", "slack", "teams", "pagerduty"]))]
    kind: &'static str,
    /// Scheme, host and port; the rest of the address may be a key.
    address: String,
    /// Groups of events that it is told.
    #[schemars(schema_with = "topics")]
    events: Vec<&'static str>,
    /// Azure regions of the clusters that it is told of; empty: all.
    regions: Vec<String>,
    /// How many wait; counting ends at 10,000.
    waiting: usize,
    /// When the one that waits longest was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_waiting: Option<Timestamp>,
    /// Why the last attempt of what waits failed; empty: none failed.
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_delivered: Option<Timestamp>,
    /// What waits, the oldest first, then what is over, the newest first.
    notifications: Vec<NotificationSummary>,
}

fn topics(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "enum": rp_notify::TOPICS } })
}

/// One event for one destination.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Notification")]
pub struct NotificationSummary {
    /// What receivers recognise repetitions by.
    id: String,
    event: NotificationKind,
    title: String,
    /// Resource id of the cluster, in lower case; empty: about none, or about all.
    cluster: String,
    /// When it happened.
    at: Timestamp,
    state: NotificationState,
    /// When it was recorded.
    created: Timestamp,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_attempt: Option<Timestamp>,
    /// It is not sent again before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    /// Why the last attempt failed.
    error: String,
}

impl From<Notification> for NotificationSummary {
    fn from(one: Notification) -> Self {
        Self {
            id: one.id,
            event: one.event.kind,
            title: one.event.title,
            cluster: one.event.cluster,
            at: one.event.at,
            state: one.state,
            created: one.created,
            attempts: one.attempts,
            last_attempt: one.last_attempt,
            retry_after: one.retry_after,
            ended: one.ended,
            error: one.error,
        }
    }
}

impl From<DestinationView> for DestinationState {
    fn from(view: DestinationView) -> Self {
        Self {
            name: view.name,
            kind: view.kind,
            address: view.origin,
            events: view.topics,
            regions: view.regions,
            waiting: view.waiting,
            oldest_waiting: view.oldest,
            error: view.error,
            last_delivered: view.last_delivered,
            notifications: view.last.into_iter().map(NotificationSummary::from).collect(),
        }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NotificationsQuery {
    /// Notifications of each destination that wait, and that are over: 1 to 100; 20 without.
    limit: Option<u32>,
}

/// Every destination in the order of the settings.
pub async fn list(
    State(state): State<PortalState>,
    Query(query): Query<NotificationsQuery>,
) -> Result<Response, Fault> {
    let most = query.limit.unwrap_or(USUAL).clamp(1, MOST);
    let views = state.model.notifications.list(most).await.map_err(|error| Fault::store(&error))?;
    let items: Vec<DestinationState> = views.into_iter().map(DestinationState::from).collect();
    json(&Items { total: Some(items.len()), items, next: None })
}

/// A test that was recorded; it is sent within seconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NotificationTest {
    /// The id of the notification.
    id: String,
}

/// Records a test: 201 and its id.
pub async fn test(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(destination): Path<String>,
) -> Result<Response, Fault> {
    created(&NotificationTest { id: send_test(&state, &user, &destination).await? })
}
