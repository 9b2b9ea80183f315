//! Jobs and cron jobs of the application that a cluster has.

use std::time::Duration;

use serde_json::{Value, json};

use super::{AGE, Cell, Kind, NAME, View, column, instant, metadata};

/// Where the application is, and its name.
const NAMESPACE: &str = "shop";
const APPLICATION: &str = "import-orders";

pub(super) const JOBS: Kind = Kind {
    group: "batch",
    version: "v1",
    plural: "jobs",
    singular: "job",
    kind: "Job",
    namespaced: true,
    short: &[],
    categories: &["all"],
    list: jobs,
    columns: &[NAME, column("Status", Cell::Of(state)), column("Completions", Cell::Of(completions)), AGE],
};

pub(super) const CRONJOBS: Kind = Kind {
    plural: "cronjobs",
    singular: "cronjob",
    kind: "CronJob",
    short: &["cj"],
    list: cronjobs,
    columns: &[NAME, column("Schedule", Cell::At("/spec/schedule")), AGE],
    ..JOBS
};

fn state(job: &Value) -> Value {
    let conditions = job["status"]["conditions"].as_array();
    let holds = conditions.into_iter().flatten().find(|condition| condition["status"] == "True");
    holds.map_or_else(|| json!("Running"), |condition| condition["type"].clone())
}

fn completions(job: &Value) -> Value {
    let done = job["status"]["succeeded"].as_u64().unwrap_or(0);
    json!(format!("{done}/{}", job["spec"]["completions"].as_u64().unwrap_or(1)))
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": APPLICATION}}, "spec": {"restartPolicy": "Never",
        "containers": [{"name": APPLICATION, "image": "registry.invalid/shop/import-orders:simulated"}]}})
}

fn jobs(view: &View<'_>) -> Vec<Value> {
    let mut metadata =
        metadata(view, "jobs", Some(NAMESPACE), "import-orders-29000000", &json!({"app": APPLICATION}));
    metadata["generation"] = json!(1);
    let began = view.cluster.began("jobs/import-orders");
    let ended = began + Duration::from_secs(41);
    let condition = json!({"type": "Complete", "status": "True", "lastProbeTime": instant(ended),
        "lastTransitionTime": instant(ended)});
    vec![json!({"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata,
        "spec": {"completions": 1, "parallelism": 1, "backoffLimit": 6, "template": template()},
        "status": {"succeeded": 1, "startTime": instant(began), "completionTime": instant(ended),
            "conditions": [condition]}})]
}

fn cronjobs(view: &View<'_>) -> Vec<Value> {
    let metadata = metadata(view, "cronjobs", Some(NAMESPACE), APPLICATION, &json!({"app": APPLICATION}));
    vec![json!({"kind": "CronJob", "apiVersion": "batch/v1", "metadata": metadata,
        "spec": {"schedule": "10 * * * *", "concurrencyPolicy": "Forbid", "suspend": false,
            "jobTemplate": {"spec": {"template": template()}}},
        "status": {}})]
}
