//! Read-only is default-deny, through every door: verb × subresource × way of asking.

use rp_documents::{GrantKind, Rights};

use crate::upstream::echo;
use crate::wire::{Wire, ask, start};
use crate::world::{HERE, World, id};

const PLAIN: &str = "";
const SPDY: &str =
    "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n";
const WEBSOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n";

#[tokio::test]
async fn read_only_is_read_only_through_every_door() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let paths = [
        ("", true),
        ("/log", true),
        ("/status", true),
        ("/scale", true),
        ("/log?watch=true", true),
        ("?watch=true", true),
        ("/exec?command=id", false),
        ("/attach", false),
        ("/portforward", false),
        ("/proxy/secret", false),
        ("/eviction", false),
        ("/somethingnew", false),
        ("%2Fexec", false),
        ("/%65xec?watch=true", false),
    ];
    let mut passed = 0;
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        for (path, readable) in paths {
            for way in [PLAIN, SPDY, WEBSOCKET] {
                // What is named is not watched, whatever its query says.
                let reads = matches!(method, "GET" | "HEAD") && readable && way == PLAIN;
                let what = format!("{method} pods/b{path} {way:?}");
                let mut wire = Wire::connect(&world).await;
                let head = start(method, &format!("/api/v1/namespaces/a/pods/b{path}"), &token);
                wire.send(format!("{head}{way}\r\n")).await;
                let (status, head) = wire.head().await;
                assert_eq!(status, if reads { 200 } else { 403 }, "{what}: {head}");
                passed += usize::from(reads);
                assert_eq!(upstream.record.seen.lock().len(), passed, "{what}");
                if way != PLAIN {
                    assert!(head.contains("connection: close"), "{what}: {head}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_needs_more_rights_says_so() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let (read, write) = (world.token(Rights::Read).await, world.token(Rights::Write).await);
    for (token, method, path, needed) in [
        (&read, "GET", "/api/v1/namespaces/a/secrets", "admin"),
        (&read, "GET", "/api/v1/watch/secrets", "admin"),
        (&read, "DELETE", "/api/v1/namespaces/a/pods?watch=true", "write"),
        (&read, "GET", "//api/v1/pods", "admin"),
        (&read, "GET", "/api/v1/namespaces/a/SECRETS", "admin"),
        (&read, "GET", "/api/v1/namespaces/a//secrets", "admin"),
        (&read, "GET", "/api/v1/%73ecrets", "admin"),
        (&read, "GET", "/api/v1/secrets.", "admin"),
        (&read, "GET", "/api/v1/secrets.v1", "admin"),
        (&read, "GET", "/API/v1/secrets", "admin"),
        (&read, "GET", "/debug/pprof/heap", "admin"),
        (&write, "GET", "/api/v1/namespaces/a/%73ecrets/b", "admin"),
        (&write, "POST", "/api/v1/namespaces/a/serviceaccounts/b/token", "admin"),
        (&write, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "admin"),
        (&write, "GET", "/api/v1/namespaces/a/pods/../../../secrets", "admin"),
    ] {
        let answer = ask(&world, method, path, token, "").await;
        let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &status["kind"], &status["reason"]),
            (403, &"Status".into(), &"Forbidden".into())
        );
        let message = status["message"].as_str().unwrap();
        assert!(message.contains(&format!("needs a grant with {needed} rights")), "{path}: {message}");
    }
    assert!(upstream.record.seen.lock().is_empty());
    assert_eq!(
        ask(&world, "POST", "/api/v1/namespaces/a/pods", &write, "Content-Length: 0\r\n").await.status,
        200
    );
    let review = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    assert_eq!(ask(&world, "POST", review, &read, "Content-Length: 0\r\n").await.status, 200);
}

#[tokio::test]
async fn tokens_of_other_kinds_and_clusters_open_nothing() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let cli = world.issue(GrantKind::Cli, Rights::Read).await;
    assert!(world.access.authenticate(cli.token.expose(), HERE).await.is_ok(), "it is a good token");
    let answer = ask(&world, "GET", "/version", cli.token.expose(), "").await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    let token = world.token(Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    let elsewhere = start("GET", "/version", &token).replace("harbor", "haven");
    wire.send(format!("{elsewhere}\r\n")).await;
    assert_eq!(wire.answer().await.status, 403);
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}\r\n", start("GET", "/version", &token).replace("Bearer", "Basic"))).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
    assert!(answer.text().contains("\"Unauthorized\""));
    assert!(upstream.record.seen.lock().is_empty());
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200);
    assert_eq!(upstream.record.seen.lock().len(), 1, "{}", id());
}
