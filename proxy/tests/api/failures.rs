//! Whatever fails, the client gets a Kubernetes Status that says whose fault it is, and never foreign bytes.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use proxy::api::Timeouts;
use rp_documents::{GrantKind, Rights};
use tokio::net::TcpListener;

use crate::faults::Mode;
use crate::upstream::{ReceivedRequest, echo, h1, script};
use crate::wire::{Wire, WireResponse, ask, start};
use crate::world::{Ca, SOON, Setup, World, until};

fn status(answer: &WireResponse, code: u16, reason: &str, side: &str) -> String {
    let text = answer.text();
    let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!((answer.status, &status["code"]), (code, &code.into()), "{text}");
    assert_eq!(
        (&status["kind"], &status["apiVersion"], &status["status"]),
        (&"Status".into(), &"v1".into(), &"Failure".into())
    );
    assert_eq!(status["reason"], reason, "{text}");
    assert_eq!(status["details"]["causes"][0]["field"], side, "{text}");
    let id = answer.header("x-request-id").unwrap();
    let message = status["message"].as_str().unwrap();
    assert!(message.contains(id), "{message} names {id}");
    message.to_owned()
}

#[tokio::test]
async fn tokens_and_clusters_that_are_none() {
    let world = World::new().await;
    let token = world.token(Rights::Read).await;
    status(&ask(&world, "GET", "/version", "nonsense", "").await, 401, "Unauthorized", "you");
    status(&ask(&world, "GET", "/version", &token, "").await, 404, "NotFound", "you");
}

#[tokio::test]
async fn a_cluster_that_is_away_says_how() {
    const SHORT: Duration = Duration::from_secs(3);
    let timeouts = Timeouts { connect: SHORT, head: SHORT, idle: SOON };
    let world = World::with(Setup { timeouts, ..Setup::default() }).await;
    let token = world.token(Rights::Read).await;
    // Nobody listens there, and the kernel gives it to nobody.
    world.cluster(1);
    let message =
        status(&ask(&world, "GET", "/version", &token, "").await, 502, "ServiceUnavailable", "cluster");
    assert!(message.contains("refused the connection"), "{message}");
    // It listens and never speaks: TLS takes too long.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    world.cluster(silent.local_addr().unwrap().port());
    let message = status(&ask(&world, "GET", "/version", &token, "").await, 504, "Timeout", "cluster");
    assert!(message.contains("did not finish the TLS handshake in time"), "{message}");
    // Many ask at once: nobody waits for the others' time as well.
    let began = std::time::Instant::now();
    let all = (0..12).map(|_| ask(&world, "GET", "/version", &token, ""));
    for answer in futures_util::future::join_all(all).await {
        assert_eq!(answer.status, 504);
    }
    assert!(began.elapsed() < SHORT * 8, "{:?}", began.elapsed());
    // It ends the connection in the handshake: that says nothing about certificates.
    let ends = TcpListener::bind("127.0.0.1:0").await.unwrap();
    world.cluster(ends.local_addr().unwrap().port());
    let ending = tokio::spawn(async move {
        while let Ok((connection, _)) = ends.accept().await {
            drop(connection);
        }
    });
    let message =
        status(&ask(&world, "GET", "/version", &token, "").await, 502, "ServiceUnavailable", "cluster");
    assert!(message.contains("ended the connection during the TLS handshake"), "{message}");
    ending.abort();
    // Somebody else signed its certificate.
    let upstream = echo(&Ca::new(), true).await;
    world.cluster(upstream.port);
    let message =
        status(&ask(&world, "GET", "/version", &token, "").await, 502, "ServiceUnavailable", "cluster");
    assert!(message.contains("certificate"), "{message}");
    // It takes the request and does not answer.
    let upstream = h1(
        &world.ca,
        true,
        script(|_: ReceivedRequest, peer| async move {
            let _held = peer;
            std::future::pending().await
        }),
    )
    .await;
    world.cluster(upstream.port);
    status(&ask(&world, "GET", "/version", &token, "").await, 504, "Timeout", "cluster");
    // An address that this service may not dial.
    let mut target = world.target(443);
    target.endpoint = rp_net::Endpoint::Direct { url: "https://169.254.169.254/".parse().unwrap() };
    world.directory.put(target);
    let message = status(&ask(&world, "GET", "/version", &token, "").await, 502, "ServiceUnavailable", "you");
    assert!(message.contains("not one that this service may dial"), "{message}");
}

#[tokio::test]
async fn a_cut_is_a_cut() {
    let world = World::new().await;
    for (head, body) in
        [("Transfer-Encoding: chunked", "6\r\nevent\n\r\n"), ("Content-Length: 100", "event\n")]
    {
        let upstream = h1(
            &world.ca,
            true,
            script(move |_: ReceivedRequest, mut peer| async move {
                peer.write(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}")).await;
                None
            }),
        )
        .await;
        world.cluster(upstream.port);
        let token = world.token(Rights::Read).await;
        let mut wire = Wire::connect(&world).await;
        wire.send(format!("{}\r\n", start("GET", "/api/v1/pods?watch=true", &token))).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.whole), (200, false), "{head}");
        let rest = if head.starts_with('C') { answer.body } else { wire.rest().await };
        assert!(b"event\n".starts_with(&rest), "foreign bytes: {}", String::from_utf8_lossy(&rest));
    }
    world.audited("the cut", |entry| entry.verb == "watch" && entry.result.word == "failed").await;
}

#[tokio::test]
async fn answers_that_are_no_http() {
    let world = World::new().await;
    let token = world.token(Rights::Read).await;
    for rubbish in [
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 200 OK\r\nA B: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "",
    ] {
        let upstream = h1(
            &world.ca,
            true,
            script(move |_: ReceivedRequest, mut peer| async move {
                peer.write(rubbish).await;
                None
            }),
        )
        .await;
        world.cluster(upstream.port);
        status(&ask(&world, "GET", "/version", &token, "").await, 502, "ServiceUnavailable", "cluster");
    }
}

#[tokio::test]
async fn without_the_store_nothing_new_is_opened() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    world.store.reads.send_replace(Mode::Fail);
    let answer = ask(&world, "GET", "/version", &token, "").await;
    status(&answer, 503, "ServiceUnavailable", "us");
    assert_eq!(answer.header("retry-after"), Some("5"));
    world.store.reads.send_replace(Mode::Pass);
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200);
}

#[tokio::test]
async fn an_upload_ends_with_its_grant() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    static ENDED: AtomicBool = AtomicBool::new(false);
    let world = World::new().await;
    let upstream = crate::upstream::h2(
        &world.ca,
        crate::upstream::H2Limits::default(),
        std::sync::Arc::new(|mut request, _respond| {
            Box::pin(async move {
                STARTED.store(true, SeqCst);
                while let Some(Ok(data)) = request.body_mut().data().await {
                    let _ = request.body_mut().flow_control().release_capacity(data.len());
                }
                ENDED.store(true, SeqCst);
                std::future::pending::<()>().await;
            })
        }),
    )
    .await;
    world.cluster(upstream.port);
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Write).await;
    let mut wire = Wire::connect(&world).await;
    let head = start("POST", "/api/v1/namespaces", issued.token.expose());
    wire.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")).await;
    until("the request on its way", async || STARTED.load(SeqCst).then_some(())).await;
    world.revoke(&issued).await;
    assert_eq!(wire.answer().await.status, 401);
    // The client's side is still open, and yet the cluster gets no more.
    until("the upload's end", async || ENDED.load(SeqCst).then_some(())).await;
}
