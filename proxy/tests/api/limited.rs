//! How much one person may have open, and how often.

use rp_documents::{GrantKind, Rights};

use crate::upstream::{ReceivedRequest, Upstream, h1, script};
use crate::wire::{Wire, ask, start};
use crate::world::{Setup, World, until};

const WATCH: &str = "/api/v1/pods?watch=true";

async fn watched(setup: Setup) -> (World, Upstream) {
    let world = World::with(setup).await;
    let upstream = h1(
        &world.ca,
        true,
        script(|seen: ReceivedRequest, mut peer| async move {
            if seen.target().contains("watch") {
                peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n").await;
                std::future::pending::<()>().await;
            }
            peer.json("{}").await;
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    (world, upstream)
}

async fn watch(world: &World, token: &str) -> Wire {
    let mut wire = Wire::connect(world).await;
    wire.send(format!("{}\r\n", start("GET", WATCH, token))).await;
    assert!(wire.says("first").await, "{}", String::from_utf8_lossy(&wire.buffer));
    wire
}

#[tokio::test]
async fn a_person_has_so_many_streams_and_no_more() {
    let (world, _upstream) = watched(Setup { max_streams: 2, ..Setup::default() }).await;
    let [one, other] = [world.token(Rights::Read).await, world.token(Rights::Write).await];
    let first = watch(&world, &one).await;
    let _second = watch(&world, &other).await;
    for token in [&one, &other] {
        let refused = ask(&world, "GET", WATCH, token, "").await;
        assert_eq!(refused.status, 429, "{}", refused.text());
        assert!(refused.header("retry-after").is_some());
        let status: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
        assert_eq!((&status["kind"], &status["reason"]), (&"Status".into(), &"TooManyRequests".into()));
        assert_eq!(
            ask(&world, "GET", "/api/v1/pods", token, "").await.status,
            200,
            "requests are no streams"
        );
    }
    let entry = world.audited("the refusal", |entry| entry.result.status == 429).await;
    assert_eq!((entry.verb.as_str(), entry.result.word.as_str()), ("watch", "refused"));
    drop(first);
    until("a free place", async || (world.access.streams_of("sub-ada") == 1).then_some(())).await;
    watch(&world, &one).await;
}

#[tokio::test]
async fn streams_are_not_opened_too_often() {
    let (world, _upstream) = watched(Setup { streams_per_minute: 2, ..Setup::default() }).await;
    let token = world.token(Rights::Read).await;
    for _ in 0..2 {
        watch(&world, &token).await;
    }
    let refused = ask(&world, "GET", WATCH, &token, "").await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let other = world.issue(GrantKind::Kubeconfig, Rights::Read).await;
    watch(&world, other.token.expose()).await;
}

#[tokio::test]
async fn misses_are_answered_and_then_slowed_down() {
    let world = World::new().await;
    let (mut unauthorized, mut slowed) = (0, 0);
    // The limit of an address is 120 in a minute.
    for _ in 0..150 {
        match ask(&world, "GET", "/api/v1/pods", "aro1_kubeconfig_nothing", "").await.status {
            401 => unauthorized += 1,
            429 => slowed += 1,
            other => panic!("{other}"),
        }
    }
    assert!(unauthorized >= 120 && slowed >= 20, "{unauthorized} {slowed}");
}
