//! Manifests and schedules (`contract/mimo.md` §7).

use rp_database::Typed;
use rp_documents::maintenance::{ManifestState, Rollout, TASKS, Task};
use rp_documents::{ManifestDocument, ScheduleDocument};
use serde_json::{Value, json};

use super::{Api, id, path, wanted};

const QUEUED: &str = "/admin/maintenancemanifests/queued";
const SCHEDULES: &str = "/admin/maintenanceschedules";
const SCHEDULE: &str = "08080808-0808-4080-8080-080808080808";

fn manifests() -> String {
    format!("/admin{}/maintenancemanifests", id("c"))
}

async fn with_cluster() -> Api {
    let api = Api::registered().await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, 201);
    api.finish("Succeeded").await;
    api
}

async fn order(api: &Api, body: Value) -> Value {
    let told = api.call("PUT", &manifests(), Some(body)).await;
    assert_eq!(told.status, 201, "{}", told.text);
    told.json()
}

fn schedule() -> Value {
    json!({"id": SCHEDULE, "state": "Enabled", "maintenanceTaskID": Task::FixSsh.id(), "schedule": "Mon *-*-* 4:00",
        "lookForwardCount": 1, "scheduleAcross": "24h",
        "selectors": [{"key": "subscriptionState", "operator": "in", "values": ["Registered"]}]})
}

#[tokio::test]
async fn a_manifest_is_made_shown_and_cancelled_once() {
    let api = with_cluster().await;
    let made = order(
        &api,
        json!({"maintenanceTaskID": Task::FixSsh.id(), "priority": 1, "state": "Completed",
        "id": "mine", "statusText": "x", "createdBySchedule": "y"}),
    )
    .await;
    let name = made["id"].as_str().unwrap().to_owned();
    assert_eq!(
        made,
        json!({"id": name, "state": "Pending", "maintenanceTaskID": Task::FixSsh.id(), "priority": 1,
            "runAfter": made["runAfter"], "runBefore": made["runAfter"].as_i64().unwrap() + 7 * 24 * 3600})
    );
    let one = format!("{}/{name}", manifests());
    assert_eq!(api.call("GET", &one, None).await.json(), made);
    let told = api.call("GET", &manifests(), None).await;
    assert_eq!(told.json(), json!({"value": [made], "nextLink": ""}));
    assert!(told.text.contains("\n    \"value\""), "{}", told.text);
    let queued = api.call("GET", QUEUED, None).await.json();
    assert_eq!(queued["value"][0]["clusterResourceID"], id("c").to_lowercase());

    let cancel = format!("{one}/cancel");
    let told = api.call("POST", &cancel, Some(json!({}))).await;
    assert_eq!((told.status.as_u16(), told.json()["state"].clone()), (200, json!("Cancelled")));
    let told = api.call("POST", &cancel, Some(json!({}))).await;
    assert_eq!(told.status, 406);
    assert_eq!(told.json()["error"]["code"], "PropertyChangeNotAllowed");
    assert_eq!(told.json()["error"]["message"], "cannot cancel task in state Cancelled");
    assert_eq!(api.call("GET", QUEUED, None).await.json()["value"], json!([]));

    let told = api.call("DELETE", &one, None).await;
    assert_eq!((told.status.as_u16(), told.json()), (200, json!({})));
    for method in ["GET", "DELETE"] {
        let told = api.call(method, &one, None).await;
        assert_eq!((told.status.as_u16(), told.json()["error"]["code"].clone()), (404, json!("NotFound")));
    }
}

#[tokio::test]
async fn what_runs_cannot_be_cancelled() {
    let api = with_cluster().await;
    let made = order(&api, json!({"maintenanceTaskID": Task::FixSsh.id()})).await;
    let name = made["id"].as_str().unwrap();
    let stored = Typed::<ManifestDocument>::new(api.store.clone());
    rp_database::update(&stored, name, |document| {
        document.maintenance_manifest.state = ManifestState::InProgress;
    })
    .await
    .unwrap();
    let told = api.call("POST", &format!("{}/{name}/cancel", manifests()), Some(json!({}))).await;
    assert_eq!(told.json()["error"]["message"], "cannot cancel task in state InProgress");
}

