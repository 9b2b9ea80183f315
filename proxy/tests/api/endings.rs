//! What a client is told when its access ends in the middle of a stream, in the stream's own format.

use rp_documents::{GrantKind, Rights};

use crate::upstream::{Peer, ReceivedRequest, Upstream, h1, script};
use crate::wire::{Wire, start};
use crate::world::World;

const WEBSOCKET: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n";
const EXEC: &str = "/api/v1/namespaces/a/pods/b/exec?command=id";

/// Sends these bytes after the head of a watch or of an exec, and holds on.
async fn cluster(world: &World, kind: &'static str, bytes: &'static [u8]) -> Upstream {
    let upstream = h1(
        &world.ca,
        true,
        script(move |seen: ReceivedRequest, mut peer: Peer| async move {
            if seen.target().contains("/exec") {
                peer.write(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
                )
                .await;
                peer.write("Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n").await;
                peer.write(bytes).await;
            } else {
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n");
                peer.write(format!("{head}{:x}\r\n", bytes.len())).await;
                peer.write(bytes).await;
                peer.write("\r\n").await;
            }
            peer.fill(peer.buffer.len() + 1).await;
            None
        }),
    )
    .await;
    world.cluster(upstream.port);
    upstream
}

/// A watch whose grant is revoked when the client has `text`: the body, and whether it ended well.
async fn watched(kind: &'static str, bytes: &'static [u8], text: &str) -> (Vec<u8>, bool) {
    let world = World::new().await;
    let _upstream = cluster(&world, kind, bytes).await;
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}\r\n", start("GET", "/api/v1/pods?watch=true", issued.token.expose()))).await;
    assert!(wire.says(text).await);
    world.revoke(&issued).await;
    let answer = wire.answer().await;
    (answer.body, answer.whole)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn a_watch_in_protobuf_that_is_cut_says_why() {
    let kind = "application/vnd.kubernetes.protobuf;stream=watch";
    let (body, whole) = watched(kind, b"\0\0\0\x05hello", "hello").await;
    assert!(whole, "the stream ends as a stream does");
    let (length, event) = body[9..].split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len(), "one frame, and nothing behind it");
    for text in ["ERROR", "k8s\0", "Status", "Unauthorized", "revoked"] {
        assert!(contains(event, text), "{text}: {}", String::from_utf8_lossy(event));
    }
    let (body, whole) = watched(kind, b"\0\0\0\x09hello", "hello").await;
    assert_eq!(
        (body.as_slice(), whole),
        (&b"\0\0\0\x09hello"[..], false),
        "in the middle of an event it is cut"
    );
}

#[tokio::test]
async fn a_watch_of_a_table_that_is_cut_says_why() {
    let kind = "application/json;as=Table;v=v1;g=meta.k8s.io;stream=watch";
    let (body, whole) = watched(kind, b"{\"type\":\"ADDED\"}\n", "ADDED").await;
    let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    let event: serde_json::Value = serde_json::from_slice(lines[1]).unwrap();
    assert!(whole && lines[2].is_empty());
    assert_eq!((&event["type"], &event["object"]["kind"]), (&"ERROR".into(), &"Status".into()));
}

#[tokio::test]
async fn an_exec_that_is_cut_gets_a_status() {
    for (bytes, text, told) in
        [(&b"\x82\x03\x01hi"[..], "hi", true), (&b"\x82\x09\x01part"[..], "part", false)]
    {
        let world = World::new().await;
        let _upstream = cluster(&world, "", bytes).await;
        let issued = world.issue(GrantKind::Kubeconfig, Rights::Write).await;
        let mut wire = Wire::connect(&world).await;
        wire.send(format!("{}{WEBSOCKET}", start("GET", EXEC, issued.token.expose()))).await;
        assert_eq!(wire.head().await.0, 101);
        assert!(wire.says(text).await);
        world.revoke(&issued).await;
        let rest = wire.rest().await;
        let words = rest.strip_prefix(bytes).unwrap();
        if !told {
            assert!(words.is_empty(), "in the middle of a message: {words:?}");
            continue;
        }
        let length = usize::from(u16::from_be_bytes([words[2], words[3]]));
        assert_eq!((words[0], words[1], words[4]), (0x82, 126, 3), "a message on the channel of errors");
        let status: serde_json::Value = serde_json::from_slice(&words[5..4 + length]).unwrap();
        assert_eq!((&status["kind"], &status["status"]), (&"Status".into(), &"Failure".into()));
        assert!(status["message"].as_str().unwrap().contains("revoked"), "{status}");
        assert_eq!(words[4 + length..], [0x88, 2, 0x03, 0xe8], "and the connection is closed");
        let entry = world.audited("the cut", |entry| entry.result.word == "cut").await;
        assert_eq!(entry.subresource, "exec");
    }
}
