//! What fires in a cluster: Prometheus' rules joined with Alertmanager's silences.

use std::collections::BTreeMap;
use std::sync::Arc;

use rp_base::Timestamp;
use rp_net::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Limits};
use crate::error::PromError;
use crate::reach::Prometheus;
use crate::source::SourceChoice;

type Labels = BTreeMap<String, String>;

/// One alert.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alert {
    pub name: String,
    /// `firing` or `pending`.
    pub state: String,
    pub since: Option<Timestamp>,
    /// `critical`, `warning`, `info` or `none`.
    pub severity: String,
    pub labels: Labels,
    pub annotations: Labels,
    pub value: String,
    /// The rule's query; empty where the alert is known from Alertmanager only.
    pub expr: String,
    pub summary: String,
    /// An http(s) address, or empty.
    pub runbook: String,
    pub silenced_by: Vec<Silence>,
    pub inhibited: bool,
}

/// A silence that covers an alert.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Silence {
    pub id: String,
    pub by: String,
    pub comment: String,
    pub ends: Option<Timestamp>,
}

/// Alerts of one rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AlertGroup")]
pub struct Group {
    pub name: String,
    pub severity: String,
    pub firing: usize,
    pub pending: usize,
    pub silenced: usize,
    pub since: Option<Timestamp>,
}

/// A service that did not answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AlertSourceError {
    /// `prometheus` or `alertmanager`.
    pub from: &'static str,
    pub message: String,
    pub side: &'static str,
    pub action: String,
}

/// What fires now.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alerts {
    pub at: Timestamp,
    /// Worst first, then by name and age.
    pub items: Vec<Alert>,
    pub groups: Vec<Group>,
    /// Silences in force.
    pub silences: usize,
    /// Alertmanager answered.
    pub alertmanager: bool,
    /// Which Prometheus answered; empty: none.
    pub source: String,
    pub errors: Vec<AlertSourceError>,
    /// Left out, for there were too many.
    pub left_out: usize,
}

/// Most alerts in a response.
const MOST: usize = 2000;
/// Bytes of each answer.
const MOST_BYTES: usize = 16 << 20;

#[derive(Deserialize)]
struct Rules {
    data: RuleGroups,
}

#[derive(Deserialize)]
struct RuleGroups {
    #[serde(default)]
    groups: Vec<RuleGroup>,
}

