//! Releases of Helm with write rights (decision 19): those Secrets pass, and no others, however they are asked for.

use rp_documents::{Phase, Rights};
use serde_json::{Value, json};

use crate::upstream::{Peer, ReceivedRequest, Upstream, script, scripted};
use crate::wire::{Wire, WireResponse, ask, start};
use crate::world::{Setup, World};

const SECRETS: &str = "/api/v1/namespaces/a/secrets";
const NAME: &str = "sh.helm.release.v1.web.v1";
/// Has the name of a release, and another type.
const DISGUISED: &str = "sh.helm.release.v1.web.v9";
const HIDDEN: &str = "hush-hush-hush";
const OURS: &str = "fieldSelector=type%3Dhelm%2Esh%2Frelease%2Ev1";
const JSON: &str = "Content-Type: application/json\r\n";
const MERGE: &str = "Content-Type: application/merge-patch+json\r\n";

fn secret(kind: &str, name: &str) -> Value {
    json!({ "kind": "Secret", "apiVersion": "v1", "type": kind,
        "metadata": { "name": name, "namespace": "a", "uid": format!("uid-of-{name}") },
        "data": { "release": HIDDEN } })
}

fn release() -> String {
    secret("helm.sh/release.v1", NAME).to_string()
}

fn one(name: &str) -> String {
    format!("{SECRETS}/{name}")
}

/// A cluster with a release, and with a Secret that is none under a release's name.
async fn cluster(world: &World) -> Upstream {
    scripted(world, script(answer)).await
}

