//! What passes unchanged, what is stripped, and what a slow reader costs others.

use std::sync::Arc;

use bytes::Bytes;
use rp_documents::Rights;

use crate::upstream::{self, H2Limits, begin, echo, h1, script};
use crate::wire::{Wire, ask, start, tls};
use crate::world::{RES, World, soon, until};

#[tokio::test]
async fn paths_and_queries_pass_byte_for_byte() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    for path in [
        "/api/v1/namespaces/A-b/pods/Names.With-Capitals?labelSelector=a%3Db&x=%20y+z&empty=&&q",
        "/apis/g/v1/things/a%2Fb",
        "/apis/g/v1/things/a%2fb",
        "//api//v1/pods/",
        "/api/v1/./pods/../secrets",
        "/api/v1/pods/%c3%a9%00?fieldSelector=metadata.name%3D%22x%22",
        "/api/v1/pods;v=1?a=b?c=d",
        "/",
        "/api/v1/pods?",
    ] {
        let answer = ask(&world, "GET", path, &token, "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let seen = upstream.record.seen.lock().pop().unwrap();
        assert_eq!(seen.target(), path);
    }
    assert_eq!(ask(&world, "GET", "", &token, "").await.status, 200);
    assert_eq!(upstream.record.seen.lock().pop().unwrap().target(), "/");
}