#[derive(Deserialize)]
struct RuleGroup {
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(default)]
    name: String,
    #[serde(default)]
    query: String,
    #[serde(default)]
    alerts: Vec<RuleAlert>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleAlert {
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    annotations: Labels,
    #[serde(default)]
    state: String,
    #[serde(default)]
    active_at: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AlertmanagerAlert {
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    annotations: Labels,
    #[serde(default)]
    starts_at: String,
    #[serde(default)]
    status: AlertmanagerStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct AlertmanagerStatus {
    silenced_by: Vec<String>,
    inhibited_by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AlertmanagerSilence {
    id: String,
    #[serde(default)]
    created_by: String,
    #[serde(default)]
    comment: String,
    #[serde(default)]
    ends_at: String,
    #[serde(default)]
    status: SilenceState,
}

#[derive(Deserialize, Default)]
struct SilenceState {
    #[serde(default)]
    state: String,
}

impl Prometheus {
    /// Reads the firing alerts. When one of the two services fails, the alerts of the other are returned.
    ///
    /// # Errors
    /// Neither answered.
    pub async fn alerts(
        &self,
        target: &Arc<Target>,
        at: Timestamp,
        limits: Limits,
    ) -> Result<Alerts, PromError> {
        let kind = [("type".to_owned(), "alert".to_owned())];
        let rules = Call::internal("rules", kind, SourceChoice::Auto, limits);
        let told = Call::internal("/api/v2/alerts", [], SourceChoice::Alertmanager, limits);
        let silences = Call::internal("/api/v2/silences", [], SourceChoice::Alertmanager, limits);
        let (rules, told, silences) = tokio::join!(
            self.read::<Rules>(target, &rules),
            self.read::<Vec<AlertmanagerAlert>>(target, &told),
            self.read::<Vec<AlertmanagerSilence>>(target, &silences),
        );
        let mut errors = Vec::new();
        let (told, alertmanager) = match told {
            Ok((told, _)) => (told, true),
            Err(error) => {
                errors.push(missing("alertmanager", &error));
                (Vec::new(), false)
            }
        };
        let (rules, source) = match rules {
            Ok((rules, source)) => (rules.data.groups, source),
            Err(error) if !alertmanager => return Err(error),
            Err(error) => {
                errors.push(missing("prometheus", &error));
                (Vec::new(), String::new())
            }
        };
        let silences = silences.map(|(silences, _)| silences).unwrap_or_default();
        let mut items = joined(rules, &told, &silences);
        items.sort_by(|a, b| {
            let key = |alert: &Alert| (rank(&alert.severity), alert.state != "firing");
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name)).then_with(|| a.since.cmp(&b.since))
        });
        let left_out = items.len().saturating_sub(MOST);
        let groups = grouped(&items);
        items.truncate(MOST);
        let silences = silences.iter().filter(|silence| silence.status.state == "active").count();
        Ok(Alerts { at, items, groups, silences, alertmanager, source, errors, left_out })
    }

    async fn read<T: serde::de::DeserializeOwned>(
        &self,
        target: &Arc<Target>,
        call: &Call,
    ) -> Result<(T, String), PromError> {
        let read = async {
            let answer = self.ask(target, call).await?;
            let source = answer.source.to_owned();
            let (bytes, _) = crate::table::read(answer, MOST_BYTES).await?;
            let value = serde_json::from_slice(&bytes).map_err(|error| PromError::Broken(error.into()))?;
            Ok((value, source))
        };
        tokio::time::timeout(call.limits.time, read).await.map_err(|_| PromError::Slow(call.limits.time))?
    }
}

fn missing(from: &'static str, error: &PromError) -> AlertSourceError {
    let shown = error.shown();
    AlertSourceError { from, message: shown.message, side: shown.side.name(), action: shown.action }
}

fn joined(
    groups: Vec<RuleGroup>,
    told: &[AlertmanagerAlert],
    silences: &[AlertmanagerSilence],
) -> Vec<Alert> {
    let mut items = Vec::new();
    let mut known = vec![false; told.len()];
    // Indexed by name, so that each rule is compared only with its own alerts.
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, alert) in told.iter().enumerate() {
        by_name.entry(alert.labels.get("alertname").map_or("", String::as_str)).or_default().push(at);
    }
    for rule in groups.into_iter().flat_map(|group| group.rules) {
        for alert in rule.alerts {
            let same = by_name.get(rule.name.as_str()).into_iter().flatten().copied().find(|at| {
                // Alertmanager may add external labels.
                told.get(*at)
                    .is_some_and(|told| alert.labels.iter().all(|(k, v)| told.labels.get(k) == Some(v)))
            });
            if let Some(known) = same.and_then(|at| known.get_mut(at)) {
                *known = true;
            }
            let status = same.and_then(|at| told.get(at)).map(|told| &told.status);
            let since = instant(&alert.active_at);
            let mut item = new(&rule.name, alert.state, since, alert.labels, alert.annotations);
            item.value = alert.value;
            item.expr.clone_from(&rule.query);
            item.cover(status, silences);
            items.push(item);
        }
    }
    let rest = told.iter().zip(known).filter(|(_, known)| !known).map(|(told, _)| told);
    for told in rest {
        let name = told.labels.get("alertname").cloned().unwrap_or_default();
        let since = instant(&told.starts_at);
        let mut item = new(&name, "firing".to_owned(), since, told.labels.clone(), told.annotations.clone());
        item.cover(Some(&told.status), silences);
        items.push(item);
    }
    items
}

fn new(name: &str, state: String, since: Option<Timestamp>, labels: Labels, annotations: Labels) -> Alert {
    let text = |keys: &[&str]| keys.iter().find_map(|key| annotations.get(*key)).cloned().unwrap_or_default();
    let runbook = text(&["runbook_url", "runbook"]);
    Alert {
        name: name.to_owned(),
        state,
        since,
        severity: labels.get("severity").cloned().unwrap_or_else(|| "none".to_owned()),
        value: String::new(),
        expr: String::new(),
        summary: text(&["summary", "message", "description"]),
        // Annotations are untrusted: only http(s) addresses become links.
        runbook: if runbook.starts_with("https://") || runbook.starts_with("http://") {
            runbook
        } else {
            String::new()
        },
        labels,
        annotations,
        silenced_by: Vec::new(),
        inhibited: false,
    }
}

