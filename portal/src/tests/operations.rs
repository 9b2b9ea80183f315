//! Operations as pages, JSON and the stream tell them; the writer is played by the test.

use http::StatusCode;
use rp_base::Timestamp;
use rp_database::{Expect, Typed};
use rp_documents::operation_log::{Diagnostic, LogLine, StepRecord};
use rp_documents::{OperationLog, Role};

use super::kit::{Kit, RES, until};

const ID: &str = "7d1b3c52-8f0e-4f0a-93c4-5d3f5d9b2f10";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_700_000_000 + seconds)
}

fn step(name: &str, place: u32, took_ms: Option<u64>, message: &str) -> StepRecord {
    StepRecord {
        name: name.to_owned(),
        at: place,
        started: at(i64::from(place)),
        took_ms,
        attempts: 1,
        message: message.to_owned(),
        failed: false,
    }
}

pub(super) fn log(id: &str) -> OperationLog {
    OperationLog {
        id: id.to_owned(),
        key: RES.to_owned(),
        kind: "Creating".to_owned(),
        phase: "Bootstrap".to_owned(),
        started: at(0),
        ended: None,
        result: String::new(),
        asked_by: "customer@example.com".to_owned(),
        correlation: Some(serde_json::json!({"correlationId": "corr-1"})),
        error: String::new(),
        attempt: 1,
        token: 1,
        steps: vec![
            step("action.ensureResourceGroup", 1, Some(1_250), ""),
            step("condition.apiServersReady", 2, None, "<b>2</b> of 3 are ready"),
        ],
        planned: 40,
        lines: vec![LogLine { at: at(1), level: "info".to_owned(), text: "Taken up".to_owned() }],
        diagnostics: Vec::new(),
        unknown: rp_documents::Unknown::new(),
    }
}

pub(super) async fn write(kit: &Kit, log: OperationLog) {
    Typed::new(kit.store.clone()).put(log, Expect::Any).await.unwrap();
}

pub(super) fn failed(mut log: OperationLog) -> OperationLog {
    if let Some(last) = log.steps.last_mut() {
        last.took_ms = Some(3_000);
        last.failed = true;
    }
    log.ended = Some(at(90));
    log.result = "Failed".to_owned();
    log.error = "timed out".to_owned();
    log.diagnostics =
        vec![Diagnostic { name: "Nodes".to_owned(), text: "master-0 - Ready: False".to_owned() }];
    log
}

#[tokio::test]
async fn a_page_tells_what_runs_and_why_it_failed() {
    let kit = Kit::new().await;
    let none = kit.page(Role::Viewer, &format!("{RES}/operations")).await;
    assert!(none.body.contains("No operation is known"), "{}", none.body);
    write(&kit, log(ID)).await;
    let page = kit.page(Role::Viewer, &format!("{RES}/operations")).await;
    for words in [
        "Running operation",
        "Step 2 of 40",
        "Ensure resource group",
        "1.2 s",
        "corr-1",
        "customer@example.com",
        ID,
    ] {
        assert!(page.body.contains(words), "without {words}: {}", page.body);
    }
    assert!(!page.body.contains("<b>2</b>"), "what a cluster says is no markup");
    write(&kit, failed(log(ID))).await;
    let page = kit.page(Role::Viewer, &format!("{RES}/operations")).await;
    for words in ["timed out", "What to do.", "Diagnostics", "master-0 - Ready: False"] {
        assert!(page.body.contains(words), "without {words}: {}", page.body);
    }
    let one = kit.page(Role::Viewer, &format!("{RES}/operations/{ID}")).await;
    assert!(one.body.contains("timed out"), "{}", one.body);
    let other = kit.page(Role::Viewer, &format!("{RES}/operations/nothing")).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn lists_and_overviews_tell_it_while_it_runs() {
    let kit = Kit::new().await;
    write(&kit, log(ID)).await;
    until("the list tells what is done", async || {
        kit.page(Role::Viewer, "/").await.body.contains("step 2 of 40")
    })
    .await;
    let overview = kit.page(Role::Viewer, &format!("{RES}/overview")).await;
    assert!(overview.body.contains("step 2 of 40"), "{}", overview.body);
    write(&kit, OperationLog { ended: Some(at(60)), result: "Succeeded".to_owned(), ..log(ID) }).await;
    until("the list tells it no more", async || {
        !kit.page(Role::Viewer, "/").await.body.contains("step 2 of 40")
    })
    .await;
}

#[tokio::test]
async fn scripts_get_the_newest_first_and_one_whole() {
    let kit = Kit::new().await;
    write(&kit, failed(log(ID))).await;
    write(&kit, OperationLog { started: at(1_000), ..log("second") }).await;
    let base = format!("/api/v1/clusters{RES}/operations");
    let list = kit.page(Role::Viewer, &base).await.json();
    assert_eq!(
        (list["items"][0]["id"].as_str(), list["items"][1]["state"].as_str()),
        (Some("second"), Some("failed"))
    );
    assert_eq!((&list["items"][0]["step"], &list["items"][0]["planned"]), (&2.into(), &40.into()));
    assert!(list["items"][0].get("steps").is_none());
    let one = kit.page(Role::Viewer, &format!("{base}/{ID}")).await.json();
    assert_eq!(one["diagnostics"][0]["name"], "Nodes");
    assert_eq!(one["steps"][0]["tookMs"], 1_250);
    assert_eq!(kit.page(Role::Viewer, &format!("{base}/nothing")).await.status, StatusCode::NOT_FOUND);
    let gone = base.replace("harbor-01", "nowhere");
    assert_eq!(kit.page(Role::Viewer, &gone).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_page_of_all_clusters_has_what_failed_lately_and_what_runs() {
    let kit = Kit::new().await;
    assert!(kit.page(Role::Viewer, "/operations").await.body.contains("No operation is in progress."));
    let now = Timestamp::from_seconds(kit.now());
    let lately = OperationLog { ended: Some(now), ..failed(log("lately")) };
    let old = OperationLog { error: "long ago".to_owned(), ..failed(log("old")) };
    let good = OperationLog { ended: Some(now), result: "Succeeded".to_owned(), ..log("good") };
    for log in [log(ID), lately, old, good] {
        write(&kit, log).await;
    }
    until("the page lists them", async || {
        let page = kit.page(Role::Viewer, "/operations").await.body;
        page.contains("<b>1</b> failed lately") && page.contains("<b>1</b> running")
    })
    .await;
    let page = kit.page(Role::Viewer, "/operations").await.body;
    assert!(page.contains("timed out") && page.contains("/operations/lately\""), "{page}");
    assert!(!page.contains("long ago"), "of the last 7 days alone: {page}");
    let filtered = kit.page(Role::Viewer, "/operations?q=TIMED+harbor").await.body;
    assert!(filtered.contains("<b>0</b> running") && filtered.contains("timed out"), "{filtered}");
    let nothing = kit.page(Role::Viewer, "/operations?q=nowhere").await.body;
    assert!(nothing.contains("No operations match"), "{nothing}");
    let done = OperationLog { ended: Some(now), result: "Succeeded".to_owned(), ..log(ID) };
    write(&kit, done).await;
    until("it runs no more", async || {
        kit.page(Role::Viewer, "/operations").await.body.contains("<b>0</b> running")
    })
    .await;
}
