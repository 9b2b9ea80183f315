//! What is written down, and when; and what never is.

use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_audit::Query;
use rp_documents::{Phase, Rights};

use crate::faults::Mode;
use crate::upstream::echo;
use crate::wire::{Wire, ask, start};
use crate::world::{World, id, until};

const EXEC: &str = "/api/v1/namespaces/a/pods/b/exec?command=sh&command=-c&command=id&stdin=true";
const WEBSOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test]
async fn heavy_requests_wait_for_their_entry() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    for (method, path, headers) in [
        ("GET", EXEC, WEBSOCKET),
        ("GET", "/api/v1/namespaces/a/secrets/b", ""),
        ("GET", "/api/v1/namespaces/a/pods/b/log", ""),
        ("GET", "/api/v1/pods?watch=true", ""),
        ("GET", "/api/v1/pods?watch=f", ""),
        ("DELETE", "/api/v1/namespaces/a/pods/b", ""),
        ("GET", "/apis/g/v1/a%2Fb", ""),
    ] {
        let connections = || upstream.record.connections.load(std::sync::atomic::Ordering::SeqCst);
        let (before, seen) = (connections(), upstream.record.seen.lock().len());
        world.audit_store.creates.send_replace(Mode::Hang);
        let creating = *world.audit_store.creating.lock();
        let mut wire = Wire::connect(&world).await;
        wire.send(format!("{}{headers}\r\n", start(method, path, &token))).await;
        until("the entry on its way", async || (*world.audit_store.creating.lock() > creating).then_some(()))
            .await;
        assert_eq!(
            (connections(), upstream.record.seen.lock().len()),
            (before, seen),
            "{path}: nothing was sent"
        );
        world.audit_store.creates.send_replace(Mode::Pass);
        assert_eq!(wire.answer().await.status, 200, "{path}");
        assert_eq!(upstream.record.seen.lock().len(), seen + 1, "{path}");
    }
    let started = world
        .audited("the exec's start", |entry| entry.subresource == "exec" && entry.phase == Phase::Start)
        .await;
    assert_eq!(started.command, ["sh", "-c", "id"]);
    assert_eq!((started.namespace.as_str(), started.name.as_str()), ("a", "b"));
    let ended =
        world.audited("its end", |entry| entry.subresource == "exec" && entry.phase == Phase::End).await;
    assert_eq!(started.request_id, ended.request_id);
    assert_eq!(ended.result.status, 200);
}

#[tokio::test]
async fn without_audit_nothing_heavy_is_done() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    world.audit_store.creates.send_replace(Mode::Fail);
    let answer = ask(&world, "GET", EXEC, &token, WEBSOCKET).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.text().contains("audit"), "{}", answer.text());
    let answer = ask(&world, "DELETE", "/api/v1/namespaces/a/pods/b", &token, "").await;
    assert_eq!(answer.status, 503);
    assert_eq!(upstream.record.connections.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_read_is_one_entry_with_what_passed() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let answer = ask(&world, "GET", "/api/v1/namespaces/a/configmaps/b?pretty=true", &token, "").await;
    let entry = world.audited("the read", |entry| entry.resource == "configmaps").await;
    assert_eq!(
        (entry.phase, entry.verb.as_str(), entry.query.as_str()),
        (Phase::Single, "get", "pretty=true")
    );
    assert_eq!((entry.namespace.as_str(), entry.name.as_str()), ("a", "b"));
    assert_eq!(entry.bytes_out, answer.body.len() as u64);
    assert_eq!((entry.result.status, entry.result.word.as_str()), (200, "ok"));
    assert_eq!(entry.target, Some(id()));
    assert_eq!(answer.header("x-request-id"), Some(entry.request_id.as_str()));
    assert_eq!(upstream.record.seen.lock()[0].values("audit-id"), [entry.request_id.as_str()]);
    // What is refused is written too, once.
    ask(&world, "DELETE", "/api/v1/namespaces/a/configmaps/b", &token, "").await;
    let refused = world.audited("the refusal", |entry| entry.verb == "delete").await;
    assert_eq!(
        (refused.phase, refused.result.status, refused.result.word.as_str()),
        (Phase::Single, 403, "refused")
    );
    let query = Query { text: Some("configmaps".to_owned()), ..Query::default() };
    assert_eq!(world.audit.search(&query).await.unwrap().entries.len(), 2);
}

/// What a log would hold.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn secrets_reach_neither_log_nor_audit() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_env_filter("debug,proxy=trace,rp_access=trace,rp_net=trace,rp_audit=trace")
        .with_writer(move || writer.clone())
        .init();
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    let mut target = world.target(upstream.port);
    let stored = "canary-of-the-stored-token";
    target.read = rp_net::Credential::Token(rp_base::Secret::new(stored.to_owned()));
    target.admin = target.read.clone();
    world.directory.put(target);
    let token = world.token(Rights::Admin).await;
    let secret = token.split('_').nth(3).unwrap().to_owned();
    let canaries = "Cookie: session=canary-cookie\r\nX-Secret: canary-header\r\n";
    ask(&world, "GET", "/api/v1/pods", &token, canaries).await;
    ask(
        &world,
        "GET",
        EXEC,
        &token,
        &format!(
            "{WEBSOCKET}Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.canary-protocol\r\n"
        ),
    )
    .await;
    ask(&world, "POST", "/api/v1/namespaces", &token, "Content-Length: 11\r\n\r\ncanary-body").await;
    ask(&world, "GET", "/version", &token[..token.len() - 1], canaries).await;
    ask(&world, "GET", "/version", &token, &format!("Authorization: Bearer {token}\r\n")).await;
    ask(&world, "GET", "/version", &token, &format!("Impersonate-User: {token}\r\n")).await;
    world.audited("the last of them", |entry| entry.result.status == 403).await;
    // A cluster that is away is logged with its cause.
    world.cluster(1);
    ask(&world, "GET", "/version", &token, canaries).await;
    let log = until("the log lines", async || {
        let log = String::from_utf8_lossy(&lines.0.lock()).into_owned();
        log.contains("request to a cluster failed").then_some(log)
    })
    .await;
    assert!(log.contains("proxy.access") && log.contains("ada@example.com"), "it is our log");
    for canary in [&secret, stored, "canary-cookie", "canary-header", "canary-protocol", "canary-body"] {
        let line = log.lines().find(|line| line.contains(canary));
        assert_eq!(line, None, "{canary}");
    }
    let found = world.audit.search(&Query { limit: 500, ..Query::default() }).await.unwrap();
    let entries = serde_json::to_string(&found.entries).unwrap();
    for canary in [&secret, stored, "canary-cookie", "canary-header", "canary-protocol", "canary-body"] {
        assert!(!entries.contains(canary), "{canary}");
    }
    for seen in upstream.record.seen.lock().iter() {
        assert!(!seen.head.contains(&secret) && !seen.head.contains("canary-protocol"), "{}", seen.head);
        assert_eq!(seen.values("authorization"), [format!("Bearer {stored}")]);
    }
}
