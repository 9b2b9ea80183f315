//! Maintenance by forms, pages and JSON.

use rp_database::Typed;
use rp_documents::maintenance::{Manifest, ManifestState, Rollout, Schedule, ScheduleState, Task, Times};
use rp_documents::{ManifestDocument, Role, ScheduleDocument};
use serde_json::Value;

use super::kit::{Kit, RES, TestResponse, until};

const REASON: &str = "SSH to master-1 times out";

async fn order(kit: &Kit, fields: &[(&str, &str)]) -> TestResponse {
    kit.form(Role::Elevated, &format!("{RES}/operations"), fields).await
}

async fn operations(kit: &Kit, role: Role) -> String {
    kit.page(role, &format!("{RES}/operations")).await.body
}

/// A manifest that waits for a time to come.
async fn plan(kit: &Kit, id: &str, cluster: &str, task: Task) {
    let now = kit.store.now().await.unwrap();
    let times = Times { run_after: now.seconds() + 3600, run_before: 0 };
    let document = ManifestDocument::new(id, cluster, Manifest::ordered(task.id(), 0, times, now));
    Typed::new(kit.store.clone()).create(document).await.unwrap();
}

async fn becomes(kit: &Kit, id: &str, state: ManifestState, text: &str) {
    let manifests = Typed::<ManifestDocument>::new(kit.store.clone());
    let found = manifests.get(id).await.unwrap().unwrap();
    let now = kit.store.now().await.unwrap();
    manifests.replace(found.try_map(|one| one.with_state(state, text, now)).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_form_is_offered_to_whom_it_is_for_and_others_read_what_they_lack() {
    let kit = Kit::new().await;
    let viewer = operations(&kit, Role::Viewer).await;
    assert!(viewer.contains("You need the elevated role") && !viewer.contains("order-form"), "{viewer}");
    let page = operations(&kit, Role::Elevated).await;
    assert!(page.contains("You are not elevated to write on this cluster."), "{page}");
    assert!(page.contains("/elevate?cluster=") && !page.contains("order-form"), "{page}");
    // What was typed is not lost where an elevation has ended meanwhile.
    let refused = order(&kit, &[("task", Task::FixSsh.id()), ("reason", REASON)]).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("need an elevation for this cluster"), "{}", refused.body);
    assert!(refused.body.contains(REASON) && refused.body.contains("order-form"), "{}", refused.body);
    kit.elevated(Role::Elevated, "write").await;
    let page = operations(&kit, Role::Elevated).await;
    assert!(page.contains("order-form") && page.contains(Task::FixSsh.about()), "{page}");
    assert!(page.contains("the data plane of managed identities is not asked"), "{page}");
    assert!(!operations(&kit, Role::Sre).await.contains("order-form"), "an elevation is one person's");
}

#[tokio::test]
async fn mistakes_stand_at_their_fields_and_nothing_is_stored() {
    let kit = Kit::new().await;
    kit.elevated(Role::Elevated, "write").await;
    let fields = [
        ("task", Task::FixSsh.id()),
        ("reason", "short <b>"),
        ("run_after", "2099-01-02T00:00"),
        ("run_before", "2099-01-01T00:00"),
        ("priority", "3"),
    ];
    let answer = order(&kit, &fields).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    for words in [
        "The reason must say in 10 to 1000 characters what you are going to do.",
        "It must be later than the start.",
        "short &lt;b&gt;",
        "value=\"2099-01-02T00:00\"",
        "id=\"order\" open",
    ] {
        assert!(answer.body.contains(words), "without {words}: {}", answer.body);
    }
    for (field, value, words) in [
        ("task", "", "Choose a task."),
        ("task", Task::IdentityCertificate.id(), "is not available"),
        ("priority", "high", "It is a whole number from 0 (first) to 1000 (last)."),
        ("priority", "1001", "Must be between 0 (first) and 1000 (last)."),
        ("run_after", "tomorrow", "An instant is written as"),
    ] {
        let mut fields =
            [("task", Task::FixSsh.id()), ("reason", REASON), ("run_after", ""), ("priority", "")];
        for pair in &mut fields {
            if pair.0 == field {
                pair.1 = value;
            }
        }
        let answer = order(&kit, &fields).await;
        assert!(answer.status == 422 && answer.body.contains(words), "{field}: {}", answer.body);
    }
    let all = Typed::<ManifestDocument>::new(kit.store.clone()).count().await.unwrap();
    assert_eq!(all, 0, "nothing was ordered");
}

#[tokio::test]
async fn the_page_of_a_machine_fills_the_form_in_and_what_is_ordered_names_it() {
    let kit = Kit::new().await;
    let link = format!("{RES}/operations?task=restart%20machine&machine=worker-1");
    let barred = kit.page(Role::Elevated, &link).await.body;
    assert!(barred.contains("machine%3Dworker-1"), "the way to an elevation leads back: {barred}");
    kit.elevated(Role::Elevated, "write").await;
    let offered = kit.page(Role::Elevated, &link).await.body;
    let chosen = format!("value=\"{}\" required checked", Task::RestartMachine.id());
    assert!(offered.contains(&chosen) && offered.contains("value=\"worker-1\""), "{offered}");
    let strange = format!("{RES}/operations?task=%22%3E&machine=%22%3E%3Cblink%3E");
    assert!(!kit.page(Role::Elevated, &strange).await.body.contains("<blink>"));

    let task = [("task", Task::RestartMachine.id()), ("reason", REASON)];
    let nameless = order(&kit, &task).await;
    assert!(nameless.status == 422 && nameless.body.contains("Must be provided."), "{}", nameless.body);
    let fields = [&task[..], &[("machine", "worker-1"), ("force", "on")]].concat();
    assert_eq!(order(&kit, &fields).await.status, 303);
    assert_eq!(kit.audited("maintenance.plan").await.name, "restart machine worker-1, forced");
    let list = kit.page(Role::Viewer, &format!("/api/v1/clusters{RES}/maintenance")).await.json();
    let made = &list["items"][0];
    assert!(made["machine"] == "worker-1" && made["force"] == true, "{made}");
}

#[tokio::test]
async fn an_order_by_form_is_recorded_shown_and_cancelled_with_a_reason() {
    let kit = Kit::new().await;
    kit.elevated(Role::Elevated, "write").await;
    let fields = [("task", Task::FixSsh.id()), ("reason", REASON), ("run_after", "2099-01-01T00:00")];
    let made = order(&kit, &fields).await;
    let home = format!("{RES}/operations");
    assert_eq!((made.status.as_u16(), made.header("location")), (303, home.as_str()), "{made:?}");
    assert!(made.cookie("__Host-aro-did").is_some_and(|cookie| cookie.contains("ordered")), "{made:?}");
    let entry = kit.audited("maintenance.plan").await;
    assert_eq!((entry.name.as_str(), entry.query.as_str()), ("fix SSH", REASON));
    let page = operations(&kit, Role::Elevated).await;
    let path = page.split(&format!("{RES}/maintenance/")).nth(1).unwrap().split('"').next().unwrap();
    let path = format!("{RES}/maintenance/{path}");
    assert!(path.ends_with("/cancel") && page.contains("Planned"), "{page}");
    assert!(!operations(&kit, Role::Viewer).await.contains(&path), "who may not cancel has no way to it");

    let asked = kit.page(Role::Elevated, &path).await;
    assert!(asked.status == 200 && asked.body.contains("Cancel fix SSH?"), "{}", asked.body);
    let short = kit.form(Role::Elevated, &path, &[("why", "no"), ("back", &home)]).await;
    assert_eq!(short.status, 422);
    assert!(short.body.contains("id=\"d-why-e\"") && short.body.contains(">no</textarea>"), "{}", short.body);
    let why = [("why", "the rules are right"), ("back", &*home)];
    let done = kit.form(Role::Elevated, &path, &why).await;
    assert_eq!((done.status.as_u16(), done.header("location")), (303, home.as_str()), "{done:?}");
    assert_eq!(kit.audited("maintenance.cancel").await.query, "the rules are right");
    assert!(operations(&kit, Role::Viewer).await.contains("Cancelled"));
    let twice = kit.form(Role::Elevated, &path, &why).await;
    assert!(twice.status == 409 && twice.body.contains("it is Cancelled"), "{}", twice.body);
    let other = kit.page(Role::Elevated, &path.replace("harbor-01", "nowhere")).await;
    assert_eq!(other.status, 404);
}

#[tokio::test]
async fn the_page_of_the_fleet_follows_what_runs_waits_and_failed() {
    let kit = Kit::new().await;
    plan(&kit, "runs", RES, Task::OperatorUpdate).await;
    plan(&kit, "failed", RES, Task::TlsCertificates).await;
    plan(&kit, "waits", &RES.replace("harbor-01", "gone-01"), Task::FixSsh).await;
    becomes(&kit, "runs", ManifestState::InProgress, "").await;
    becomes(&kit, "failed", ManifestState::InProgress, "").await;
    becomes(&kit, "failed", ManifestState::Failed, "TerminalError: <i>no vault</i>").await;
    until("all three are shown", async || {
        let body = kit.page(Role::Viewer, "/maintenance").await.body;
        ["operator update", "TLS certificate rotation", "gone-01"].iter().all(|words| body.contains(words))
    })
    .await;
    let page = kit.page(Role::Viewer, "/maintenance").await.body;
    assert!(page.contains(&format!("href=\"{RES}/operations\"")), "{page}");
    assert!(!page.contains("gone-01/operations"), "a cluster that is not there has no page");
    assert!(page.contains("TerminalError: ") && !page.contains("<i>no vault"), "{page}");
    let narrow = kit.page(Role::Viewer, "/maintenance?q=Harbor+TLS").await.body;
    assert!(narrow.contains("TLS certificate rotation") && !narrow.contains("operator update,"), "{narrow}");
    assert!(narrow.contains("Nothing found"), "{narrow}");
}

#[tokio::test]
async fn scripts_follow_open_maintenance_by_its_cursor() {
    let kit = Kit::new().await;
    for id in ["m-1", "m-2", "m-3"] {
        plan(&kit, id, RES, Task::FixSsh).await;
    }
    let mut path = "/api/v1/maintenance?limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let answer = kit.page(Role::Viewer, &path).await.json();
        let items = answer["items"].as_array().unwrap();
        assert!(items.len() <= 2, "{answer}");
        seen.extend(items.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let Some(next) = answer.get("continue").and_then(Value::as_str) else { break };
        path = format!("/api/v1/maintenance?limit=2&continue={}", web::text::encode(next));
    }
    assert_eq!(seen, ["m-1", "m-2", "m-3"]);
    let bad = kit.page(Role::Viewer, "/api/v1/maintenance?continue=x").await;
    assert_eq!((bad.status.as_u16(), bad.json()["code"].as_str()), (400, Some("bad_request")));
    kit.elevated(Role::Elevated, "write").await;
    let wrong = r#"{"task": "fix SSH", "reason": "short", "priority": 1001}"#;
    let api = format!("/api/v1/clusters{RES}/maintenance");
    let refused = kit.unsafe_call(Role::Elevated, "POST", &api, wrong).await;
    assert_eq!(refused.status, 422);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("reason: ") && message.contains("priority: "), "{message}");
}

