//! Pages that follow their cluster: who may, what ends it, what is recorded. No cluster can be reached here.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::ConnectInfo;
use futures_util::StreamExt as _;
use http::{Request, StatusCode};
use portal_model::live_limits::LiveLimits;
use rp_database::Expect;
use rp_documents::{Collection, GrantKind, Phase, Role};
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::kit::{Kit, RES, until};

const DEADLINE: Duration = Duration::from_secs(60);

/// A page that is followed.
struct LiveStream {
    status: StatusCode,
    body: BodyDataStream,
    text: String,
}

impl LiveStream {
    async fn open(kit: &Kit, cookie: &str, path: &str) -> Self {
        let mut request = Request::get(format!("{RES}/live/{path}"))
            .header("accept", "text/event-stream")
            .header("hx-request", "true")
            .header("cookie", cookie)
            .body(Body::empty())
            .unwrap();
        let peer: SocketAddr = "192.0.2.7:4711".parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = kit.app.clone().oneshot(request).await.unwrap();
        let status = response.status();
        Self { status, body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// Reads until `is_it`, or the end.
    async fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let read = async {
            while !is_it(&self.text) {
                let Some(bytes) = self.body.next().await else { return };
                self.text.push_str(&String::from_utf8_lossy(&bytes.unwrap()));
            }
        };
        let in_time = timeout(DEADLINE, read).await.is_ok();
        assert!(in_time && is_it(&self.text), "{what}: {}", self.text);
    }

    async fn ends(&mut self, reason: &str) {
        let last = format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n");
        self.until(reason, |text| text.ends_with(&last)).await;
        assert!(timeout(DEADLINE, self.body.next()).await.unwrap().is_none(), "nothing comes after the end");
    }
}

#[tokio::test]
async fn parts_come_first_and_the_session_ends_them() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let mut page = LiveStream::open(&kit, &cookie, "nodes?sort=age").await;
    assert_eq!(page.status, 200);
    page.until("a part and a state", |text| {
        text.contains("event: fragment\nid: panel-") && text.contains("event: state\ndata: {")
    })
    .await;
    page.until("it is away", |text| text.contains("\"state\":\"stale\"")).await;
    let start = kit.audited("look").await;
    assert_eq!((start.phase, start.resource.as_str()), (Phase::Start, "nodes"));
    kit.state.end_sessions(&start.actor.sub).await.unwrap();
    page.ends("session").await;
    until("the end is recorded", async || kit.audited("look").await.phase == Phase::End).await;
    let end = kit.audited("look").await;
    assert_eq!((end.request_id, end.result.word.as_str()), (start.request_id, "cut"));
    assert!(end.bytes_out > 0);
}

#[tokio::test]
async fn what_a_page_has_is_not_sent_again() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let mut first = LiveStream::open(&kit, &cookie, "nodes?once=1").await;
    while let Some(bytes) = timeout(DEADLINE, first.body.next()).await.unwrap() {
        first.text.push_str(&String::from_utf8_lossy(&bytes.unwrap()));
    }
    assert!(first.text.contains("event: fragment"), "{}", first.text);
    let page = kit.page(Role::Viewer, &format!("{RES}/nodes")).await;
    let seen = page.body.split("data-seen=\"").nth(1).and_then(|rest| rest.split('"').next());
    let seen = seen.expect("the page says what it has");
    let mut second = LiveStream::open(&kit, &cookie, &format!("nodes?once=1&seen={seen}")).await;
    while let Some(bytes) = timeout(DEADLINE, second.body.next()).await.unwrap() {
        second.text.push_str(&String::from_utf8_lossy(&bytes.unwrap()));
    }
    assert!(second.text.contains("event: state"), "{}", second.text);
    assert!(!second.text.contains("id: panel-nodes"), "{}", second.text);
}

#[tokio::test]
async fn a_cluster_that_leaves_the_list_ends_its_pages() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let mut page = LiveStream::open(&kit, &cookie, "overview").await;
    page.until("a state", |text| text.contains("event: state")).await;
    let id = "11111111-0000-0000-0000-000000000001";
    kit.store.delete(Collection::OpenShiftClusters, id, Expect::Any).await.unwrap();
    page.ends("gone").await;
}

#[tokio::test]
async fn a_process_that_stops_says_so() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let mut page = LiveStream::open(&kit, &cookie, "overview").await;
    page.until("a state", |text| text.contains("event: state")).await;
    kit.state.model.stopping.cancel();
    page.ends("stopping").await;
}

