//! Connections to a cluster: filled to its limit, left when it says so, used again when they are whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use proxy::api::Timeouts;
use rp_documents::Rights;

use crate::upstream::{self, H2Limits, ReceivedRequest, begin, echo, h1, reply, script};
use crate::wire::{Wire, ask, start};
use crate::world::{SOON, Setup, World, until};

#[tokio::test]
async fn more_watches_than_the_peer_allows_on_a_connection() {
    let world = World::new().await;
    let limits = H2Limits { streams: Some(3), ..H2Limits::default() };
    let upstream = upstream::h2(
        &world.ca,
        limits,
        Arc::new(|_, respond| {
            Box::pin(async move {
                let mut stream = begin(respond);
                stream.send_data(Bytes::from_static(b"event\n"), false).unwrap();
                std::future::pending::<()>().await;
            })
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let mut watches = Vec::new();
    for _ in 0..20 {
        let mut watch = Wire::connect(&world).await;
        watch.send(format!("{}\r\n", start("GET", "/api/v1/pods?watch=true", &token))).await;
        watches.push(watch);
    }
    for watch in &mut watches {
        assert!(watch.says("event").await);
    }
    assert_eq!(upstream.record.connections.load(Ordering::SeqCst), 7, "three on each");
}

#[tokio::test]
async fn goaway_fails_no_get() {
    let world = World::new().await;
    let limits = H2Limits { streams: Some(8), goaway_after: Some(5), ..H2Limits::default() };
    let upstream =
        upstream::h2(&world.ca, limits, Arc::new(|_, respond| Box::pin(async move { reply(respond, "{}") })))
            .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let ask = async || {
        let mut wire = Wire::connect(&world).await;
        for _ in 0..25 {
            wire.send(format!("{}\r\n", start("GET", "/api/v1/pods", &token))).await;
            let answer = wire.answer().await;
            assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
        }
    };
    futures_util::future::join_all((0..4).map(|_| ask())).await;
    assert!(upstream.record.connections.load(Ordering::SeqCst) > 2, "they were left");
}

/// Each connection answers one request. Requests that came together lose a connection for each that is answered.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_answer_once_lose_no_request() {
    let world = World::new().await;
    let limits = H2Limits { goaway_after: Some(1), ..H2Limits::default() };
    let upstream =
        upstream::h2(&world.ca, limits, Arc::new(|_, respond| Box::pin(async move { reply(respond, "{}") })))
            .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    for _ in 0..5 {
        let answers = (0..24).map(|_| ask(&world, "GET", "/api/v1/pods", &token, ""));
        for answer in futures_util::future::join_all(answers).await {
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
    assert!(upstream.record.connections.load(Ordering::SeqCst) > 5, "they were left");
}

/// A connection that is closed without GOAWAY does not say what was processed: only reads are repeated.
#[tokio::test]
async fn a_pooled_connection_that_is_closed_repeats_reads_only() {
    let world = World::new().await;
    let limits = H2Limits { closed_after: Some(3), ..H2Limits::default() };
    let changes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&changes);
    let script = move |request: http::Request<h2::RecvStream>, respond| {
        if request.method() != http::Method::GET {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        Box::pin(async move { reply(respond, "{}") }) as _
    };
    let upstream = upstream::h2(&world.ca, limits, Arc::new(script)).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    for _ in 0..20 {
        let answer = ask(&world, "GET", "/api/v1/pods", &token, "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let mut refused = 0;
    for _ in 0..20 {
        let answer = ask(&world, "DELETE", "/api/v1/namespaces/n/pods/p", &token, "").await;
        assert!([200, 502].contains(&answer.status), "{}", answer.text());
        refused += usize::from(answer.status == 502);
    }
    assert!(refused > 0, "a change was repeated");
    assert_eq!(changes.load(Ordering::SeqCst) + refused, 20);
}

#[tokio::test]
async fn a_silent_connection_is_not_offered_to_the_next() {
    let timeouts = Timeouts { connect: SOON, head: Duration::from_secs(3), idle: SOON };
    let world = World::with(Setup { timeouts, ..Setup::default() }).await;
    let requests = Arc::new(AtomicUsize::new(0));
    let upstream = upstream::h2(
        &world.ca,
        H2Limits::default(),
        Arc::new(move |_, respond| {
            let first = requests.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move {
                if first {
                    std::future::pending::<()>().await;
                }
                reply(respond, "{}");
            })
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let late = ask(&world, "GET", "/api/v1/pods", &token, "").await;
    assert_eq!(late.status, 504, "{}", late.text());
    assert!(late.text().contains("\"cluster\""), "{}", late.text());
    assert_eq!(ask(&world, "GET", "/api/v1/pods", &token, "").await.status, 200);
    assert_eq!(upstream.record.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn kept_connections_are_used_again_however_the_body_is_framed() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|seen: ReceivedRequest, mut peer| async move {
            match seen.target() {
                "/api" => {
                    peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
                        .await;
                }
                "/apis" => peer.write("HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n").await,
                _ => peer.json("{}").await,
            }
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    for path in ["/version", "/api", "/version", "/apis", "/version", "/api"] {
        wire.send(format!("{}\r\n", start("GET", path, &token))).await;
        if path == "/apis" {
            assert_eq!(wire.head().await.0, 304);
        } else {
            assert_eq!(wire.answer().await.text(), "{}", "{path}");
        }
        // The connection comes back when its answer was read to the end, a moment after we have read it.
        tokio::task::yield_now().await;
    }
    // The reviews' connection may not be back when the first request needs one.
    assert!(upstream.record.connections.load(Ordering::SeqCst) <= 2, "one after another, on one connection");
}

#[tokio::test]
async fn a_kept_connection_found_closed_is_tried_again_for_a_get_only() {
    let world = World::new().await;
    let closed = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&closed);
    let upstream = h1(
        &world.ca,
        true,
        script(move |seen: ReceivedRequest, mut peer| {
            let once = Arc::clone(&once);
            async move {
                if seen.values("user-agent") == ["second"] && !once.swap(true, Ordering::SeqCst) {
                    return None;
                }
                peer.json("{}").await;
                Some(peer)
            }
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let mut wire = Wire::connect(&world).await;
    for (method, path, status) in [("GET", "/version", 200), ("POST", "/api/v1/namespaces", 502)] {
        closed.store(false, Ordering::SeqCst);
        // A connection comes back a moment after its answer was read: ask until one was used twice.
        until("a kept connection", async || {
            wire.send(format!("{}\r\n", start("GET", "/version", &token))).await;
            assert_eq!(wire.answer().await.status, 200);
            let seen = upstream.record.seen.lock();
            let [.., before, last] = seen.as_slice() else { return None };
            (before.connection == last.connection).then_some(())
        })
        .await;
        upstream.record.seen.lock().clear();
        wire.send(format!("{}User-Agent: second\r\nContent-Length: 0\r\n\r\n", start(method, path, &token)))
            .await;
        let tried = wire.answer().await;
        let tries = upstream.record.seen.lock().len();
        assert_eq!((tried.status, tries), (status, if method == "GET" { 2 } else { 1 }), "{method}");
    }
}

#[tokio::test]
async fn another_credential_is_another_pool() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200);
    let before = upstream.record.seen.lock()[0].connection;
    world.cluster(upstream.port);
    let old = upstream.record.connections.load(Ordering::SeqCst);
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200);
    let after = upstream.record.seen.lock()[1].connection;
    assert!(before < old && after >= old, "{before} {old} {after}");
}