#[tokio::test]
async fn schedules_are_shown_with_what_stopped_first() {
    let kit = Kit::new().await;
    assert!(kit.page(Role::Viewer, "/maintenance").await.body.contains("No schedule makes manifests."));
    let schedules = Typed::<ScheduleDocument>::new(kit.store.clone());
    let make = async |id: &str, task: Task, state: ScheduleState, rollout: Rollout| {
        let maintenance_schedule = Schedule {
            state,
            maintenance_task_id: task.id().to_owned(),
            schedule: "2098-01-01 4:00".to_owned(),
            look_forward_count: 1,
            schedule_across: "2h".to_owned(),
            waves: vec![5, 100],
            wave_every: "24h".to_owned(),
            selectors: vec![rp_documents::maintenance::Selector {
                key: "isManagedDomain".to_owned(),
                operator: "eq".to_owned(),
                value: "true".to_owned(),
                ..Default::default()
            }],
            ..Schedule::default()
        };
        let document =
            ScheduleDocument { id: id.to_owned(), maintenance_schedule, rollout, ..Default::default() };
        schedules.create(document).await.unwrap();
    };
    make("s-1", Task::FixSsh, ScheduleState::Enabled, Rollout::default()).await;
    make("s-2", Task::OperatorUpdate, ScheduleState::Disabled, Rollout::default()).await;
    let failed = vec![RES.to_lowercase()];
    let stopped = Rollout { window: 900, failed: failed.clone(), of: 4, stopped: 1000, ..Rollout::default() };
    make("s-3", Task::TlsCertificates, ScheduleState::Enabled, stopped).await;
    until("all three are shown", async || {
        let list = kit.page(Role::Viewer, "/api/v1/maintenance/schedules").await.json();
        list["items"].as_array().is_some_and(|items| items.len() == 3)
    })
    .await;
    let list = kit.page(Role::Viewer, "/api/v1/maintenance/schedules").await.json();
    let of = |member: &str| -> Vec<Value> {
        list["items"].as_array().unwrap().iter().map(|one| one[member].clone()).collect()
    };
    assert_eq!(of("state"), ["Stopped", "Enabled", "Disabled"]);
    assert_eq!(of("next"), [Value::Null, "2098-01-01T04:00:00Z".into(), Value::Null]);
    let rollout = &of("rollout")[0];
    assert!(rollout["of"] == 4 && rollout["failed"] == serde_json::json!(failed), "{rollout}");
    let page = kit.page(Role::Viewer, "/maintenance").await.body;
    for words in [
        "Stopped after failures",
        "1 of 4 clusters failed: harbor-01",
        "in waves to 5 and 100 % of the clusters, one every 24h, each over 2h",
        "<b>1</b> schedule stopped",
    ] {
        assert!(page.contains(words), "without {words}: {page}");
    }
    let place = |words: &str| page.find(words).unwrap();
    assert!(place("id=\"panel-schedules\"") < place("id=\"panel-running\""), "what stopped comes first");
}
