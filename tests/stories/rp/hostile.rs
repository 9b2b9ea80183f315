//! Requests that no client of ours would send: each gets its answer, none a 5xx, and nothing is changed by them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tests_kit::{Aro, AroOptions, GENEROUS, Wire};

const SUB: &str = "00000000-0000-0000-0000-00000000b001";
const VERSION: &str = "api-version=2025-07-25";

/// One request and its answer on a connection of its own.
async fn send_raw(aro: &Aro, request: impl AsRef<[u8]>) -> Result<(u16, String)> {
    let mut wire = Wire::connect(&aro.dev.rp_url, &aro.ca_pem()?).await?;
    // It may close before it has read all.
    let sent = wire.send(request).await;
    let answer = wire.answer().await;
    answer.with_context(|| format!("sent: {sent:?}"))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

fn put(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("PUT {path} HTTP/1.1\r\nhost: localhost\r\n{kind}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

const JSON: &str = "content-type: application/json\r\n";

#[tokio::test]
async fn hostile_requests_get_their_answers() -> Result<()> {
    let env = vec![("ARO_RP__READ_TIME".to_owned(), "1s".to_owned())];
    let aro = Aro::start(AroOptions { clusters: 2, env, ..AroOptions::default() }).await?;
    aro.explain(paths(&aro).await)?;
    aro.explain(bodies(&aro).await)?;
    aro.explain(heads(&aro).await)?;
    aro.explain(slow(&aro).await)?;
    ensure!(!aro.process().log().contains("a request panicked"), "{}", aro.process().tail());
    // It lives, and nothing was made.
    let (status, list) = send_raw(
        &aro,
        get(&format!("/subscriptions/{SUB}/providers/Microsoft.RedHatOpenShift/openShiftClusters?{VERSION}")),
    )
    .await?;
    ensure!(status == 200 && list.contains("\"value\": []"), "{list}");
    Ok(())
}

async fn paths(aro: &Aro) -> Result<()> {
    let own = "providers/Microsoft.RedHatOpenShift/openShiftClusters";
    let subscription = format!("/subscriptions/{SUB}");
    for (path, status, code) in [
        (format!("{subscription}/{own}"), 200, ""),
        (format!("{}/", format!("{subscription}/{own}").to_uppercase()), 200, ""),
        (format!("//subscriptions///{SUB}//{own}//"), 200, ""),
        (format!("{subscription}/providers/Microsoft.RedHatOpenShift/%6FpenShift%43lusters"), 200, ""),
        (format!("{subscription}/resourceGroups/a%2fb/{own}/x"), 400, "ResourceGroupNotFound"),
        (format!("{subscription}/resourceGroups/../{own}/x"), 400, "ResourceGroupNotFound"),
        (format!("{subscription}/resourceGroups/%2e%2e/{own}/x"), 400, "ResourceGroupNotFound"),
        (format!("{subscription}/resourceGroups/g/{own}/%00"), 400, "ResourceNotFound"),
        (format!("{subscription}/resourceGroups/g/{own}/%ff"), 400, "ResourceNotFound"),
        (format!("{subscription}/resourceGroups/g/{own}/x%0d%0ainjected:%201"), 400, "ResourceNotFound"),
        (format!("{subscription}/resourceGroups/%28g%29/{own}/x"), 404, "ResourceNotFound"),
        (format!("/subscriptions/{SUB}%20/{own}"), 400, "InvalidSubscriptionID"),
        (format!("{subscription}/resourceGroups/{}/{own}/x", "g".repeat(91)), 400, "ResourceGroupNotFound"),
        ("/%2e%2e/%2e%2e/etc/passwd".to_owned(), 404, "NotFound"),
        ("/".repeat(5000), 404, "NotFound"),
    ] {
        let (seen, text) = send_raw(aro, get(&format!("{path}?{VERSION}"))).await?;
        ensure!(seen == status && text.contains(code), "{path}: {seen} {text}");
        ensure!(!text.to_ascii_lowercase().contains("\r\ninjected:"), "{path}: {text}");
    }
    // A known path with another method: no body.
    let (seen, text) = send_raw(aro, format!("DELETE {subscription} HTTP/1.1\r\nhost: x\r\n\r\n")).await?;
    ensure!(seen == 405 && text.ends_with("\r\n\r\n"), "{text}");
    Ok(())
}

async fn bodies(aro: &Aro) -> Result<()> {
    let subscription = format!("/subscriptions/{SUB}?api-version=2.0");
    let cluster = format!(
        "/subscriptions/{SUB}/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c?{VERSION}"
    );
    let good = br#"{"state": "Registered", "properties": {"tenantId": "t"}}"#;
    let mut padded = good.to_vec();
    padded.resize(1 << 20, b' ');
    let (status, text) = send_raw(aro, put(&subscription, JSON, &padded)).await?;
    ensure!(status == 201, "a body of 1 MiB: {status} {text}");
    padded.push(b' ');
    let (status, text) = send_raw(aro, put(&subscription, JSON, &padded)).await?;
    ensure!(status == 400 && text.contains("InvalidResource"), "a body of 1 MiB and 1: {status} {text}");
    // The same in chunks, which tell no length.
    let head = format!("PUT {subscription} HTTP/1.1\r\nhost: x\r\n{JSON}transfer-encoding: chunked\r\n\r\n");
    let chunk = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
    let (status, text) =
        send_raw(aro, [head.into_bytes(), chunk.repeat(17), b"0\r\n\r\n".to_vec()].concat()).await?;
    ensure!(status == 400 && text.contains("InvalidResource"), "chunks without end: {status} {text}");

    let utf16: Vec<u8> = "{\"location\": \"eastus\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = |open: &str, close: &str| [open.repeat(20_000), close.repeat(20_000)].concat().into_bytes();
    for (what, body) in [
        ("nothing", Vec::new()),
        ("no JSON", b"{".to_vec()),
        ("another encoding", utf16),
        ("no UTF-8", b"{\"location\": \"\xff\xfe\"}".to_vec()),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec()),
        ("half a character", br#"{"location": "\ud800"}"#.to_vec()),
        ("a zero character", br#"{"location": "a\u0000b"}"#.to_vec()),
        ("deep lists", deep("[", "]")),
        ("deep objects", deep("{\"a\":", "}")),
        ("a key twice", br#"{"location": "eastus", "location": "westeurope"}"#.to_vec()),
        ("two values", b"{} {}".to_vec()),
        ("a large number", br#"{"properties": {"workerProfiles": [{"count": 1e400}]}}"#.to_vec()),
        ("a long number", format!("{{\"tags\": {}}}", "9".repeat(100_000)).into_bytes()),
        ("a list", b"[]".to_vec()),
    ] {
        let (status, text) = send_raw(aro, put(&cluster, JSON, &body)).await?;
        ensure!((400..500).contains(&status), "{what}: {status} {text}");
        let (_, json) = text.split_once("\r\n\r\n").context("an answer with a body")?;
        let json: serde_json::Value = serde_json::from_str(json).with_context(|| text.clone())?;
        ensure!(json["error"]["code"].is_string() && json["error"]["message"].is_string(), "{what}: {text}");
    }
    for kind in
        ["content-type: text/yaml\r\n", "content-type: application/jsonx\r\n", "content-type: \r\n", ""]
    {
        let (status, text) = send_raw(aro, put(&cluster, kind, good)).await?;
        ensure!(status == 415 && text.contains("UnsupportedMediaType"), "{kind:?}: {status} {text}");
    }
    let kind = "content-type: application/json; charset=utf-8\r\n";
    let (status, text) = send_raw(aro, put(&subscription, kind, good)).await?;
    ensure!(status == 200, "{text}");
    Ok(())
}

async fn heads(aro: &Aro) -> Result<()> {
    let path = format!("/providers/microsoft.redhatopenshift/operations?{VERSION}");
    for (what, more) in [
        ("a long header", format!("x: {}\r\n", "y".repeat(300_000))),
        ("many headers", (0..2000).map(|n| format!("x{n}: y\r\n")).collect()),
    ] {
        let (status, text) = send_raw(aro, format!("GET {path} HTTP/1.1\r\nhost: x\r\n{more}\r\n")).await?;
        ensure!(matches!(status, 0 | 400 | 431), "{what}: {status} {text}");
    }
    for (what, request) in [
        ("a long path", get(&format!("/{}", "x".repeat(300_000)))),
        ("no HTTP", "hello\r\n\r\n".to_owned()),
        (
            "two lengths",
            format!("PUT {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"),
        ),
    ] {
        let (status, text) = send_raw(aro, request).await?;
        ensure!(matches!(status, 0 | 400 | 414 | 431), "{what}: {status} {text}");
    }
    // What comes back of a request's names is theirs to the letter, or nothing.
    let names = "x-ms-client-request-id: a b\tc\r\nx-ms-return-client-request-id: TRUE\r\nx-ms-correlation-request-id: q\r\n";
    let (status, text) = send_raw(aro, format!("GET {path} HTTP/1.1\r\nhost: x\r\n{names}\r\n")).await?;
    ensure!(status == 200 && text.contains("x-ms-client-request-id: a b\tc\r\n"), "{text}");
    let broken = "x-ms-arm-resource-system-data: {{{\r\nreferer: ::\r\n";
    let (status, text) = send_raw(aro, format!("GET {path} HTTP/1.1\r\nhost: x\r\n{broken}\r\n")).await?;
    ensure!(status == 200, "{text}");
    Ok(())
}

/// A client that begins a request and does not continue loses its connection or gets an answer; others are served
/// meanwhile.
async fn slow(aro: &Aro) -> Result<()> {
    let path = format!("/subscriptions/{SUB}?api-version=2.0");
    let mut begun = Vec::new();
    for _ in 0..20 {
        let mut wire = Wire::connect(&aro.dev.rp_url, &aro.ca_pem()?).await?;
        wire.send("GET / HTTP/1.1\r\nhost: ").await?;
        begun.push(wire);
    }
    // Preface and an empty SETTINGS, then the beginning of a HEADERS frame, or a whole one whose fields are never ended.
    const OPEN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for head in [&b"\0\0\x20\x01\x04\0\0\0\x01\x82"[..], b"\0\0\x01\x01\0\0\0\0\x01\x82"] {
        let mut wire = Wire::connect_h2(&aro.dev.rp_url, &aro.ca_pem()?).await?;
        wire.send([OPEN, head].concat()).await?;
        begun.push(wire);
    }
    let mut stalled = Vec::new();
    for _ in 0..50 {
        let mut wire = Wire::connect(&aro.dev.rp_url, &aro.ca_pem()?).await?;
        wire.send(format!("PUT {path} HTTP/1.1\r\nhost: x\r\n{JSON}content-length: 100\r\n\r\n{{")).await?;
        stalled.push(wire);
    }
    let (status, text) =
        send_raw(aro, get(&format!("/providers/microsoft.redhatopenshift/operations?{VERSION}"))).await?;
    ensure!(status == 200, "while others stall: {text}");
    for mut wire in stalled {
        let answer =
            tokio::time::timeout(GENEROUS, wire.answer()).await.context("a stalled body has no end")?;
        let (status, text) = answer?;
        ensure!(status == 400 && text.contains("InvalidResource"), "{status} {text}");
        wire.closed(Duration::from_secs(60)).await?;
    }
    // Below `limits.head`, within which silence would end.
    for mut wire in begun {
        wire.closed(Duration::from_secs(60)).await.context("a head that was begun has no end")?;
    }
    Ok(())
}
