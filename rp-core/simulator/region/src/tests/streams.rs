//! Watches, logs and exec.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rp_base::{Clock as _, ManualClock, Timestamp};
use rp_net::Stream;
use rp_simulator::fleet::{Episode, Faults, TransientFault};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::client::{Bench, DEADLINE, ask};

/// Reads until the text is what is looked for; gives its lines.
async fn lines_until(body: &mut Incoming, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut text = String::new();
    let read = async {
        loop {
            let frame = body.frame().await.expect("the stream ended").unwrap();
            text.push_str(std::str::from_utf8(&frame.into_data().unwrap_or_default()).unwrap());
            if wanted(&text) {
                break;
            }
        }
    };
    timeout(DEADLINE, read).await.expect("not seen in time");
    text.lines().map(str::to_owned).collect()
}

async fn pod(bench: &Bench) -> String {
    let (_, list) = bench.get(0, "/api/v1/namespaces/openshift-etcd/pods").await;
    format!(
        "/api/v1/namespaces/openshift-etcd/pods/{}",
        list["items"][0]["metadata"]["name"].as_str().unwrap()
    )
}

#[tokio::test]
async fn a_watch_tells_of_faults_that_come_and_heal() {
    let faults = Faults { share: 1.0, period: Duration::from_secs(1200) };
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_000_000));
    let bench = Bench::at(Some(faults), Arc::new(clock.clone())).await;
    let cluster = bench.region.fleet().cluster(0).unwrap();
    // The clock decides which fault is active: it is advanced, so that the cluster is never silent here.
    let go_to = |wanted: fn(&Episode) -> bool| {
        while !bench.region.fleet().episode(&cluster, clock.now()).as_ref().is_some_and(wanted) {
            clock.advance(Duration::from_secs(1));
        }
    };
    go_to(|episode| episode.healed.is_some());
    let operators = "/apis/config.openshift.io/v1/clusteroperators";
    let (_, list) = bench.get(0, operators).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("{operators}?watch=1&resourceVersion={version}");
    let request = ask("GET", &path).body(Full::default()).unwrap();
    let mut body = bench.send(0, &bench.identity.sre, request).await.into_body();
    let degraded = |line: &str, wanted: &str| {
        let event = serde_json::from_str::<Value>(line).ok()?;
        let conditions = event["object"]["status"]["conditions"].as_array()?;
        let is = conditions.iter().any(|one| one["type"] == "Degraded" && one["status"] == wanted);
        (event["type"] == "MODIFIED" && is).then(|| event["object"]["metadata"]["name"].clone())
    };

    go_to(|episode| episode.what == TransientFault::Operators && episode.healed.is_none());
    let lines =
        lines_until(&mut body, |text| text.lines().any(|line| degraded(line, "True").is_some())).await;
    let bad = lines.iter().find_map(|line| degraded(line, "True")).unwrap();

    go_to(|episode| episode.what == TransientFault::Operators && episode.healed.is_some());
    let well = |line: &str| degraded(line, "False").as_ref() == Some(&bad);
    lines_until(&mut body, |text| text.lines().any(well)).await;
}

#[tokio::test]
async fn a_watch_shows_what_is_there_then_changes_and_bookmarks() {
    let bench = Bench::new().await;
    let path = "/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let request = ask("GET", path).body(Full::default()).unwrap();
    let mut body = bench.send(0, &bench.identity.sre, request).await.into_body();
    let kind =
        |line: &str| serde_json::from_str::<Value>(line).map(|e| e["type"].clone()).unwrap_or_default();
    let lines = lines_until(&mut body, |text| text.lines().any(|line| kind(line) == "MODIFIED")).await;
    let kinds: Vec<Value> = lines.iter().map(|line| kind(line)).collect();
    assert!(kinds.iter().filter(|kind| **kind == "ADDED").count() >= 6, "{kinds:?}");
    assert!(kinds.contains(&json!("BOOKMARK")), "{kinds:?}");

    // A watch from a version has no first events, and ends when it is told to.
    let (_, list) = bench.get(0, "/api/v1/nodes").await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("/api/v1/nodes?watch=1&resourceVersion={version}&timeoutSeconds=1");
    let request = ask("GET", &path).body(Full::default()).unwrap();
    let response = bench.send(0, &bench.identity.sre, request).await;
    let all = timeout(DEADLINE, response.into_body().collect()).await.unwrap().unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&all).contains("ADDED"));
}

#[tokio::test]
async fn logs_have_a_tail_and_are_followed() {
    let bench = Bench::new().await;
    let pod = pod(&bench).await;
    let (status, log) = bench.get(0, &format!("{pod}/log?tailLines=3")).await;
    assert_eq!((status, log.as_str().unwrap().lines().count()), (200, 3));
    assert_eq!(bench.get(0, &format!("{pod}/log?container=none")).await.0, 400);
    let request = ask("GET", &format!("{pod}/log?follow=true&tailLines=1")).body(Full::default()).unwrap();
    let mut body = bench.send(0, &bench.identity.sre, request).await.into_body();
    let lines = lines_until(&mut body, |text| text.lines().count() > 3).await;
    assert!(lines.iter().all(|line| line.contains("simulated")), "{lines:?}");
}