#[tokio::test]
async fn only_tasks_that_can_run_are_taken() {
    let api = with_cluster().await;
    for task in TASKS {
        let machine = if task.needs_machine() { "worker-1" } else { "" };
        let body = json!({"maintenanceTaskID": task.id(), "machine": machine});
        let told = api.call("PUT", &manifests(), Some(body)).await;
        let ready = task.build() == rp_documents::maintenance::Build::Ready;
        assert_eq!(told.status.as_u16(), if ready { 201 } else { 400 }, "{}: {}", task.name(), told.text);
        assert_eq!(told.text.contains(&format!("task '{}' is not available: ", task.name())), !ready);
    }
    let refused = |body: Value| async { api.call("PUT", &manifests(), Some(body)).await.refusal() };
    let invalid = |target: &str| (400, "InvalidParameter".to_owned(), target.to_owned());
    assert_eq!(refused(json!({})).await, invalid("maintenanceTaskID"));
    assert_eq!(refused(json!({"maintenanceTaskID": "x"})).await, invalid("maintenanceTaskID"));
    let with = |name: &str, value: i64| json!({"maintenanceTaskID": Task::FixSsh.id(), name: value});
    assert_eq!(refused(with("priority", -1)).await, invalid("priority"));
    assert_eq!(refused(with("runBefore", 5)).await, invalid("runBefore"));
    let restart = |machine: &str| json!({"maintenanceTaskID": Task::RestartMachine.id(), "machine": machine});
    assert_eq!(refused(restart("")).await, invalid("machine"));
    assert_eq!(refused(restart("../worker-1")).await, invalid("machine"));
    let made = order(
        &api,
        json!({"maintenanceTaskID": Task::StartMachine.id(), "machine": "worker-1", "force": true}),
    )
    .await;
    assert_eq!((&made["machine"], &made["force"]), (&json!("worker-1"), &json!(true)));
    let told = api.call("PUT", &manifests(), Some(json!({"maintenanceTaskID": 5}))).await;
    assert_eq!(told.refusal(), (400, "InvalidRequestContent".to_owned(), String::new()));
}

