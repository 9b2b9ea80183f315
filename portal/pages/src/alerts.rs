//! `{RES}/alerts`: what fires in a cluster.

use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::prom;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_prometheus::alerts::{Alert, Alerts as ActiveAlerts};
use serde::Deserialize;
use web::{AlertGroup, AlertRow, AlertSilence, Alerts, AlertsPage, AlertsState, Notice, Tone, explore_href};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::place;

/// Maximum wait of a page; after it the list is loaded separately.
const PATIENCE: Duration = Duration::from_millis(800);
/// Alerts of one name that are shown.
const ROWS: usize = 50;
/// Names that are shown.
const GROUPS: usize = 200;
/// Labels that say nothing beside the name, or are shown elsewhere.
const KNOWN: [&str; 3] = ["alertname", "severity", "prometheus"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AlertsPageQuery {
    /// Wait for the cluster's answer.
    wait: String,
}

/// The page. A slow cluster does not delay it: the page then requests the list again.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(asked): Query<AlertsPageQuery>,
) -> Result<Response, Fault> {
    let (entry, frame) = place(&state, &context, &id)?;
    let look = prom::alerts(&state, &user, &id);
    let found =
        if asked.wait == "1" { Some(look.await) } else { tokio::time::timeout(PATIENCE, look).await.ok() };
    let shown = match found {
        None => AlertsState::Loading,
        Some(Ok(alerts)) => AlertsState::Known(known(&entry, &alerts)),
        Some(Err(fault)) => AlertsState::Failed(Fault::from(fault).failure(&frame)),
    };
    let page = AlertsPage {
        active: crate::cluster_head::active(&state, &user, &entry).await,
        cluster: crate::cluster_head::cluster(&entry, &user),
        state: shown,
        failure: None,
        frame,
    };
    answer(&context, StatusCode::OK, &page)
}

fn known(entry: &Entry, found: &ActiveAlerts) -> Alerts {
    let cut = (found.left_out > 0).then(|| Notice {
        tone: Tone::Warn,
        lead: format!(
            "{} more alerts are not shown.",
            web::text::number(crate::explore::count(found.left_out))
        ),
        text: "Ask for ALERTS in the explorer.".to_owned(),
        action: None,
    });
    let notices = found.errors.iter().map(|error| Notice {
        tone: Tone::Warn,
        lead: format!("{} did not answer.", capital(error.from)),
        text: format!("{} What is below comes from the other alone.", error.message),
        action: None,
    });
    let mut groups: Vec<AlertGroup> = Vec::new();
    for alert in &found.items {
        let same = |group: &AlertGroup| group.name == alert.name && group.severity == alert.severity;
        if !groups.iter().any(same) {
            if groups.len() >= GROUPS {
                continue;
            }
            groups.push(group(entry, alert));
        }
        let Some(group) = groups.iter_mut().find(|group| same(group)) else { continue };
        group.count += 1;
        let since = alert.since.map(rp_base::Timestamp::seconds);
        group.since = match (group.since, since) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if group.alerts.len() < ROWS {
            group.alerts.push(row(alert));
        }
    }
    Alerts {
        at: found.at.seconds(),
        groups,
        silences: crate::explore::count(found.silences),
        source: found.source.clone(),
        notices: notices.chain(cut).collect(),
    }
}

fn group(entry: &Entry, alert: &Alert) -> AlertGroup {
    let expression = alert.expr.trim();
    AlertGroup {
        name: alert.name.clone(),
        severity: alert.severity.clone(),
        summary: alert.summary.clone(),
        since: None,
        // Rules are written in the cluster: only an address of the web is a link.
        runbook: Some(&alert.runbook).filter(|url| url.starts_with("https://")).cloned().unwrap_or_default(),
        explore: if expression.is_empty() {
            String::new()
        } else {
            explore_href(&entry.path(), expression, false, "3h")
        },
        alerts: Vec::new(),
        count: 0,
    }
}

fn row(alert: &Alert) -> AlertRow {
    let said = |name: &str| alert.annotations.get(name).cloned().unwrap_or_default();
    let description = [said("description"), said("message")].into_iter().find(|text| !text.is_empty());
    AlertRow {
        firing: alert.state == "firing",
        since: alert.since.map(rp_base::Timestamp::seconds),
        value: alert
            .value
            .parse::<f64>()
            .map_or_else(|_| alert.value.chars().take(40).collect(), crate::explore::number),
        labels: alert
            .labels
            .iter()
            .filter(|(name, _)| !KNOWN.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        description: description.unwrap_or_default(),
        silences: alert
            .silenced_by
            .iter()
            .map(|silence| AlertSilence {
                by: silence.by.clone(),
                comment: silence.comment.clone(),
                ends: silence.ends.map(rp_base::Timestamp::seconds),
            })
            .collect(),
        inhibited: alert.inhibited,
    }
}

/// With a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}