struct Exec {
    out: String,
    err: String,
    status: Value,
    close: CloseCode,
}

async fn exec(bench: &Bench, query: &str, protocol: &str, typed: &[&[u8]]) -> Exec {
    let stream = bench.tls(0, Some(&bench.identity.service), b"http/1.1").await;
    let uri = format!("wss://kubernetes:6443{}/exec?{query}", pod(bench).await);
    let mut request = uri.into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
    let (mut socket, response) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], protocol.split(',').next().unwrap());
    for data in typed {
        socket.send(Message::Binary(Bytes::copy_from_slice(data))).await.unwrap();
    }
    let mut done =
        Exec { out: String::new(), err: String::new(), status: Value::Null, close: CloseCode::Abnormal };
    let read = async {
        while let Some(Ok(message)) = socket.next().await {
            match message {
                Message::Binary(data) => {
                    let text = String::from_utf8_lossy(&data[1..]).into_owned();
                    match data[0] {
                        1 => done.out.push_str(&text),
                        2 => done.err.push_str(&text),
                        _ => done.status = serde_json::from_str(&text).unwrap(),
                    }
                }
                Message::Close(Some(frame)) => done.close = frame.code,
                _ => {}
            }
        }
    };
    timeout(DEADLINE, read).await.unwrap();
    done
}

#[tokio::test]
async fn exec_speaks_both_protocols_and_gives_the_exit_code() {
    let bench = Bench::new().await;
    let done =
        exec(&bench, "command=echo&command=hello&stdout=1", "v5.channel.k8s.io,v4.channel.k8s.io", &[]).await;
    assert_eq!(
        (done.out.as_str(), &done.status["status"], done.close),
        ("hello\n", &json!("Success"), CloseCode::Normal)
    );
    let done = exec(&bench, "command=sh&command=-c&command=nope;exit%207", "v4.channel.k8s.io", &[]).await;
    assert_eq!(done.status["details"]["causes"][0]["message"], "7");
    assert!(done.err.contains("nope"));
    // Standard input to its end, by the close signal of v5.
    let typed: [&[u8]; 2] = [b"\x00some bytes", b"\xff\x00"];
    let done = exec(&bench, "command=cat&stdin=1&stdout=1", "v5.channel.k8s.io", &typed).await;
    assert_eq!(done.out, "some bytes");
    // A terminal: size, a command, exit.
    let typed: [&[u8]; 2] = [b"\x04{\"Width\":80,\"Height\":24}", b"\x00ls\rexit 3\r"];
    let done = exec(&bench, "command=bash&stdin=1&stdout=1&tty=1", "v5.channel.k8s.io", &typed).await;
    assert!(done.out.contains("simulated container") && done.out.contains("etc\r\n"), "{}", done.out);
    assert_eq!(done.status["details"]["causes"][0]["message"], "3");
}

/// A pod's WebSocket at a subresource.
async fn open(bench: &Bench, path: &str, protocol: &str) -> WebSocketStream<TlsStream<Stream>> {
    let stream = bench.tls(0, Some(&bench.identity.service), b"http/1.1").await;
    let mut request = format!("wss://kubernetes:6443{path}").into_client_request().unwrap();
    request.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
    let (socket, response) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    assert_eq!(response.headers()["sec-websocket-protocol"], protocol);
    socket
}

#[tokio::test]
async fn a_file_is_copied_in_and_out_as_kubectl_does() {
    let bench = Bench::new().await;
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(5);
    header.set_mode(0o640);
    builder.append_data(&mut header, "notes.txt", b"notes".as_slice()).unwrap();
    let archive = builder.into_inner().unwrap();
    // Without a signal of its end, as `v4.channel.k8s.io` has none.
    let typed = [b"\x00".as_slice(), &archive].concat();
    let query = "command=tar&command=-xmf&command=-&command=-C&command=/tmp&stdin=1&stdout=1&stderr=1";
    let done = exec(&bench, query, "v4.channel.k8s.io", &[&typed]).await;
    assert_eq!(done.status["status"], "Success", "{}", done.err);
    let done = exec(&bench, "command=cat&command=/tmp/notes.txt&stdout=1", "v5.channel.k8s.io", &[]).await;
    assert_eq!(done.out, "notes");
    let query = "command=tar&command=cf&command=-&command=/tmp/notes.txt&stdout=1&stderr=1";
    let done = exec(&bench, query, "v5.channel.k8s.io", &[]).await;
    assert!(done.out.starts_with("tmp/notes.txt\0") && done.out.contains("notes"), "{}", done.out);
    // kubectl asks this before it copies to a path.
    let done = exec(&bench, "command=test&command=-d&command=/tmp/notes.txt", "v5.channel.k8s.io", &[]).await;
    assert_eq!(done.status["details"]["causes"][0]["message"], "1");
}