impl Alert {
    fn cover(&mut self, status: Option<&AlertmanagerStatus>, silences: &[AlertmanagerSilence]) {
        let Some(status) = status else { return };
        self.inhibited = !status.inhibited_by.is_empty();
        self.silenced_by = status
            .silenced_by
            .iter()
            .map(|id| {
                let known = silences.iter().find(|silence| silence.id == *id);
                Silence {
                    id: id.clone(),
                    by: known.map(|silence| silence.created_by.clone()).unwrap_or_default(),
                    comment: known.map(|silence| silence.comment.clone()).unwrap_or_default(),
                    ends: known.and_then(|silence| instant(&silence.ends_at)),
                }
            })
            .collect();
    }
}

fn instant(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).ok()
}

fn rank(severity: &str) -> u8 {
    match severity {
        "critical" => 0,
        "warning" => 1,
        "info" => 3,
        "none" => 4,
        _ => 2,
    }
}

fn grouped(items: &[Alert]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for item in items {
        let at = groups.iter().position(|group| group.name == item.name && group.severity == item.severity);
        let at = at.unwrap_or_else(|| {
            groups.push(Group {
                name: item.name.clone(),
                severity: item.severity.clone(),
                firing: 0,
                pending: 0,
                silenced: 0,
                since: item.since,
            });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(at) else { continue };
        group.firing += usize::from(item.state == "firing");
        group.pending += usize::from(item.state != "firing");
        group.silenced += usize::from(!item.silenced_by.is_empty());
        group.since = match (group.since, item.since) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    groups
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rules() -> Vec<RuleGroup> {
        let alert = |severity: &str, pod: &str, state: &str| {
            json!({"labels": {"alertname": "A", "severity": severity, "pod": pod}, "state": state, "value": "1e+00",
                "annotations": {"summary": "s", "runbook_url": "javascript:alert(1)"}, "activeAt": "2026-11-21T01:00:00.5Z"})
        };
        let value = json!({"data": {"groups": [{"rules": [
            {"name": "A", "query": "up == 0", "alerts": [alert("warning", "x", "pending"), alert("warning", "y", "firing")]},
            {"name": "quiet", "query": "0"},
        ]}]}});
        serde_json::from_value::<Rules>(value).unwrap().data.groups
    }

    fn told(value: Value) -> Vec<AlertmanagerAlert> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn rules_and_alertmanager_are_one_list() {
        let told = told(json!([
            {"labels": {"alertname": "A", "severity": "warning", "pod": "y", "prometheus": "k8s"}, "startsAt": "2026-11-21T01:00:00Z",
             "status": {"silencedBy": ["s1"], "inhibitedBy": []}},
            {"labels": {"alertname": "Watchdog", "severity": "none"}, "startsAt": "2026-11-20T01:00:00Z",
             "annotations": {"runbook_url": "https://runbooks.example/Watchdog"}, "status": {}},
        ]));
        let silences: Vec<AlertmanagerSilence> = serde_json::from_value(json!([
            {"id": "s1", "createdBy": "ana", "comment": "known", "endsAt": "2026-11-22T00:00:00Z", "status": {"state": "active"}},
        ])).unwrap();
        let items = joined(rules(), &told, &silences);
        assert_eq!(items.len(), 3);
        let silenced = items.iter().find(|item| !item.silenced_by.is_empty()).unwrap();
        assert_eq!((silenced.labels["pod"].as_str(), silenced.silenced_by[0].by.as_str()), ("y", "ana"));
        assert_eq!(silenced.expr, "up == 0");
        assert_eq!(silenced.runbook, "", "only http addresses are links");
        let watchdog = items.iter().find(|item| item.name == "Watchdog").unwrap();
        assert_eq!(watchdog.runbook, "https://runbooks.example/Watchdog");
        let groups = grouped(&items);
        assert_eq!((groups[0].firing, groups[0].pending, groups[0].silenced), (1, 1, 1));
    }
}
