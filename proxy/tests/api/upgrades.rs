//! Leaving HTTP, and everything that can be wrong with it.

use rp_documents::{GrantKind, Rights};

use crate::upstream::{ReceivedRequest, h1, script};
use crate::wire::{Wire, ask, start};
use crate::world::{World, soon};

const SPDY: &str = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n";
const EXEC: &str = "/api/v1/namespaces/a/pods/b/exec?command=id&stdin=true";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nSet-Cookie: a=b\r\n\r\n";
const WEB_SOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n";
const SWITCH_WEB_SOCKET: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

#[tokio::test]
async fn bytes_pass_both_ways_from_the_first_and_to_the_last() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|_: ReceivedRequest, mut peer| async move {
            // The answer and the first bytes of the stream in one write.
            peer.write(format!("{SWITCH}hello")).await;
            assert!(peer.fill(9).await);
            assert_eq!(peer.buffer, b"earlylate", "in order, nothing else");
            peer.write("bye").await;
            None
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let mut wire = Wire::connect(&world).await;
    // Bytes of the stream right behind the request, before any 101.
    wire.send(format!("{}{SPDY}early", start("POST", EXEC, &token))).await;
    let (status, head) = wire.head().await;
    assert_eq!(status, 101, "{head}");
    assert!(head.contains("upgrade: SPDY/3.1") && head.contains("x-stream-protocol-version: v4"), "{head}");
    assert!(!head.contains("set-cookie") && head.contains("x-request-id"), "{head}");
    assert!(wire.says("hello").await);
    wire.send("late").await;
    assert_eq!(wire.rest().await, b"hellobye");
    drop(wire);
    let entry = world.audited("the end", |entry| entry.result.status == 101).await;
    assert_eq!((entry.bytes_in, entry.bytes_out), (9, 8));
    assert_eq!((entry.subresource.as_str(), entry.command.as_slice()), ("exec", &["id".to_owned()][..]));
    assert_eq!(upstream.record.seen.lock()[0].values("x-stream-protocol-version"), ["v4.channel.k8s.io"]);
}

#[tokio::test]
async fn a_refused_upgrade_passes_the_answer_and_closes() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|_: ReceivedRequest, mut peer| async move {
            peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let mut wire = Wire::connect(&world).await;
    let second = format!("{}\r\n", start("GET", "/api/v1/namespaces/smuggled", &token));
    wire.send(format!("{}{SPDY}{second}", start("POST", EXEC, &token))).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.text().as_str()), (403, "no"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(wire.rest().await, b"", "what followed the handshake is no request");
    assert_eq!(upstream.record.seen.lock().len(), 1);
    // Nor is the connection to the cluster used again.
    ask(&world, "GET", "/version", &token, "").await;
    let seen = upstream.record.seen.lock();
    assert_ne!(seen[0].connection, seen[1].connection);
}

#[tokio::test]
async fn an_answer_of_200_to_an_upgrade_is_an_answer() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|_: ReceivedRequest, mut peer| async move {
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nstream\r\n").await;
            std::future::pending().await
        }),
    )
    .await;
    world.cluster(upstream.port);
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    let websocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let watch = start("GET", "/api/v1/pods?watch=true", issued.token.expose());
    wire.send(format!("{watch}{websocket}")).await;
    assert_eq!(wire.head().await.0, 200);
    assert!(wire.says("stream").await);
    // It streams all the same, so it ends with its grant.
    world.revoke(&issued).await;
    assert!(!String::from_utf8_lossy(&wire.rest().await).contains("\r\n0\r\n"), "cut, not ended");
}

#[tokio::test]
async fn only_what_was_asked_for_may_be_switched_to() {
    let world = World::new().await;
    for answer in [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n",
    ] {
        let upstream = h1(
            &world.ca,
            true,
            script(move |_: ReceivedRequest, mut peer| async move {
                peer.write(answer).await;
                Some(peer)
            }),
        )
        .await;
        world.cluster(upstream.port);
        let mut wire = Wire::connect(&world).await;
        wire.send(format!("{}{SPDY}", start("POST", EXEC, &world.token(Rights::Write).await))).await;
        assert_eq!(wire.answer().await.status, 502);
        // And not at all when nothing was asked for.
        let answer = ask(&world, "GET", "/version", &world.token(Rights::Read).await, "").await;
        assert_eq!(answer.status, 502, "{answer:?}");
    }
}

