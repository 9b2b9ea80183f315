//! Requests that no honest client sends, byte by byte, at the proxy's listener.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{
    Aro, AroOptions, Behaviour, GENEROUS, Upstream, Wire, kubeconfig_server, kubeconfig_token, until,
};

/// A system with an upstream that tells what it got.
struct Stage {
    aro: Aro,
    upstream: Upstream,
    /// Path of the proxy for the upstream, and of another cluster.
    path: String,
    read: String,
    admin: String,
}

impl Stage {
    async fn new() -> Result<Self> {
        Self::with(AroOptions::default()).await
    }

    async fn with(options: AroOptions) -> Result<Self> {
        let aro = Aro::start(options).await?;
        let upstream = Upstream::start(Behaviour::Echo(vec![])).await?;
        let kubeconfig = upstream.kubeconfig(aro.folder(), "echo")?;
        let resource = aro.import_and_wait(&kubeconfig, "echo", &["team:a"]).await?;
        let session = aro.session("elevated").await?;
        let read = session.kubeconfig(&resource, "read", "hostile story", None).await?;
        let admin = session.kubeconfig(&resource, "admin", "hostile story", None).await?;
        let server = kubeconfig_server(&read)?;
        let path =
            server.strip_prefix(aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?.to_owned();
        Ok(Self { aro, upstream, path, read: kubeconfig_token(&read)?, admin: kubeconfig_token(&admin)? })
    }

    fn host(&self) -> &str {
        self.aro.dev.proxy_url.trim_start_matches("https://").trim_end_matches('/')
    }

    async fn wire(&self) -> Result<Wire> {
        Wire::connect(&self.aro.dev.proxy_url, &self.aro.ca_pem()?).await
    }

    /// A request with a good host and token; `rest` are more header lines, the blank line and a body.
    fn request(&self, token: &str, line: &str, rest: &str) -> String {
        let line = line.replace("~", &self.path);
        format!("{line}\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{rest}", self.host())
    }

    async fn ask(&self, request: &str) -> Result<(u16, String)> {
        let mut wire = self.wire().await?;
        wire.send(request).await?;
        wire.answer().await
    }

    /// Targets that the upstream got for clients.
    fn seen(&self) -> Vec<String> {
        self.upstream.passed_on().into_iter().map(|got| got.target).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_readings_of_a_request_are_refused() -> Result<()> {
    let stage = Stage::new().await?;
    let line = "POST ~/api/v1/namespaces/a/configmaps HTTP/1.1";
    let second = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let cases = [
        ("two lengths", line, format!("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello{second}")),
        ("two lengths in one", line, format!("Content-Length: 5, 6\r\n\r\nhello{second}")),
        ("a signed length", line, format!("Content-Length: +5\r\n\r\nhello{second}")),
        (
            "an unknown coding",
            line,
            format!("Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n{second}"),
        ),
        ("chunked is not last", line, format!("Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n{second}")),
        (
            "a chunk size that overflows",
            line,
            "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff1\r\nx".to_owned(),
        ),
        ("a space before the colon", line, format!("Content-Length : 5\r\n\r\nhello{second}")),
        ("a folded header", line, format!("Content-Length: 0\r\nX-A: b\r\n c\r\n\r\n{second}")),
        ("a NUL in a header", line, format!("Content-Length: 0\r\nX-A: b\0c\r\n\r\n{second}")),
        (
            "chunked in HTTP/1.0",
            "POST ~/api/v1/namespaces/a/configmaps HTTP/1.0",
            format!("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}"),
        ),
        ("no version", "GET ~/api", "\r\n".to_owned()),
        ("a space in the path", "GET ~/api/v1/pods x HTTP/1.1", "\r\n".to_owned()),
    ];
    for (what, line, rest) in cases {
        let request = stage.request(&stage.admin, line, &rest);
        let (status, text) = stage.ask(&request).await.context(what)?;
        ensure!(status == 0 || (400..500).contains(&status), "{what}: {text}");
    }
    // Both framings at once: one request or none, and never the second.
    let both = format!("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}");
    let (status, text) = stage.ask(&stage.request(&stage.admin, line, &both)).await?;
    ensure!(status != 101 && status < 500, "{text}");
    let smuggled: Vec<String> =
        stage.seen().into_iter().filter(|target| target.contains("smuggled")).collect();
    ensure!(smuggled.is_empty(), "the cluster got {smuggled:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_headers_are_refused_or_dropped() -> Result<()> {
    let stage = Stage::new().await?;
    for header in [
        "Impersonate-User: root",
        "impersonate-user: root",
        "IMPERSONATE-GROUP: system:masters",
        "Impersonate-Uid: 0",
        "Impersonate-Extra-Scopes: all",
        "Impersonate_User: root",
        "Impersonate-User:",
    ] {
        let line = "GET ~/api/v1/pods HTTP/1.1";
        let request = stage.request(&stage.admin, line, &format!("{header}\r\nContent-Length: 0\r\n\r\n"));
        let (status, text) = stage.ask(&request).await?;
        ensure!(status == 403 && text.contains("\"kind\":\"Status\""), "{header}: {text}");
        // Naming it in Connection does not hide it.
        let hidden =
            format!("{header}\r\nConnection: {}\r\n\r\n", header.split(':').next().unwrap_or_default());
        let (status, text) = stage.ask(&stage.request(&stage.admin, line, &hidden)).await?;
        ensure!(status == 403, "{header} hidden: {text}");
    }
    let extra = "X-Remote-User: root\r\nX-Remote-Group: system:masters\r\nX-Remote-Extra-A: b\r\nCookie: a=b\r\n\
        X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-User: root\r\nAudit-ID: mine\r\nProxy-Authorization: Basic eA==\r\n\
        Front-Proxy-User: root\r\nX_Remote_User: root\r\nForwarded: for=1.2.3.4\r\n\
        Connection: Authorization, Host, X-Real\r\nX-Real: 1\r\nAccept: application/json\r\n\r\n";
    let (status, text) = stage.ask(&stage.request(&stage.admin, "GET ~/api/v1/pods HTTP/1.1", extra)).await?;
    ensure!(status == 200, "{text}");
    let got = stage.upstream.passed_on().into_iter().last().context("a request")?;
    let mut names: Vec<&str> = got.headers.keys().map(http_name).collect();
    names.sort_unstable();
    names.dedup();
    let allowed = [
        "accept",
        "audit-id",
        "authorization",
        "host",
        "impersonate-group",
        "impersonate-user",
        "user-agent",
        "x-forwarded-for",
    ];
    for name in &names {
        ensure!(
            allowed.contains(name) || name.starts_with("impersonate-extra-aro.openshift.io%2f"),
            "{name}: {got:?}"
        );
    }
    let value = |name: &str| got.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ensure!(value("authorization") == "Bearer token-of-the-upstream", "{got:?}");
    ensure!(value("impersonate-user") == "elevated" && value("impersonate-group") == "team:a", "{got:?}");
    ensure!(value("x-forwarded-for") == "127.0.0.1" && value("audit-id") != "mine", "{got:?}");
    Ok(())
}

/// Whom the audit has for a client that says it speaks for others.
async fn speaks_for(stage: &Stage, said: &str) -> Result<Value> {
    let rest = format!("X-Forwarded-For: {said}\r\nAccept: application/json\r\n\r\n");
    let namespace = format!("of-{}", said.replace(['.', ',', ' '], "-"));
    let line = format!("GET ~/api/v1/namespaces/{namespace}/pods HTTP/1.1");
    let (status, text) = stage.ask(&stage.request(&stage.read, &line, &rest)).await?;
    ensure!(status == 200, "{text}");
    let auditor = stage.aro.session("auditor").await?;
    let entry = until("the entry is found", GENEROUS, || async {
        let entries = auditor.audit(&namespace).await?;
        entries.into_iter().find(|entry| entry["verb"] == "list").context("no entry yet")
    })
    .await?;
    Ok(entry["actor"]["from"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_named_forwarders_say_for_whom_they_speak() -> Result<()> {
    let stage = Stage::new().await?;
    ensure!(speaks_for(&stage, "192.0.2.44").await? == "127.0.0.1");

    let env = vec![("ARO_LISTEN__FORWARDED_FROM".to_owned(), "127.0.0.1/32".to_owned())];
    let stage = Stage::with(AroOptions { env, ..AroOptions::default() }).await?;
    ensure!(speaks_for(&stage, "192.0.2.45").await? == "192.0.2.45");
    // The addresses before the last untrusted one were written by that untrusted sender.
    ensure!(speaks_for(&stage, "10.0.0.1, 192.0.2.46").await? == "192.0.2.46");
    Ok(())
}

fn http_name(name: &reqwest::header::HeaderName) -> &str {
    name.as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_not_good_are_refused_with_a_status() -> Result<()> {
    let stage = Stage::new().await?;
    let token = &stage.read;
    let flipped: String =
        token.chars().rev().enumerate().map(|(n, c)| if n == 3 { flip(c) } else { c }).collect();
    let flipped: String = flipped.chars().rev().collect();
    let huge = "a".repeat(20_000);
    let cases = [
        ("none", String::new()),
        ("empty", "Authorization: Bearer \r\n".to_owned()),
        ("another scheme", format!("Authorization: Basic {token}\r\n")),
        ("no scheme", format!("Authorization: {token}\r\n")),
        ("cut short", format!("Authorization: Bearer {}\r\n", &token[..token.len() - 1])),
        ("one letter changed", format!("Authorization: Bearer {flipped}\r\n")),
        ("longer", format!("Authorization: Bearer {token}0\r\n")),
        ("another kind", format!("Authorization: Bearer {}\r\n", token.replace("kubeconfig", "cli"))),
        ("upper case", format!("Authorization: Bearer {}\r\n", token.to_uppercase())),
        ("a UUID", "Authorization: Bearer 3f2504e0-4f89-11d3-9a0c-0305e82c3301\r\n".to_owned()),
        ("huge", format!("Authorization: Bearer {huge}\r\n")),
        ("twice", format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n")),
        ("in the query only", String::new()),
    ];
    for (what, header) in cases {
        let query = if what == "in the query only" {
            format!("?access_token={token}&token={token}")
        } else {
            String::new()
        };
        let request = format!(
            "GET {}/api/v1/pods{query} HTTP/1.1\r\nHost: {}\r\n{header}\r\n",
            stage.path,
            stage.host()
        );
        let (status, text) = stage.ask(&request).await.context(what)?;
        ensure!(status == 401, "{what}: {text}");
        let body = text.split("\r\n\r\n").nth(1).unwrap_or_default();
        let body: Value = serde_json::from_str(body).with_context(|| format!("{what}: {text}"))?;
        ensure!(body["kind"] == "Status" && body["code"] == 401, "{what}: {text}");
        ensure!(!text.contains(&token[20..]), "{what}: the answer repeats the token");
    }
    // Another cluster's address, and one that is none.
    let other = stage.path.replace("/echo/", "/other/");
    let request = stage.request(token, &format!("GET {other}/api HTTP/1.1"), "\r\n");
    let (status, text) = stage.ask(&request).await?;
    ensure!(status == 403 && text.contains("another cluster"), "{text}");
    let (status, text) = stage.ask(&stage.request(token, "GET /api/v1/pods HTTP/1.1", "\r\n")).await?;
    ensure!(status == 404, "{text}");
    ensure!(stage.seen().is_empty(), "the cluster got {:?}", stage.seen());
    Ok(())
}

fn flip(c: char) -> char {
    if c == '0' { '1' } else { '0' }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_paths_need_admin_rights_and_stay_as_they_are() -> Result<()> {
    let stage = Stage::new().await?;
    let odd = [
        "/api/v1/namespaces/a/pods/../../../secrets",
        "/api/v1/namespaces/a/pods/%2e%2e/secrets",
        "/api/v1//secrets",
        "/api/v1/namespaces/a%2fsecrets",
        "/api/v1/Secrets",
        "/api/v1/namespaces/a/secret/b",
        "/api/v1/namespaces/a/%73ecrets",
        "/API/v1/secrets",
        "/api/v1/namespaces/a/pods/b/exec?command=id",
        "/api/v1/watch/secrets",
    ];
    for path in odd {
        let line = format!("GET ~{path} HTTP/1.1");
        let (status, text) = stage.ask(&stage.request(&stage.read, &line, "\r\n")).await?;
        ensure!(status == 403, "{path} by read: {text}");
        let (status, text) = stage.ask(&stage.request(&stage.admin, &line, "\r\n")).await?;
        ensure!(status == 200 || status == 400, "{path} by admin: {text}");
        let seen = stage.seen();
        ensure!(status == 400 || seen.last().is_some_and(|target| target == path), "{path}: {seen:?}");
    }
    // A session that hides, and a kubelet's own commands, are nobody's.
    let before = stage.seen().len();
    for path in [
        "/api/v1/namespaces/a/pods/b%2Fexec",
        "/api/v1/proxy/namespaces/a/pods/b",
        "/api/v1/nodes/n/proxy/run/a/b/c?cmd=id",
        "/api/v1/namespaces/a/pods/https:b:10250/proxy/exec/a/b/c?command=id",
    ] {
        for token in [&stage.read, &stage.admin] {
            let line = format!("GET ~{path} HTTP/1.1");
            let (status, text) = stage.ask(&stage.request(token, &line, "\r\n")).await?;
            ensure!(status == 403, "{path}: {text}");
        }
    }
    ensure!(stage.seen().len() == before, "nothing was sent: {:?}", stage.seen());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrades_pass_no_identity_and_a_refused_one_closes() -> Result<()> {
    let stage = Stage::new().await?;
    let exec = "GET ~/api/v1/namespaces/a/pods/b/exec?command=id HTTP/1.1";
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.Y2FuYXJ5\r\n\r\n";
    // The upstream answers 200: no upgrade. What comes after must not be read as a request.
    let mut wire = stage.wire().await?;
    let after = format!("GET {}/after-the-upgrade HTTP/1.1\r\nHost: {}\r\n\r\n", stage.path, stage.host());
    wire.send(stage.request(&stage.admin, exec, upgrade) + &after).await?;
    let (status, text) = wire.answer().await?;
    ensure!(status != 101, "{text}");
    wire.closed(GENEROUS).await?;
    let received = stage.upstream.received();
    ensure!(!received.iter().any(|got| got.target.contains("after-the-upgrade")), "{received:?}");
    let protocols = received.iter().flat_map(|got| got.headers.get_all("sec-websocket-protocol").iter());
    let foreign =
        protocols.filter(|value| value.to_str().is_ok_and(|text| text.contains("base64url.bearer"))).count();
    ensure!(foreign == 0, "a bearer token in a WebSocket protocol went to the cluster");
    // Read rights upgrade nothing but a watch, whatever the method.
    for (method, path) in [
        ("GET", "/api/v1/namespaces/a/pods/b/exec?command=id"),
        ("GET", "/api/v1/namespaces/a/pods/b/attach"),
        ("GET", "/api/v1/namespaces/a/pods/b/portforward"),
        ("POST", "/api/v1/namespaces/a/pods/b/exec?command=id"),
        ("GET", "/api/v1/namespaces/a/pods/b/proxy/"),
        ("GET", "/api/v1/namespaces/a/services/b/proxy/"),
        ("GET", "/api/v1/nodes/n/proxy/run"),
        ("GET", "/api/v1/namespaces/a/pods/b/log?follow=true"),
        ("GET", "/api/v1/pods"),
        ("GET", "/version"),
    ] {
        for protocol in ["websocket", "SPDY/3.1", "h2c", "TLS/1.0"] {
            let headers = format!(
                "Connection: keep-alive, UPGRADE\r\nUpgrade: {protocol}\r\nContent-Length: 0\r\n\r\n"
            );
            let request = stage.request(&stage.read, &format!("{method} ~{path} HTTP/1.1"), &headers);
            let (status, text) = stage.ask(&request).await?;
            let refused = if protocol == "websocket" || protocol == "SPDY/3.1" { 403 } else { 400 };
            ensure!(status == refused, "{method} {path} {protocol}: {text}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_clients_delay_nobody() -> Result<()> {
    let stage = Stage::new().await?;
    let address = stage.host().to_owned();
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(tokio::net::TcpStream::connect(&address).await?);
    }
    let mut half = Vec::new();
    for _ in 0..50 {
        let mut wire = stage.wire().await?;
        wire.send("GET /half HTTP/1.1\r\nHost: ").await?;
        half.push(wire);
    }
    let (status, text) = stage.ask(&stage.request(&stage.read, "GET ~/version HTTP/1.1", "\r\n")).await?;
    ensure!(status == 200, "{text}");
    drop((silent, half));
    Ok(())
}
