//! A client that asks and then takes nothing: what it holds, and for how long.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use http::{Request, Response};
use proxy::api::Timeouts;
use rp_audit::Query;
use rp_documents::{GrantKind, Rights, Side};

use crate::upstream::{ReceivedRequest, Upstream, h1, script};
use crate::wire::{Wire, ask, start, tls};
use crate::world::{RES, SOON, Setup, World, soon, until};

/// Watches that never end, lists that never rest, small answers; and how many of the first two the proxy has let go.
async fn cluster(world: &World) -> (Upstream, Arc<AtomicUsize>) {
    let let_go = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&let_go);
    let upstream = h1(
        &world.ca,
        true,
        script(move |seen: ReceivedRequest, mut peer| {
            let let_go = Arc::clone(&counted);
            async move {
                const CHUNKED: &str =
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
                if seen.target().contains("watch=true") {
                    peer.write(format!("{CHUNKED}6\r\nfirst\n\r\n")).await;
                    peer.fill(1).await;
                } else if seen.target().contains("endless") {
                    peer.write(CHUNKED).await;
                    while peer.send("5\r\nbytes\r\n").await {}
                } else {
                    peer.json(r#"{"kind":"PodList"}"#).await;
                    return Some(peer);
                }
                let_go.fetch_add(1, SeqCst);
                None
            }
        }),
    )
    .await;
    world.cluster(upstream.port);
    (upstream, let_go)
}

/// A connection whose client takes no byte of any answer.
struct ManualClient(SendRequest<Bytes>);

impl ManualClient {
    async fn connect(world: &World) -> Self {
        let mut client = h2::client::Builder::new();
        let (send, connection) =
            client.initial_window_size(0).handshake(tls(world, b"h2").await).await.unwrap();
        tokio::spawn(connection);
        Self(send)
    }

    async fn get(&self, path: &str, token: &str) -> Response<RecvStream> {
        let uri = format!("https://proxy{RES}/kubeconfig/proxy{path}");
        let request = Request::get(uri).header("authorization", format!("Bearer {token}")).body(()).unwrap();
        let mut send = self.0.clone().ready().await.unwrap();
        soon("a head", send.send_request(request, true).unwrap().0).await.unwrap()
    }
}

