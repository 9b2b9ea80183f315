//! The operator inside a cluster as pages show it.

use portal_model::operator::{ConditionReport, Health, condition_reports};
use rp_base::Timestamp;
use web::objects::{AroOperator, ConditionHealth, OperatorCondition};

/// The operator as its panel shows it.
pub(crate) fn operator(cluster: &rp_rows::AroCluster) -> AroOperator {
    let conditions = condition_reports(cluster).into_iter().map(condition).collect();
    AroOperator { version: cluster.operator_version.clone(), conditions }
}

fn condition(report: ConditionReport) -> OperatorCondition {
    let message = match (report.reason.as_str(), report.message) {
        ("" | "CheckDone" | "CheckFailed", message) => message,
        (reason, message) if message.is_empty() => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    OperatorCondition {
        kind: report.kind,
        status: report.status,
        health: match report.health {
            Health::Wrong => ConditionHealth::Wrong,
            Health::Unknown => ConditionHealth::Unknown,
            Health::Progressing => ConditionHealth::Progressing,
            Health::Unrated => ConditionHealth::Unrated,
            Health::Healthy => ConditionHealth::Healthy,
        },
        message,
        since: report.since.map(Timestamp::seconds),
        meaning: report.meaning,
        action: report.action,
    }
}
