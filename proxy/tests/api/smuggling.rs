//! Requests that could be read in two ways, on the listener as it is, byte by byte; and clients that say nothing.

use std::time::Duration;

use rp_documents::Rights;
use rp_net::listen::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::upstream::echo;
use crate::wire::{Wire, ask, start, tls};
use crate::world::{RES, SOON, Setup, World, soon};

#[tokio::test]
async fn two_readings_are_refused_and_the_connection_closed() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let post = start("POST", "/api/v1/namespaces", &token);
    let hidden = start("DELETE", "/api/v1/namespaces/smuggled", &token);
    let get = start("GET", "/version", &token);
    for (what, bytes) in [
        (
            "CL and TE",
            format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}\r\n"),
        ),
        (
            "TE and CL",
            format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{hidden}\r\n"),
        ),
        ("two lengths", format!("{post}Content-Length: 5\r\nContent-Length: 0\r\n\r\n{hidden}\r\n")),
        ("two lengths in one", format!("{post}Content-Length: 5, 0\r\n\r\n{hidden}\r\n")),
        ("a signed length", format!("{post}Content-Length: +5\r\n\r\nhello{hidden}\r\n")),
        ("chunked twice", format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}\r\n")),
        ("chunked hidden", format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}\r\n")),
        (
            "a space before the colon",
            format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{hidden}\r\n"),
        ),
        ("a folded line", format!("{post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n{hidden}\r\n")),
        (
            "HTTP/1.0 in chunks",
            format!(
                "{}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}\r\n",
                post.replace("HTTP/1.1", "HTTP/1.0")
            ),
        ),
        ("a NUL in a value", format!("{get}X-A: a\0b\r\n\r\n")),
        ("a carriage return in a value", format!("{get}X-A: a\rTransfer-Encoding: chunked\r\n\r\n")),
        ("a bad chunk", format!("{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{hidden}\r\n")),
        ("a chunk's bare line feed", format!("{post}Transfer-Encoding: chunked\r\n\r\n0\n\n{hidden}\r\n")),
        ("a space in the target", get.replacen("/version", "/version x", 1) + "\r\n"),
    ] {
        let mut wire = Wire::connect(&world).await;
        wire.send(&bytes).await;
        let rest = String::from_utf8_lossy(&wire.rest().await).into_owned();
        let answers = rest.matches("HTTP/1.").count();
        assert!(answers <= 1, "{what}: {rest}");
        if answers == 1 {
            // Both: chunked wins and the connection ends (RFC 9112 §6.1).
            let chunked = what.contains("CL and") || what.contains("and CL");
            let refused = chunked && rest.starts_with("HTTP/1.1 200") && rest.contains("connection: close")
                || rest.starts_with("HTTP/1.1 400")
                || rest.starts_with("HTTP/1.0 400");
            assert!(refused, "{what}: {rest}");
        }
        for seen in upstream.record.seen.lock().iter() {
            assert!(
                !seen.head.contains("smuggled") && !String::from_utf8_lossy(&seen.body).contains("smuggled"),
                "{what}: {seen:?}"
            );
        }
    }
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200, "others are served");
}

#[tokio::test]
async fn line_feeds_alone_end_lines_and_nothing_is_hidden_behind() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    // RFC 9112 §2.2 lets a recipient take them; then it must mean the same on both sides.
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}\r\n", start("GET", "/version", &token)).replace("\r\n", "\n")).await;
    let answer = wire.answer().await;
    assert!([200, 400].contains(&answer.status), "{answer:?}");
    for seen in upstream.record.seen.lock().iter() {
        assert_eq!(seen.target(), "/version");
        assert!(!seen.head.replace("\r\n", "").contains('\n'), "{}", seen.head);
    }
}

#[tokio::test]
async fn another_host_in_the_target_changes_nothing() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("GET https://evil.example{RES}/kubeconfig/proxy/version HTTP/1.1\r\nHost: proxy\r\nAuthorization: Bearer {token}\r\n\r\n")).await;
    assert_eq!(wire.answer().await.status, 200);
    let seen = upstream.record.seen.lock().pop().unwrap();
    assert_eq!(
        (seen.target(), seen.values("host")),
        ("/version", vec![&*format!("127.0.0.1:{}", upstream.port)])
    );
}

#[tokio::test]
async fn a_body_goes_as_long_as_it_is() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let mut wire = Wire::connect(&world).await;
    let post = start("POST", "/api/v1/namespaces", &token);
    wire.send(format!("{post}Content-Length: 5\r\n\r\nhello{post}Content-Length: 5\r\n\r\nworld")).await;
    assert_eq!((wire.answer().await.status, wire.answer().await.status), (200, 200));
    wire.send(format!("{post}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")).await;
    assert_eq!(wire.answer().await.status, 200);
    let seen = upstream.record.seen.lock();
    assert_eq!((seen[0].body.as_slice(), seen[1].body.as_slice()), (&b"hello"[..], &b"world"[..]));
    assert_eq!((seen[0].values("content-length"), seen[0].values("transfer-encoding")), (vec!["5"], vec![]));
    assert_eq!(
        (seen[2].values("content-length"), seen[2].values("transfer-encoding")),
        (vec![], vec!["chunked"])
    );
}

#[tokio::test]
async fn heads_are_bounded() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}X-Long: {}\r\n\r\n", start("GET", "/version", &token), "x".repeat(1024 * 1024)))
        .await;
    let status = wire.head().await.0;
    assert!([0, 400, 431].contains(&status), "{status}");
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}{}\r\n", start("GET", "/version", &token), "X-A: b\r\n".repeat(5000))).await;
    let status = wire.head().await.0;
    assert!([0, 400, 431].contains(&status), "{status}");
    assert!(upstream.record.seen.lock().is_empty());
}

#[tokio::test]
async fn silent_clients_delay_nobody_and_are_let_go() {
    let limits =
        Limits { handshake: Duration::from_secs(2), head: Duration::from_secs(2), ..Limits::default() };
    let world = World::with(Setup { limits, ..Setup::default() }).await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(TcpStream::connect(world.address).await.unwrap());
    }
    let answer = tokio::time::timeout(SOON, ask(&world, "GET", "/version", &token, "")).await;
    assert_eq!(answer.unwrap().status, 200);
    // After the handshake, within a preface, within a head.
    for (alpn, sent) in
        [(&b"h2"[..], ""), (b"http/1.1", ""), (b"h2", "PRI * HTTP/2.0\r\n"), (b"http/1.1", "GET / HT")]
    {
        let mut stream = tls(&world, alpn).await;
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let _ = soon("the end of a silent client", stream.read_to_end(&mut rest)).await;
    }
    for mut stream in silent {
        let mut rest = Vec::new();
        let _ = soon("the end of a silent client", stream.read_to_end(&mut rest)).await;
    }
}