async fn entries(world: &World, wanted: usize, look: impl Fn(&rp_documents::Entry) -> bool) {
    until("the entries", async || {
        let found = world.audit.search(&Query { limit: 500, ..Query::default() }).await.unwrap();
        (found.entries.iter().filter(|entry| look(entry)).count() == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn answers_that_nobody_takes_hold_no_place_in_the_audit_queue() {
    let world = World::with(Setup { audit_queue: 4, ..Setup::default() }).await;
    let (_upstream, _) = cluster(&world).await;
    let token = world.token(Rights::Read).await;
    let taker = ManualClient::connect(&world).await;
    let mut held = Vec::new();
    for _ in 0..20 {
        let answer = taker.get("/api/v1/pods", &token).await;
        assert_eq!(answer.status(), 200);
        held.push(answer);
    }
    assert_eq!(ask(&world, "GET", "/api/v1/services", &token, "").await.status, 200);
    drop((held, taker));
    entries(&world, 20, |entry| entry.resource == "pods").await;
}

#[tokio::test]
async fn requests_at_once_are_bounded_for_each_person() {
    let world = World::with(Setup { max_requests: 3, ..Setup::default() }).await;
    let (_upstream, _) = cluster(&world).await;
    let token = world.token(Rights::Read).await;
    let taker = ManualClient::connect(&world).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(taker.get("/api/v1/pods", &token).await);
    }
    let other = world.token(Rights::Read).await;
    let refused = ask(&world, "GET", "/api/v1/pods", &other, "").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{}", refused.text());
    let status: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!((&status["kind"], &status["reason"]), (&"Status".into(), &"TooManyRequests".into()));
    assert_eq!(status["details"]["causes"][0]["reason"], "too_many_requests", "{}", refused.text());
    let entry = world.audited("the refusal", |entry| entry.result.status == 429).await;
    assert_eq!((entry.verb.as_str(), entry.result.word.as_str()), ("list", "refused"));
    // Streams have a bound of their own.
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}\r\n", start("GET", "/api/v1/pods?watch=true", &token))).await;
    assert!(wire.says("first").await);
    held.pop();
    until("a free place", async || (world.access.requests_of("sub-ada") < 3).then_some(())).await;
    assert_eq!(ask(&world, "GET", "/api/v1/pods", &token, "").await.status, 200);
}

#[tokio::test]
async fn the_end_of_an_access_ends_what_nobody_takes() {
    let world = World::new().await;
    let (_upstream, let_go) = cluster(&world).await;
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Read).await;
    let taker = ManualClient::connect(&world).await;
    let mut held = Vec::new();
    for path in ["/api/v1/pods?watch=true", "/api/v1/pods?watch=true", "/api/v1/endless"] {
        held.push(taker.get(path, issued.token.expose()).await);
    }
    assert_eq!(world.access.streams_of("sub-ada"), 2);
    world.revoke(&issued).await;
    // The client still takes nothing and keeps its connection.
    until("no stream", async || (world.access.streams_of("sub-ada") == 0).then_some(())).await;
    until("the cluster's side", async || (let_go.load(SeqCst) == 3).then_some(())).await;
    entries(&world, 3, |entry| entry.result.word == "cut" && entry.result.side == Some(Side::You)).await;
    drop((held, taker));
}

#[tokio::test]
async fn an_answer_that_nobody_takes_is_given_up() {
    let timeouts = Timeouts { connect: SOON, head: SOON, idle: Duration::from_millis(200) };
    let world = World::with(Setup { timeouts, ..Setup::default() }).await;
    let (_upstream, let_go) = cluster(&world).await;
    let token = world.token(Rights::Read).await;
    let taker = ManualClient::connect(&world).await;
    let held = taker.get("/api/v1/endless", &token).await;
    let entry = world.audited("the end", |entry| entry.resource == "endless").await;
    assert_eq!((entry.result.word.as_str(), entry.result.side), ("cut", Some(Side::You)));
    until("the cluster's side", async || (let_go.load(SeqCst) == 1).then_some(())).await;
    assert_eq!(world.access.requests_of("sub-ada"), 1, "it counts until the client or the server lets go");
    drop((held, taker));
    until("nothing under way", async || (world.access.requests_of("sub-ada") == 0).then_some(())).await;
}

#[tokio::test]
async fn an_answer_that_never_rests_ends_with_its_access() {
    let world = World::new().await;
    let (_upstream, _) = cluster(&world).await;
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}\r\n", start("GET", "/api/v1/endless", issued.token.expose()))).await;
    assert!(wire.says("bytes").await);
    let reading = tokio::spawn(async move { wire.rest().await });
    world.revoke(&issued).await;
    soon("the cut", reading).await.unwrap();
    let entry = world.audited("the cut", |entry| entry.resource == "endless").await;
    assert_eq!((entry.result.word.as_str(), entry.result.side), ("cut", Some(Side::You)));
}

#[tokio::test]
async fn a_watch_that_is_cut_says_why() {
    let world = World::new().await;
    let (_upstream, _) = cluster(&world).await;
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}\r\n", start("GET", "/api/v1/pods?watch=true", issued.token.expose()))).await;
    assert!(wire.says("first").await);
    world.revoke(&issued).await;
    let answer = wire.answer().await;
    assert!(answer.whole, "the stream ends as a stream does");
    let text = answer.text();
    let event: serde_json::Value = serde_json::from_str(text.strip_prefix("first\n").unwrap()).unwrap();
    assert_eq!((&event["type"], &event["object"]["kind"]), (&"ERROR".into(), &"Status".into()));
    assert_eq!((&event["object"]["code"], &event["object"]["reason"]), (&401.into(), &"Unauthorized".into()));
    let said = event["object"]["message"].as_str().unwrap();
    assert!(said.contains("revoked") && said.contains(answer.header("x-request-id").unwrap()), "{said}");
    let entry = world.audited("the cut", |entry| entry.result.word == "cut").await;
    assert_eq!(entry.verb, "watch");
}