#[tokio::test]
async fn lists_go_on_where_the_page_ended() {
    let api = with_cluster().await;
    for _ in 0..23 {
        order(&api, json!({"maintenanceTaskID": Task::FixSsh.id()})).await;
    }
    for list in [manifests(), QUEUED.to_owned()] {
        let (mut at, mut ids, mut pages) =
            (format!("{list}?limit=100"), std::collections::BTreeSet::new(), 0);
        loop {
            let told = api.call("GET", &at, None).await;
            assert_eq!(told.status, 200, "{}", told.text);
            let told = told.json();
            ids.extend(told["value"].as_array().unwrap().iter().map(|one| one["id"].to_string()));
            pages += 1;
            let next = told["nextLink"].as_str().unwrap();
            if next.is_empty() {
                break;
            }
            let url = url::Url::parse(next).unwrap();
            at = format!("{}?{}", url.path(), url.query().unwrap());
        }
        assert_eq!((ids.len(), pages), (23, 3), "{list}");
    }
    let few = api.call("GET", &format!("{QUEUED}?limit=2"), None).await.json();
    assert_eq!(few["value"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_cluster_must_be_there() {
    let api = with_cluster().await;
    let none = format!("/admin{}/maintenancemanifests", id("none"));
    let message = |told: super::TestResponse| told.json()["error"]["message"].as_str().unwrap().to_owned();
    let told = api.call("GET", &none, None).await;
    assert_eq!(told.status, 404);
    assert_eq!(message(told), format!("cluster not found: {}", id("none").to_lowercase()));
    let made = order(&api, json!({"maintenanceTaskID": Task::FixSsh.id()})).await;
    let one = format!("{}/{}", manifests(), made["id"].as_str().unwrap());
    api.finish("Deleting").await;
    assert_eq!(message(api.call("GET", &one, None).await), "cluster being deleted");
    assert_eq!(api.call("DELETE", &one, None).await.status, 200);
}

#[tokio::test]
async fn a_schedule_is_made_changed_and_deleted_with_what_it_planned() {
    let api = with_cluster().await;
    let told = api.call("PUT", SCHEDULES, Some(schedule())).await;
    assert_eq!((told.status.as_u16(), told.json()), (201, schedule()));
    let mut changed = schedule();
    changed["lookForwardCount"] = json!(3);
    let told = api.call("PUT", SCHEDULES, Some(changed.clone())).await;
    assert_eq!((told.status.as_u16(), told.json()), (200, changed.clone()));
    let one = format!("{SCHEDULES}/{SCHEDULE}");
    assert_eq!(api.call("GET", &one, None).await.json(), changed);
    assert_eq!(api.call("GET", SCHEDULES, None).await.json(), json!({"value": [changed], "nextLink": ""}));
    let mut other = schedule();
    other["maintenanceTaskID"] = json!(Task::RegistryTokenCheck.id());
    let refused = api.call("PUT", SCHEDULES, Some(other)).await.refusal();
    assert_eq!(refused, (400, "PropertyChangeNotAllowed".to_owned(), "maintenanceTaskID".to_owned()));

    let stored = Typed::<ManifestDocument>::new(api.store.clone());
    let now = api.store.now().await.unwrap().seconds();
    for (n, run_after) in [(1, now + 100), (2, now + 200), (3, now - 100)] {
        let manifest = rp_documents::maintenance::Manifest {
            created_by_schedule: SCHEDULE.to_owned(),
            run_after,
            ..Default::default()
        };
        let document = ManifestDocument::new(format!("m{n}"), id("c").to_lowercase(), manifest);
        stored.create(document).await.unwrap();
    }
    let cancel = format!("/admin/maintenancemanifests/cancel?scheduleID={SCHEDULE}");
    assert_eq!(api.call("POST", &cancel, Some(json!({}))).await.json(), json!({"cancelled": 2, "errors": 0}));
    assert_eq!(api.call("POST", &cancel, Some(json!({}))).await.json(), json!({"cancelled": 0, "errors": 0}));
    let told = api.call("POST", "/admin/maintenancemanifests/cancel", Some(json!({}))).await;
    assert_eq!(told.json()["error"]["message"], "Parameter is missing");

    assert_eq!(api.call("DELETE", &one, None).await.status, 200);
    let told = api.call("GET", &one, None).await;
    let message = told.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with(&format!("schedule '{SCHEDULE}' not found: ")), "{message}");
}

#[tokio::test]
async fn a_schedule_that_stopped_shows_why_and_goes_on_when_it_is_written_again() {
    let api = Api::registered().await;
    let mut wanted = schedule();
    wanted["waves"] = json!([5, 100]);
    wanted["waveEvery"] = json!("48h");
    wanted["stopAtPercent"] = json!(10);
    let told = api.call("PUT", SCHEDULES, Some(wanted.clone())).await;
    assert_eq!((told.status.as_u16(), told.json()), (201, wanted.clone()));
    let schedules = Typed::<ScheduleDocument>::new(api.store.clone());
    let mut found = schedules.get(SCHEDULE).await.unwrap().unwrap();
    let failed = vec![id("c").to_lowercase()];
    found.value.rollout = Rollout { window: 900, failed, of: 3, stopped: 1000, ..Rollout::default() };
    schedules.replace(found).await.unwrap();
    let one = format!("{SCHEDULES}/{SCHEDULE}");
    let rollout = &api.call("GET", &one, None).await.json()["rollout"];
    assert!(rollout["stopped"] == 1000 && rollout["of"] == 3, "{rollout}");
    assert_eq!(rollout["failed"], json!([id("c").to_lowercase()]));
    let told = api.call("PUT", SCHEDULES, Some(wanted)).await.json();
    assert_eq!(told["rollout"], json!({"window": 900, "of": 3, "stopped": 0}));
}

#[tokio::test]
async fn mistakes_in_schedules_are_named() {
    let api = with_cluster().await;
    for (member, value, target) in [
        ("schedule", json!("often"), "schedule"),
        ("schedule", json!(""), "schedule"),
        ("state", json!("Paused"), "state"),
        ("lookForwardCount", json!(0), "LookForwardCount"),
        ("scheduleAcross", json!("1d"), "scheduleAcross"),
        ("maintenanceTaskID", json!(Task::IdentityCertificate.id()), "maintenanceTaskID"),
        ("selectors", json!([]), "selectors"),
        ("waves", json!([5, 25]), "waves"),
        ("waves", json!([5, 100]), "waveEvery"),
        ("stopAtPercent", json!(101), "stopAtPercent"),
        ("selectors", json!([{"key": "x", "operator": "eq", "value": "y"}]), "selectors[0].key"),
        ("id", json!("mine"), "id"),
    ] {
        let mut wrong = schedule();
        wrong[member] = value;
        let refused = api.call("PUT", SCHEDULES, Some(wrong)).await.refusal();
        assert_eq!(refused, (400, "InvalidParameter".to_owned(), target.to_owned()));
    }
    let mut new = schedule();
    new.as_object_mut().unwrap().remove("id");
    let told = api.call("PUT", SCHEDULES, Some(new)).await;
    assert_eq!(told.status, 201);
    assert_eq!(told.json()["id"].as_str().unwrap().len(), 36);
}