#[tokio::test]
async fn attach_shows_what_the_container_writes() {
    let bench = Bench::new().await;
    let path = format!("{}/attach?stdout=1&stderr=1", pod(&bench).await);
    let mut socket = open(&bench, &path, "v5.channel.k8s.io").await;
    for _ in 0..2 {
        let message = timeout(DEADLINE, socket.next()).await.unwrap().unwrap().unwrap();
        let data = message.into_data();
        assert_eq!(data[0], 1);
        assert!(String::from_utf8_lossy(&data[1..]).contains("simulated"));
    }
}

/// The first frames of a client of port-forward: two streams for a port where nothing listens.
fn spdy_port_forward() -> Vec<u8> {
    let mut all = Vec::new();
    // A zlib stream with the dictionary of SPDY/3, whose blocks are stored.
    let mut head = vec![0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2];
    for (id, kind) in [(1_u32, "error"), (3, "data")] {
        let mut plain = 3_u32.to_be_bytes().to_vec();
        for text in ["streamtype", kind, "port", "1", "requestid", "0"] {
            plain.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
            plain.extend_from_slice(text.as_bytes());
        }
        let length = u16::try_from(plain.len()).unwrap();
        let mut payload = [id.to_be_bytes().as_slice(), &[0; 6]].concat();
        payload.append(&mut head);
        payload.push(0);
        payload.extend(length.to_le_bytes());
        payload.extend((!length).to_le_bytes());
        payload.append(&mut plain);
        all.extend_from_slice(&[0x80, 3, 0, 1, 0]);
        all.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes()[1..]);
        all.append(&mut payload);
    }
    all
}

#[tokio::test]
async fn a_port_is_forwarded_by_spdy_within_a_websocket_and_without() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let bench = Bench::new().await;
    let path = format!("{}/portforward", pod(&bench).await);
    let refused =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("127.0.0.1:1: connect: connection refused");

    let mut socket = open(&bench, &path, "SPDY/3.1+portforward.k8s.io").await;
    socket.send(Message::Binary(spdy_port_forward().into())).await.unwrap();
    let mut said = Vec::new();
    while !refused(&said) {
        let message = timeout(DEADLINE, socket.next()).await.unwrap().unwrap().unwrap();
        said.extend_from_slice(&message.into_data());
    }

    let mut stream = bench.tls(0, Some(&bench.identity.service), b"http/1.1").await;
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: kubernetes\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\
         x-stream-protocol-version: portforward.k8s.io\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    let mut piece = [0; 1024];
    let mut upgraded = false;
    while !refused(&said) {
        let length = timeout(DEADLINE, stream.read(&mut piece)).await.unwrap().unwrap();
        assert_ne!(length, 0, "{}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&piece[..length]);
        if !upgraded && said.windows(4).any(|end| end == b"\r\n\r\n") {
            assert!(said.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&said));
            upgraded = true;
            stream.write_all(&spdy_port_forward()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn usage_and_events_of_both_groups_are_served() {
    let bench = Bench::new().await;
    let (_, groups) = bench.get(0, "/apis").await;
    let named = |group: &str| groups["groups"].as_array().unwrap().iter().any(|one| one["name"] == group);
    assert!(named("metrics.k8s.io") && named("events.k8s.io"), "{groups}");
    let (_, nodes) = bench.get(0, "/apis/metrics.k8s.io/v1beta1/nodes").await;
    assert_eq!(nodes["kind"], "NodeMetricsList");
    assert!(nodes["items"][0]["usage"]["cpu"].is_string(), "{nodes}");
    let (_, pods) = bench.get(0, "/apis/metrics.k8s.io/v1beta1/namespaces/openshift-etcd/pods").await;
    assert_eq!(pods["items"].as_array().unwrap().len(), 3);
    let (_, old) = bench.get(0, "/api/v1/events").await;
    let (_, new) = bench.get(0, "/apis/events.k8s.io/v1/events").await;
    assert_eq!(new["items"].as_array().unwrap().len(), old["items"].as_array().unwrap().len());
    assert_eq!(new["items"][0]["note"], old["items"][0]["message"]);
    let (_, pods) = bench.get(0, "/api/v1/namespaces/openshift-etcd/pods").await;
    for status in pods["items"][0]["status"]["containerStatuses"].as_array().unwrap() {
        let id = status["containerID"].as_str().unwrap();
        assert!(id.strip_prefix("cri-o://").is_some_and(|id| id.len() == 64), "{status}");
        assert!(status["imageID"].as_str().unwrap().contains("@sha256:"), "{status}");
    }
}
