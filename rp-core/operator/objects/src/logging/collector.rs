//! The configuration of a collector. It is written as JSON, which every reader of YAML takes: patterns are full of characters
//! that mean something in YAML, and nothing in them in JSON.

mod parity;
mod receivers;

use serde_json::{Map, Value, json};

use super::expressions::{audit, containers, journal};
use super::pods::STORAGE;
use super::{NodeRole, Profile};

/// A source of logs, by the name in its components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Journald,
    Containers,
    Audit,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Journald => "journald",
            Self::Containers => "containers",
            Self::Audit => "audit",
        }
    }

    const fn receiver(self) -> &'static str {
        match self {
            Self::Journald => "journald",
            Self::Containers => "file_log/containers",
            Self::Audit => "file_log/audit",
        }
    }

    /// The audit log of the API server is on nodes of the control plane.
    fn of(role: NodeRole) -> Vec<Self> {
        match role {
            NodeRole::Master => vec![Self::Journald, Self::Containers, Self::Audit],
            NodeRole::Worker => vec![Self::Journald, Self::Containers],
        }
    }

    fn dropped(self, profile: Profile, role: NodeRole) -> Vec<String> {
        match self {
            Self::Journald => journal(profile, role),
            Self::Containers => containers(profile),
            Self::Audit => audit(profile),
        }
    }
}

/// The configuration for the nodes of a role. The collector replaces `${env:…}`.
pub fn configuration(role: NodeRole, profile: Profile) -> String {
    let mut processors = common();
    let (mut receivers, mut pipelines) = (Map::new(), Map::new());
    for source in Source::of(role) {
        let mut steps = vec!["memory_limiter".to_owned()];
        let dropped = source.dropped(profile, role);
        let mut add = |name: String, processor: Value| {
            processors.insert(name.clone(), processor);
            steps.push(name);
        };
        if !dropped.is_empty() {
            // An error of a condition keeps the record.
            let filter = json!({ "error_mode": "ignore", "logs": { "log_record": dropped } });
            add(format!("filter/{}", source.name()), filter);
        }
        add(format!("transform/log-parity-{}", source.name()), parity::transform(source));
        add(format!("attributes/{}", source.name()), attributes(source));
        steps.push("batch".to_owned());
        receivers.insert(source.receiver().to_owned(), receivers::receiver(source, profile));
        pipelines.insert(
            format!("logs/{}", source.name()),
            json!({ "receivers": [source.receiver()], "processors": steps, "exporters": ["otlp_grpc/gateway"] }),
        );
    }
    let whole = json!({
        "receivers": receivers,
        "processors": processors,
        "exporters": { "otlp_grpc/gateway": exporter() },
        "extensions": {
            "health_check": { "endpoint": "0.0.0.0:13133" },
            "file_storage": { "directory": STORAGE },
        },
        "service": {
            "extensions": ["health_check", "file_storage"],
            "telemetry": { "metrics": { "level": "basic", "readers": [
                { "pull": { "exporter": { "prometheus": { "host": "0.0.0.0", "port": 8888 } } } },
            ] } },
            "pipelines": pipelines,
        },
    });
    format!("{:#}\n", escaped(whole))
}

/// A `$` of a text means itself; only the two variables below are replaced.
fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("${env:") => Value::String(text),
        Value::String(text) => {
            Value::String(text.replace('$', "$$").replace(&parity::NODE.replace('$', "$$"), parity::NODE))
        }
        Value::Array(items) => items.into_iter().map(escaped).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, escaped(value))).collect())
        }
        other => other,
    }
}

fn common() -> Map<String, Value> {
    let limiter = json!({ "check_interval": "1s", "limit_percentage": 80, "spike_limit_percentage": 15 });
    let batch = json!({ "timeout": "10s", "send_batch_size": 2048, "send_batch_max_size": 4096 });
    [("memory_limiter".to_owned(), limiter), ("batch".to_owned(), batch)].into_iter().collect()
}

fn attributes(source: Source) -> Value {
    let set = |key: &str| json!({ "action": "upsert", "key": key, "value": source.name() });
    json!({ "actions": [{ "action": "delete", "key": "Environment" }, set("source_name"), set("EventName")] })
}

fn exporter() -> Value {
    json!({
        "endpoint": "${env:GENEVA_GATEWAY_ENDPOINT}",
        "compression": "gzip",
        "retry_on_failure": { "enabled": true },
        "sending_queue": { "enabled": true, "queue_size": 1200, "num_consumers": 2, "storage": "file_storage" },
    })
}
