//! Watches, logs and exec.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rp_base::{Clock as _, ManualClock, Timestamp};
use rp_simulator::fleet::{Episode, Faults, TransientFault};
use serde_json::{Value, json};
use tokio::time::timeout;
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
    let path = "/apis/config.openshift.io/v1/clusteroperators?watch=1&resourceVersion=5";
    let request = ask("GET", path).body(Full::default()).unwrap();
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
    let path = "/api/v1/nodes?watch=1&sendInitialEvents=true&allowWatchBookmarks=true";
    let request = ask("GET", path).body(Full::default()).unwrap();
    let mut body = bench.send(0, &bench.identity.sre, request).await.into_body();
    let kind =
        |line: &str| serde_json::from_str::<Value>(line).map(|e| e["type"].clone()).unwrap_or_default();
    let lines = lines_until(&mut body, |text| text.lines().any(|line| kind(line) == "MODIFIED")).await;
    let kinds: Vec<Value> = lines.iter().map(|line| kind(line)).collect();
    assert!(kinds.iter().filter(|kind| **kind == "ADDED").count() >= 6, "{kinds:?}");
    assert!(kinds.contains(&json!("BOOKMARK")), "{kinds:?}");

    // A watch from a version has no first events, and ends when it is told to.
    let path = "/api/v1/nodes?watch=1&resourceVersion=5&timeoutSeconds=1";
    let request = ask("GET", path).body(Full::default()).unwrap();
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
