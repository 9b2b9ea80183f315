//! A cluster is not trusted with its visitor, and a visitor's mistakes are not the cluster's.

use std::sync::Arc;

use rp_documents::{Phase, Rights};

use crate::upstream::{H2Limits, ReceivedRequest, echo, h1, h2, reply, script};
use crate::wire::{Wire, ask, start};
use crate::world::{RES, World};

#[tokio::test]
async fn a_redirect_stays_below_the_cluster_or_does_not_pass() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|seen: ReceivedRequest, mut peer| async move {
            let to = seen.target().split_once("to=").map(|(_, to)| to.to_owned()).unwrap_or_default();
            peer.write(format!(
                "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Location: {to}\r\nRefresh: 0;url={to}\r\n\
                 Link: <{to}>; rel=next\r\nContent-Length: 0\r\n\r\n"
            ))
            .await;
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    for to in ["https://evil.example/", "http://evil.example/api", "//evil.example/x", "http://127.0.0.1/"] {
        for upgrade in ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"] {
            let path = format!("/api/v1/pods?watch=true&to={to}");
            let answer = ask(&world, "GET", &path, &token, upgrade).await;
            assert_eq!((answer.status, answer.header("location")), (502, None), "{to}");
            let status: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(status["kind"], "Status");
            assert!(
                answer.text().contains("redirect") && !answer.text().contains("evil"),
                "{}",
                answer.text()
            );
        }
    }
    let answer = ask(&world, "GET", "/api/v1/pods?to=/api/v1/nodes", &token, "").await;
    let within = format!("{RES}/kubeconfig/proxy/api/v1/nodes");
    assert_eq!((answer.status, answer.header("location")), (302, Some(within.as_str())));
    for name in ["content-location", "refresh", "link"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    let entry = world.audited("the refusal", |entry| entry.result.status == 502).await;
    assert_eq!(entry.result.side, Some(rp_documents::Side::Cluster));
}

#[tokio::test]
async fn a_visitors_mistakes_are_its_own() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    for path in ["/api/v1/%zz", "/%", "/api/v1/pods/%2", "/api/%%41"] {
        let answer = ask(&world, "GET", path, &token, "").await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text());
        assert!(answer.text().contains("BadRequest"), "{}", answer.text());
    }
    for path in ["/api/v1/pods?labelSelector=%zz", "/api/v1/pods?%", "/version?a=b&c=100%"] {
        let answer = ask(&world, "GET", path, &token, "").await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text());
        assert!(answer.text().contains("a % of its query"), "{}", answer.text());
    }
    let file = format!("GET file://proxy{RES}/kubeconfig/proxy/version HTTP/1.1\r\nHost: proxy\r\n");
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{file}Authorization: Bearer {token}\r\n\r\n")).await;
    assert_eq!(wire.answer().await.status, 400);
    assert_eq!(upstream.record.seen.lock().len(), 0, "nothing was sent");
    // A proxied application reads its own query.
    let path = "/api/v1/namespaces/a/services/b/proxy/search?q=100%";
    assert_eq!(ask(&world, "GET", path, &token, "").await.status, 200);
    assert_eq!(upstream.record.seen.lock().pop().unwrap().target(), path);
    // HTTP/1.1 gives a GET no body of unknown length, so its mistakes are nobody's there.
    bodies(&world, &token, &["POST"]).await;
    let upstream = h2(
        &world.ca,
        H2Limits::default(),
        Arc::new(|request, respond| {
            Box::pin(async move {
                let mut body = request.into_body();
                while let Some(Ok(_)) = body.data().await {}
                match body.trailers().await {
                    Ok(None) => reply(respond, "{}"),
                    Ok(Some(_)) => reply(respond, "trailers"),
                    // The proxy took its request back.
                    Err(_) => {}
                }
            })
        }),
    )
    .await;
    world.cluster(upstream.port);
    bodies(&world, &token, &["POST", "GET", "PUT"]).await;
}

/// Chunks that are none are the client's fault, and trailers end a body well.
async fn bodies(world: &World, token: &str, methods: &[&str]) {
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\n{}\r\n";
    for method in methods {
        let head = start(method, "/api/v1/namespaces", token);
        let mut wire = Wire::connect(world).await;
        wire.send(format!("{head}{CHUNKED}zz\r\n")).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, 400, "{method}: {}", answer.text());
        assert!(answer.text().contains("its chunks are malformed"), "{method}: {}", answer.text());
        let mut wire = Wire::connect(world).await;
        wire.send(format!("{head}{CHUNKED}0\r\nX-Sum: 1\r\n\r\n")).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.text());
        assert_ne!(answer.text(), "trailers", "no list lets them pass");
    }
}

#[tokio::test]
async fn a_kubelet_runs_nothing_and_what_is_proxied_is_on_the_record() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    for (method, path) in [
        ("POST", "/api/v1/nodes/n/proxy/run/a/b/c?cmd=id"),
        ("GET", "/api/v1/nodes/n/proxy/exec/a/b/c?command=id"),
        ("GET", "/api/v1/nodes/n/proxy/containerLogs/a/b/c"),
        ("POST", "/api/v1/namespaces/a/pods/https:b:10250/proxy/run/a/b/c?cmd=id"),
        ("GET", "/api/v1/proxy/nodes/n/run/a/b/c"),
        ("GET", "/api/v1/nodes/n//proxy/run/a/b/c"),
    ] {
        let answer = ask(&world, method, path, &token, "Content-Length: 0\r\n").await;
        assert_eq!(answer.status, 403, "{path}: {}", answer.text());
        assert!(answer.text().contains("not_this_way"), "{}", answer.text());
    }
    assert_eq!(upstream.record.seen.lock().len(), 0, "nothing was sent");
    let entry = world.audited("the refusal", |entry| entry.query.starts_with("/run/a/b/c?cmd=id")).await;
    assert_eq!((entry.subresource.as_str(), entry.result.status), ("proxy", 403));
    let path = "/api/v1/namespaces/a/services/https:b:8443/proxy/admin%20page/x?y=1";
    assert_eq!(ask(&world, "GET", path, &token, "").await.status, 200);
    for phase in [Phase::Start, Phase::End] {
        let entry = world
            .audited("the proxied path", |entry| entry.resource == "services" && entry.phase == phase)
            .await;
        assert_eq!((entry.name.as_str(), entry.query.as_str()), ("https:b:8443", "/admin%20page/x?y=1"));
    }
    assert_eq!(ask(&world, "GET", "/api/v1/nodes/n/proxy/stats/summary", &token, "").await.status, 200);
    let writer = world.token(Rights::Write).await;
    let answer = ask(&world, "GET", "/api/v1/nodes/n/proxy/stats/summary", &writer, "").await;
    assert_eq!(answer.status, 403, "a kubelet's own words need admin rights");
}

#[tokio::test]
async fn a_command_cannot_lie_in_the_audit() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let path = "/api/v1/namespaces/a/pods/b/exec?command=sh&command=-c&command=true%20%23%0Arm%20-rf%20/";
    ask(&world, "POST", path, &token, "Content-Length: 0\r\n").await;
    let entry = world.audited("the exec", |entry| entry.subresource == "exec").await;
    assert_eq!(entry.command, ["sh", "-c", r"true #\nrm -rf /"]);
    assert_eq!(entry.command_digest, rp_base::sha256(b"sh\0-c\0true #\nrm -rf /\0").to_string());
}