#[tokio::test]
async fn a_handshake_that_is_none_is_refused_before_anything_is_sent() {
    let world = World::new().await;
    let upstream = crate::upstream::echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    for (method, headers) in [
        (
            "GET",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
        ),
        ("GET", "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n"),
        ("GET", "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n"),
        ("POST", "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 5\r\n"),
        ("POST", "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nTransfer-Encoding: chunked\r\n"),
    ] {
        let answer = ask(&world, method, EXEC, &token, headers).await;
        assert_eq!(answer.status, 400, "{headers}: {}", answer.text());
        assert_eq!(answer.header("connection"), Some("close"), "{headers}");
    }
    let mut wire = Wire::connect(&world).await;
    let old = start("GET", EXEC, &token).replace("HTTP/1.1", "HTTP/1.0");
    wire.send(format!("{old}{SPDY}")).await;
    assert_eq!(wire.answer().await.status, 400);
    assert!(upstream.record.seen.lock().is_empty());
}

#[tokio::test]
async fn a_revocation_cuts_streams_and_watches() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|seen: ReceivedRequest, mut peer| async move {
            if seen.head.contains("/exec") {
                peer.write(SWITCH).await;
            } else {
                peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            }
            peer.write("6\r\nevent\n\r\n").await;
            std::future::pending().await
        }),
    )
    .await;
    world.cluster(upstream.port);
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Write).await;
    let token = issued.token.expose();
    let (mut exec, mut watch) = (Wire::connect(&world).await, Wire::connect(&world).await);
    exec.send(format!("{}{SPDY}", start("POST", EXEC, token))).await;
    watch.send(format!("{}\r\n", start("GET", "/api/v1/pods?watch=true", token))).await;
    assert_eq!((exec.head().await.0, watch.head().await.0), (101, 200));
    assert!(exec.says("event").await && watch.says("event").await);
    world.revoke(&issued).await;
    assert_eq!(exec.rest().await, b"6\r\nevent\n\r\n");
    assert_eq!(watch.rest().await, b"6\r\nevent\n\r\n", "no end of the body: clients know a cut");
    let ends =
        async |what| world.audited("the end", |entry| entry.verb == what && entry.result.word == "cut").await;
    assert!(ends("create").await.bytes_out > 0 && ends("watch").await.bytes_out > 0);
    let refused = ask(&world, "GET", "/version", token, "").await;
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("revoked"), "{}", refused.text());
}

/// An API server closes its connection with the end of the output still in the kernel's queue, and a byte that comes after
/// that resets the connection, which drops the queue. Clients of WebSockets ping every few seconds.
#[tokio::test]
async fn a_ping_after_the_end_costs_no_output() {
    /// More than the kernel keeps for the client, less than it keeps for both.
    const MESSAGES: usize = 80;
    let message = [&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0, 1][..], &[b'x'; 65_535]].concat();
    let world = World::new().await;
    let (closed, is_closed) = tokio::sync::watch::channel(false);
    let output = message.repeat(MESSAGES);
    let upstream = h1(
        &world.ca,
        true,
        script(move |_: ReceivedRequest, mut peer| {
            let (output, closed) = (output.clone(), closed.clone());
            async move {
                peer.write(SWITCH_WEB_SOCKET).await;
                peer.write(&output).await;
                closed.send_replace(true);
                None
            }
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let mut wire = Wire::connect_with_little_room(&world).await;
    wire.send(format!("{}{WEB_SOCKET}", start("GET", EXEC, &token))).await;
    assert_eq!(wire.head().await.0, 101);
    // It reads nothing meanwhile.
    soon("the cluster's end", is_closed.clone().wait_for(|closed| *closed)).await.unwrap();
    // One by one, so that each could reach the cluster before the next: nothing shows a ping that went nowhere.
    for _ in 0..3 {
        wire.send([0x89, 0x80, 1, 2, 3, 4]).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let got = wire.rest().await;
    let pong = [0x8a, 0];
    let pongs = got.len().saturating_sub(message.len() * MESSAGES) / pong.len();
    let expected = (0..=MESSAGES).find(|before| {
        got == [message.repeat(*before), pong.repeat(pongs), message.repeat(MESSAGES - before)].concat()
    });
    assert!(expected.is_some() && pongs > 0, "{} bytes, {pongs} pongs", got.len());
}