#[tokio::test]
async fn a_cluster_sets_nothing_on_our_host() {
    let world = World::new().await;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nStrict-Transport-Security: max-age=1\r\n\
        Alt-Svc: h3=\":1\"\r\nAccess-Control-Allow-Origin: *\r\nContent-Security-Policy: default-src *\r\n\
        Clear-Site-Data: \"*\"\r\nServer: x\r\nX-Kubernetes-Pf-Flowschema-Uid: u\r\nWarning: 299 - \"old\"\r\n\
        Trailer: Set-Cookie\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";
    let upstream = h1(
        &world.ca,
        true,
        script(move |_, mut peer| async move {
            peer.write(format!("{head}5\r\nhello\r\n0\r\nSet-Cookie: t=1\r\n\r\n")).await;
            None
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let answer = ask(&world, "GET", "/version", &token, "TE: trailers\r\n").await;
    assert_eq!((answer.status, answer.text().as_str(), answer.whole), (200, "hello", true));
    assert_eq!(answer.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("x-kubernetes-pf-flowschema-uid"), Some("u"));
    assert_eq!(answer.header("warning"), Some("299 - \"old\""));
    for name in [
        "set-cookie",
        "strict-transport-security",
        "alt-svc",
        "access-control-allow-origin",
        "clear-site-data",
        "server",
        "trailer",
    ] {
        assert_eq!(answer.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn trailers_pass_that_the_client_takes_and_the_cluster_declared() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|_, mut peer| async move {
            let head =
                "HTTP/1.1 200 OK\r\nTrailer: X-Kubernetes-Sum, Set-Cookie\r\nTransfer-Encoding: chunked\r\n";
            let trailers = "X-Kubernetes-Sum: 7\r\nSet-Cookie: t=1\r\nETag: \"undeclared\"\r\n";
            peer.write(format!("{head}\r\n5\r\nhello\r\n0\r\n{trailers}\r\n")).await;
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    for (te, takes) in [("TE: trailers\r\n", true), ("", false)] {
        let mut wire = Wire::connect(&world).await;
        wire.send(format!("{}{te}Connection: close\r\n\r\n", start("GET", "/version", &token))).await;
        let (status, head) = wire.head().await;
        assert_eq!(status, 200);
        assert_eq!(head.contains("trailer: x-kubernetes-sum"), takes, "{head}");
        let rest = String::from_utf8(wire.rest().await).unwrap();
        let end = if takes { "0\r\nx-kubernetes-sum: 7\r\n\r\n" } else { "0\r\n\r\n" };
        assert!(rest.ends_with(end) && rest.contains("hello"), "{rest:?}");
        assert!(!rest.contains("cookie") && !rest.contains("undeclared"), "{rest:?}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|_, mut peer| async move {
            peer.write("HTTP/1.1 302 Found\r\nLocation: /api/v1/nodes\r\nContent-Length: 0\r\n\r\n").await;
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let answer = ask(&world, "GET", "/version", &world.token(Rights::Read).await, "").await;
    let within = format!("{RES}/kubeconfig/proxy/api/v1/nodes");
    assert_eq!((answer.status, answer.header("location")), (302, Some(within.as_str())));
    assert_eq!(upstream.record.seen.lock().len(), 1);
}

#[tokio::test]
async fn errors_of_the_cluster_pass_as_they_are() {
    let world = World::new().await;
    let upstream = h1(
        &world.ca,
        true,
        script(|_, mut peer| async move {
            peer.write("HTTP/1.1 409 Conflict\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nclash").await;
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let answer = ask(
        &world,
        "POST",
        "/api/v1/namespaces",
        &world.token(Rights::Write).await,
        "Content-Length: 2\r\n\r\n{}",
    )
    .await;
    assert_eq!(
        (answer.status, answer.text().as_str(), answer.header("retry-after")),
        (409, "clash", Some("7"))
    );
    assert_eq!(upstream.record.seen.lock()[0].body, b"{}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_stalls_nobody() {
    let world = World::new().await;
    let floods = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let flooded = Arc::clone(&floods);
    let upstream = upstream::h2(
        &world.ca,
        H2Limits::default(),
        Arc::new(move |request, respond| {
            let flooded = Arc::clone(&flooded);
            Box::pin(async move {
                let mut stream = begin(respond);
                if request.uri().path().ends_with("/log") {
                    loop {
                        stream.reserve_capacity(16 * 1024);
                        let Some(Ok(room)) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else {
                            return;
                        };
                        flooded.fetch_add(room, std::sync::atomic::Ordering::SeqCst);
                        if stream.send_data(Bytes::from(vec![b'x'; room]), false).is_err() {
                            return;
                        }
                    }
                }
                stream.send_data(Bytes::from_static(b"{\"type\":\"ADDED\"}\n"), false).unwrap();
                std::future::pending::<()>().await;
            })
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let mut slow = Wire::connect(&world).await;
    slow.send(format!("{}\r\n", start("GET", "/api/v1/namespaces/a/pods/b/log?follow=true", &token))).await;
    assert_eq!(slow.head().await.0, 200);
    // Until nothing more fits into the windows and buffers between.
    let mut last = 0;
    until("the flood's end", async || {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let now = floods.load(std::sync::atomic::Ordering::SeqCst);
        let stalled = now > 0 && now == last;
        last = now;
        stalled.then_some(())
    })
    .await;
    assert!(last < 32 * 1024 * 1024, "{last} bytes are held for a reader that reads nothing");
    let (client, connection) = h2::client::handshake(tls(&world, b"h2").await).await.unwrap();
    tokio::spawn(connection);
    let mut watches = Vec::new();
    for _ in 0..100 {
        let mut client = client.clone().ready().await.unwrap();
        let request =
            http::Request::get(format!("https://proxy{RES}/kubeconfig/proxy/api/v1/pods?watch=true"))
                .header("authorization", format!("Bearer {token}"))
                .body(())
                .unwrap();
        watches.push(client.send_request(request, true).unwrap().0);
    }
    let mut open = Vec::new();
    for watch in watches {
        let mut body = soon("a watch", watch).await.unwrap().into_body();
        let event = soon("its first event", body.data()).await.unwrap().unwrap();
        assert_eq!(event, "{\"type\":\"ADDED\"}\n");
        open.push(body);
    }
    assert_eq!(
        upstream.record.connections.load(std::sync::atomic::Ordering::SeqCst),
        1,
        "on the same connection"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_big_answer_comes_whole_over_http_1() {
    let world = World::new().await;
    const SIZE: usize = 32 * 1024 * 1024;
    let upstream = h1(
        &world.ca,
        true,
        script(|_, mut peer| async move {
            peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n")).await;
            let block: Vec<u8> = (0..=255).cycle().take(64 * 1024).collect();
            for _ in 0..SIZE / block.len() {
                peer.write(&block).await;
            }
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let answer = ask(&world, "GET", "/api/v1/pods", &token, "").await;
    assert_eq!((answer.whole, answer.body.len()), (true, SIZE));
    let right = answer.body.iter().enumerate().all(|(at, byte)| *byte == (at & 255) as u8);
    assert!(right, "byte for byte");
}