#[tokio::test]
async fn a_page_asks_anew_after_a_while_and_places_are_bounded() {
    let limits =
        LiveLimits { per_person: 2, pages: 3, longest: Duration::from_secs(3600), ..LiveLimits::default() };
    let kit = Kit::with(|parts| parts.live = limits).await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let other = kit.cookie(Some(Role::Sre)).await;
    let first = LiveStream::open(&kit, &cookie, "overview").await;
    let second = LiveStream::open(&kit, &cookie, "nodes").await;
    assert_eq!((first.status, second.status), (StatusCode::OK, StatusCode::OK));
    assert_eq!(LiveStream::open(&kit, &cookie, "machines").await.status, StatusCode::TOO_MANY_REQUESTS);
    let third = LiveStream::open(&kit, &other, "nodes").await;
    assert_eq!(third.status, 200);
    assert_eq!(LiveStream::open(&kit, &other, "machines").await.status, StatusCode::TOO_MANY_REQUESTS);
    drop(first);
    until("a place is free again", async || LiveStream::open(&kit, &cookie, "machines").await.status == 200)
        .await;

    let short = LiveLimits { longest: Duration::from_millis(50), ..LiveLimits::default() };
    let kit = Kit::with(|parts| parts.live = short).await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    LiveStream::open(&kit, &cookie, "overview").await.ends("again").await;
}

#[tokio::test]
async fn a_filter_gets_the_list_alone() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    for tab in ["operators", "nodes", "machines", "machinesets"] {
        let request = super::kit::script("GET", &format!("{RES}/{tab}?q=a"))
            .header("cookie", &cookie)
            .header("hx-request", "true")
            .header("hx-target", "list");
        let answer = kit.send(request.body(Body::empty()).unwrap()).await;
        assert!(answer.body.contains("id=\"panel-") && !answer.body.contains("<main"), "{tab}: {answer:?}");
    }
}

#[tokio::test]
async fn tokens_and_unknown_tabs_are_refused() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    for path in ["nothing", "explore", "access/x"] {
        assert_eq!(LiveStream::open(&kit, &cookie, path).await.status, 404, "{path}");
    }
    let token = kit.token(Role::Viewer, GrantKind::Cli).await;
    let request = super::kit::script("GET", &format!("{RES}/live/nodes"));
    let answer = kit
        .send(request.header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap())
        .await;
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.body.contains("/api/v1/clusters"), "{answer:?}");
}

#[tokio::test]
async fn lists_of_a_cluster_that_is_away_say_whose_fault_it_is() {
    let kit = Kit::new().await;
    let ours = format!("/api/v1/clusters{RES}");
    for what in ["nodes", "machines", "machinesets", "operators", "pods", "events", "workloads"] {
        let answer = kit.page(Role::Viewer, &format!("{ours}/{what}")).await;
        assert_eq!(answer.status, 502, "{what}: {answer:?}");
        assert_eq!(answer.json()["code"], "cluster_unreachable", "{answer:?}");
        assert_eq!(answer.json()["side"], "cluster");
    }
    let legacy = "/api/0000AAAA-0000-0000-0000-00000000000F/My.RG/Harbor-01";
    for what in ["nodes", "machines", "machine-sets", "clusteroperators"] {
        let answer = kit.page(Role::Viewer, &format!("{legacy}/{what}")).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["side"]),
            (502, &"cluster".into()),
            "{what}: {answer:?}"
        );
    }
    let none = kit.page(Role::Viewer, "/api/0000aaaa-0000-0000-0000-00000000000f/my.rg/none/nodes").await;
    assert_eq!(none.status, 404, "{none:?}");
}

#[tokio::test]
async fn an_operation_is_followed_while_it_goes_on() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    let mut page = LiveStream::open(&kit, &cookie, "operations").await;
    page.until("no operation", |text| text.contains("No operation is known")).await;
    super::operations::write(&kit, super::operations::log("one")).await;
    page.until("it began", |text| text.contains("Step 2 of 40") && text.contains("id: panel-steps")).await;
    super::operations::write(&kit, super::operations::failed(super::operations::log("one"))).await;
    page.until("it failed", |text| text.contains("What to do.") && text.contains("id: panel-diagnostics"))
        .await;
}
