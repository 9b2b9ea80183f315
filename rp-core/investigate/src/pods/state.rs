//! What a pod with one container does, in words for people.

use rp_base::text::clean;
use serde_json::Value;

/// Longest text of a reason, in characters.
const MOST: usize = 512;

/// What the pod of an investigation does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PodState {
    /// It does not run yet; why.
    Waiting(String),
    /// It runs.
    Running,
    /// It ended well.
    Succeeded,
    /// It ended otherwise; why.
    Failed(String),
}

impl PodState {
    /// Of the object.
    pub(super) fn of(pod: &Value) -> Self {
        let status = &pod["status"];
        match status["phase"].as_str().unwrap_or_default() {
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed(why_failed(status)),
            _ => Self::Waiting(why_waiting(status)),
        }
    }
}

fn why_waiting(status: &Value) -> String {
    let waiting = &status["containerStatuses"][0]["state"]["waiting"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let blocked = conditions.into_iter().find(|condition| condition["status"] == "False");
    let of = [Some(waiting), blocked].into_iter().flatten();
    let told = of.map(|of| sentence(of, "reason")).find(|told| !told.is_empty());
    told.unwrap_or_else(|| "it waits for a node".to_owned())
}

fn why_failed(status: &Value) -> String {
    let told = sentence(status, "reason");
    if !told.is_empty() {
        return told;
    }
    let ended = &status["containerStatuses"][0]["state"]["terminated"];
    match ended["exitCode"].as_i64() {
        Some(code) => format!("exit code {code} {}", sentence(ended, "reason")).trim_end().to_owned(),
        None => "no reason is known".to_owned(),
    }
}

/// `Reason: message`, or what there is of it.
fn sentence(of: &Value, reason: &str) -> String {
    let text = |name: &str| of[name].as_str().unwrap_or_default();
    let told = match (text(reason), text("message")) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    clean(&told, MOST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_says_what_it_waits_for_and_how_it_ended() {
        let state = |status: Value| PodState::of(&json!({"status": status}));
        assert_eq!(state(json!({"phase": "Running"})), PodState::Running);
        assert_eq!(state(json!({"phase": "Succeeded"})), PodState::Succeeded);
        for (status, why) in [
            (json!({}), "it waits for a node"),
            (
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": "Unschedulable", "message": "0/3 nodes\nare available"}]}),
                "Unschedulable: 0/3 nodesare available",
            ),
            (
                json!({"phase": "Pending", "conditions": [{"status": "False", "reason": "ContainersNotReady"}],
                    "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}),
                "ImagePullBackOff",
            ),
        ] {
            assert_eq!(state(status), PodState::Waiting(why.to_owned()));
        }
        for (status, why) in [
            (json!({"phase": "Failed"}), "no reason is known"),
            (
                json!({"phase": "Failed", "reason": "DeadlineExceeded", "message": "too long"}),
                "DeadlineExceeded: too long",
            ),
            (
                json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 137,
                    "reason": "OOMKilled"}}}]}),
                "exit code 137 OOMKilled",
            ),
        ] {
            assert_eq!(state(status), PodState::Failed(why.to_owned()));
        }
    }
}