async fn answer(request: ReceivedRequest, mut peer: Peer) -> Option<Peer> {
    let path = request.target().split('?').next().unwrap_or_default();
    let (method, name) = (request.head.split(' ').next(), path.rsplit('/').next().unwrap_or_default());
    match (method, name) {
        (Some("GET"), NAME) => peer.json(&release()).await,
        (Some("GET"), DISGUISED) => peer.json(&secret("Opaque", DISGUISED).to_string()).await,
        (Some("GET"), name) if name.starts_with("sh.helm.") => {
            let missing = json!({ "kind": "Status", "code": 404, "reason": "NotFound" }).to_string();
            let head = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json";
            peer.write(format!("{head}\r\nContent-Length: {}\r\n\r\n{missing}", missing.len())).await;
        }
        _ => peer.json(r#"{"kind":"Echo"}"#).await,
    }
    Some(peer)
}

async fn opened() -> (World, Upstream, String) {
    let world = World::with(Setup { helm_secrets: true, ..Setup::default() }).await;
    let upstream = cluster(&world).await;
    let token = world.token(Rights::Write).await;
    (world, upstream, token)
}

async fn send(
    world: &World,
    token: &str,
    (method, path): (&str, &str),
    headers: &str,
    body: &str,
) -> WireResponse {
    let mut wire = Wire::connect(world).await;
    let length = body.len();
    wire.send(format!("{}{headers}Content-Length: {length}\r\n\r\n{body}", start(method, path, token))).await;
    wire.answer().await
}

fn requests(upstream: &Upstream) -> usize {
    upstream.record.seen.lock().len()
}

fn last(upstream: &Upstream) -> ReceivedRequest {
    upstream.record.seen.lock().last().cloned().unwrap()
}

fn body_of(request: &ReceivedRequest) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

#[tokio::test]
async fn without_the_setting_the_refusal_names_it_and_the_other_driver() {
    let world = World::new().await;
    let upstream = cluster(&world).await;
    let token = world.token(Rights::Write).await;
    for path in [one(NAME), format!("{SECRETS}?labelSelector=name%3Dweb%2Cowner%3Dhelm")] {
        let answer = ask(&world, "GET", &path, &token, "").await;
        let text = answer.text();
        assert_eq!(answer.status, 403, "{text}");
        assert!(text.contains("needs a grant with admin rights"), "{text}");
        assert!(text.contains("access.helm_secrets") && text.contains("HELM_DRIVER=configmap"), "{text}");
    }
    let other = ask(&world, "GET", &one("pull-secret"), &token, "").await.text();
    assert!(!other.contains("HELM_DRIVER"), "{other}");
    let created = send(&world, &token, ("POST", SECRETS), JSON, &release()).await;
    assert_eq!((created.status, requests(&upstream)), (403, 0));
}

#[tokio::test]
async fn a_release_is_read_whole_and_a_secret_in_its_name_is_not() {
    let (world, upstream, token) = opened().await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    for accept in ["application/json", "application/vnd.kubernetes.protobuf", table, partial, "*/*"] {
        let more = format!("Accept: {accept}\r\nAccept-Encoding: gzip\r\nRange: bytes=5-\r\n");
        let answer = ask(&world, "GET", &one(NAME), &token, &more).await;
        assert_eq!((answer.status, answer.text(), answer.whole), (200, release(), true), "{accept}");
        let seen = last(&upstream);
        assert_eq!(seen.values("accept"), ["application/json"]);
        assert!(
            seen.values("accept-encoding").is_empty() && seen.values("range").is_empty(),
            "{}",
            seen.head
        );
        let refused = ask(&world, "GET", &one(DISGUISED), &token, &more).await;
        let text = refused.text();
        assert!(refused.status == 403 && text.contains("not_a_release") && !text.contains(HIDDEN), "{text}");
    }
    let missing = ask(&world, "GET", &one("sh.helm.release.v1.none.v1"), &token, "").await;
    assert!(missing.status == 404 && missing.text().contains("NotFound"), "{}", missing.text());
    let entry = world
        .audited("the reading of a release", |entry| {
            entry.verb == "helm.get" && entry.name == NAME && entry.phase == Phase::Start
        })
        .await;
    assert_eq!((entry.resource.as_str(), entry.namespace.as_str()), ("secrets", "a"));
    world.audited("the refusal", |entry| entry.verb == "helm.get" && entry.result.word == "refused").await;
}

#[tokio::test]
async fn lists_and_watches_are_limited_to_releases_by_the_cluster() {
    let (world, upstream, token) = opened().await;
    let labels = "labelSelector=name%3Dweb%2Cowner%3Dhelm";
    for (query, sent) in [
        (String::new(), OURS.to_owned()),
        (format!("?{labels}"), format!("{labels}&{OURS}")),
        ("?watch=true&timeoutSeconds=5".to_owned(), format!("watch=true&timeoutSeconds=5&{OURS}")),
        ("?fieldSelector=type%3Dhelm.sh%2Frelease.v1".to_owned(), OURS.to_owned()),
        (
            "?fieldSelector=metadata.name%3Dx".to_owned(),
            "fieldSelector=metadata%2Ename%3Dx%2Ctype%3Dhelm%2Esh%2Frelease%2Ev1".to_owned(),
        ),
    ] {
        for path in ["/api/v1/secrets", SECRETS] {
            let answer = ask(&world, "GET", &format!("{path}{query}"), &token, "").await;
            assert_eq!(answer.status, 200, "{query}: {}", answer.text());
            assert_eq!(last(&upstream).target(), format!("{path}?{sent}"));
        }
    }
    let before = requests(&upstream);
    for query in [
        "fieldSelector=type%3DOpaque",
        "fieldSelector=type!%3Dhelm.sh/release.v1",
        "fieldSelector=metadata.name%3Dx%5C",
        "fieldSelector=metadata.name%3Dx&fieldSelector=type%3DOpaque",
        "field%53elector=type%3DOpaque",
        "labelSelector=a;fieldSelector=type%3DOpaque",
        "something=new",
    ] {
        let answer = ask(&world, "GET", &format!("{SECRETS}?{query}"), &token, "").await;
        let text = answer.text();
        assert!(answer.status == 403 && text.contains("not_a_release"), "{query}: {text}");
    }
    // In other spellings, by other methods and as an upgrade nothing is a request for releases.
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    for (method, path, more) in [
        ("GET", "/api/v1/watch/namespaces/a/secrets".to_owned(), ""),
        ("GET", format!("/api/v1/watch/namespaces/a/secrets/{NAME}"), ""),
        ("GET", "/api/v1/namespaces/a/%73ecrets".to_owned(), ""),
        ("GET", format!("{SECRETS}/"), ""),
        ("GET", one("pull-secret"), ""),
        ("GET", format!("{}/status", one(NAME)), ""),
        ("DELETE", SECRETS.to_owned(), ""),
        ("DELETE", format!("{SECRETS}?{OURS}"), ""),
        ("GET", format!("{SECRETS}?watch=true"), upgrade),
    ] {
        let answer = ask(&world, method, &path, &token, more).await;
        assert_eq!(answer.status, 403, "{method} {path}: {}", answer.text());
    }
    assert_eq!(requests(&upstream), before);
    world.audited("a list", |entry| entry.verb == "helm.list").await;
    world.audited("a watch", |entry| entry.verb == "helm.watch").await;
}

#[tokio::test]
async fn what_is_created_or_replaced_is_a_release() {
    let (world, upstream, token) = opened().await;
    let created = send(&world, &token, ("POST", SECRETS), JSON, &release()).await;
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(body_of(&last(&upstream)), secret("helm.sh/release.v1", NAME));
    world
        .audited("the creation", |entry| {
            entry.verb == "helm.create" && entry.name == NAME && entry.phase == Phase::End
        })
        .await;
    let updated = send(&world, &token, ("PUT", &one(NAME)), JSON, &release()).await;
    assert_eq!((updated.status, last(&upstream).values("content-length").len()), (200, 1));
    // In chunks, and with a member twice: the cluster gets what was read, once, with its length.
    let twice = release().replacen('{', r#"{"type":"Opaque","#, 1);
    let chunks =
        format!("{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n", 9, &twice[..9], twice.len() - 9, &twice[9..]);
    let mut wire = Wire::connect(&world).await;
    let head = start("PUT", &one(NAME), &token);
    wire.send(format!("{head}{JSON}Transfer-Encoding: chunked\r\n\r\n{chunks}")).await;
    assert_eq!(wire.answer().await.status, 200);
    let seen = last(&upstream);
    assert!(!String::from_utf8_lossy(&seen.body).contains("Opaque"), "{}", seen.head);
    assert!(seen.values("transfer-encoding").is_empty() && seen.values("content-length").len() == 1);

    let before = requests(&upstream);
    let protobuf = "Content-Type: application/vnd.kubernetes.protobuf\r\n";
    let packed = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let opaque = secret("Opaque", NAME).to_string();
    let (other_name, other_kind) = (secret("helm.sh/release.v1", "web"), release().replace("Secret", "Pod"));
    let last_wins = format!("{},\"type\":\"Opaque\"}}", release().strip_suffix('}').unwrap());
    for (method, headers, body, status) in [
        ("POST", JSON, opaque.clone(), 403),
        ("PUT", JSON, opaque, 403),
        ("POST", JSON, other_name.to_string(), 403),
        ("PUT", JSON, secret("helm.sh/release.v1", DISGUISED).to_string(), 403),
        ("POST", JSON, other_kind, 403),
        ("PUT", JSON, last_wins, 403),
        ("POST", protobuf, "k8s\0".to_owned(), 415),
        ("PUT", "Content-Type: application/yaml\r\n", release(), 415),
        ("PUT", packed, release(), 415),
        ("POST", JSON, "{".to_owned(), 400),
        ("POST", JSON, format!("\"{}\"", "a".repeat(3 << 20)), 413),
    ] {
        let path = if method == "POST" { SECRETS.to_owned() } else { one(NAME) };
        let answer = send(&world, &token, (method, &path), headers, &body).await;
        let told = &body[..body.len().min(200)];
        assert_eq!(answer.status, status, "{method} {headers} {told}: {}", answer.text());
    }
    assert_eq!(requests(&upstream), before);
}

#[tokio::test]
async fn a_patch_demands_the_type_in_the_same_request() {
    let (world, upstream, token) = opened().await;
    let label = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    let patched = send(&world, &token, ("PATCH", &one(DISGUISED)), MERGE, label).await;
    // The cluster of this test takes everything. A real one refuses to change the type.
    assert_eq!((patched.status, &body_of(&last(&upstream))["type"]), (200, &json!("helm.sh/release.v1")));
    let steps = r#"[{"op":"remove","path":"/metadata/labels/a"}]"#;
    let headers = "Content-Type: application/json-patch+json\r\n";
    assert_eq!(send(&world, &token, ("PATCH", &one(NAME)), headers, steps).await.status, 200);
    let sent = body_of(&last(&upstream));
    assert_eq!(sent[0], json!({ "op": "test", "path": "/type", "value": "helm.sh/release.v1" }));
    assert_eq!(sent[1]["op"], "remove");
    let before = requests(&upstream);
    for (headers, body, status) in [
        (MERGE, r#"{"type":"Opaque"}"#, 403),
        (MERGE, r#"{"type":null}"#, 403),
        (headers, r#"[{"op":"replace","path":"/type","value":"Opaque"}]"#, 403),
        (headers, r#"[{"op":"replace","path":"","value":{}}]"#, 403),
        ("Content-Type: application/apply-patch+yaml\r\n", "{}", 415),
        ("Content-Type: application/strategic-merge-patch+json\r\n", r#"{"$patch":"replace"}"#, 403),
    ] {
        let answer = send(&world, &token, ("PATCH", &one(NAME)), headers, body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    assert_eq!(requests(&upstream), before);
}

#[tokio::test]
async fn a_deletion_is_of_the_release_that_was_looked_at() {
    let (world, upstream, token) = opened().await;
    for body in ["", r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}"#] {
        let answer = send(&world, &token, ("DELETE", &one(NAME)), JSON, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let sent = body_of(&last(&upstream));
        assert_eq!(sent["preconditions"]["uid"], format!("uid-of-{NAME}"), "{sent}");
        assert_eq!(sent["kind"], "DeleteOptions");
    }
    let deletions = || {
        let seen = upstream.record.seen.lock();
        seen.iter().filter(|request| request.head.starts_with("DELETE ")).count()
    };
    let before = deletions();
    for (path, body, status) in [
        (one(DISGUISED), "", 403),
        (one("sh.helm.release.v1.none.v1"), "", 404),
        (one(NAME), r#"{"preconditions":{"uid":"another"}}"#, 403),
        (format!("{}?dryRun=All", one(NAME)), "", 403),
    ] {
        let answer = send(&world, &token, ("DELETE", &path), JSON, body).await;
        let text = answer.text();
        assert!(answer.status == status && !text.contains(HIDDEN), "{path}: {} {text}", answer.status);
    }
    assert_eq!(deletions(), before);
}

#[tokio::test]
async fn read_rights_open_no_release_and_admin_rights_are_not_limited() {
    let world = World::with(Setup { helm_secrets: true, ..Setup::default() }).await;
    let upstream = cluster(&world).await;
    let reader = world.token(Rights::Read).await;
    for path in [one(NAME), SECRETS.to_owned()] {
        let refused = ask(&world, "GET", &path, &reader, "").await;
        assert!(refused.status == 403 && refused.text().contains("write rights"), "{}", refused.text());
    }
    assert_eq!(requests(&upstream), 0);
    let admin = world.token(Rights::Admin).await;
    assert_eq!(ask(&world, "GET", SECRETS, &admin, "").await.status, 200);
    assert_eq!(last(&upstream).target(), SECRETS);
    let opaque = ask(&world, "GET", &one(DISGUISED), &admin, "").await;
    assert!(opaque.status == 200 && opaque.text().contains(HIDDEN));
}
