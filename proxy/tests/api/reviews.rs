//! Reviews of one's own access: what the grant and the cluster allow together, on every kind of cluster.

use rp_base::Secret;
use rp_documents::Rights;
use rp_net::{Credential, Source, Target};
use serde_json::{Value, json};

use crate::upstream::{Peer, ReceivedRequest, Upstream, echo, h1, script};
use crate::wire::{Wire, WireResponse, start};
use crate::world::World;

const ACCESS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const RULES: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

async fn post(world: &World, path: &str, token: &str, kind: &str, body: &[u8]) -> WireResponse {
    let mut wire = Wire::connect(world).await;
    let head = start("POST", path, token);
    wire.send(format!("{head}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len())).await;
    wire.send(body).await;
    wire.answer().await
}

/// Asks whether that may be done; gives the answer's status object.
async fn may(world: &World, token: &str, attributes: Value) -> Value {
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": attributes } });
    let answer = post(world, ACCESS, token, "application/json", review.to_string().as_bytes()).await;
    assert!([200, 201].contains(&answer.status), "{}", answer.text());
    let mut said: Value = serde_json::from_slice(&answer.body).unwrap();
    said["status"].take()
}

fn asked(upstream: &Upstream) -> usize {
    let reviews = upstream.record.reviews.lock();
    // The proxy itself asks whether it may impersonate.
    reviews.iter().filter(|review| !review.contains("impersonate")).count()
}

fn of_import(groups: &'static [&'static str]) -> impl Fn(&mut Target) {
    move |target| {
        target.source = Source::Imported;
        target.as_groups = groups.iter().map(|&group| group.to_owned()).collect();
        target.read = Credential::Token(Secret::new("imported-token".to_owned()));
        target.admin = target.read.clone();
    }
}

/// What makes a target of another kind.
type Change<'a> = &'a dyn Fn(&mut Target);

#[tokio::test]
async fn a_grant_says_no_where_the_cluster_says_yes() {
    let (named, shared) = (of_import(&["system:masters"]), of_import(&[]));
    let kinds: [(&str, Change<'_>); 3] =
        [("ours", &|_| {}), ("imported with groups", &named), ("a shared credential", &shared)];
    for (kind, change) in kinds {
        let world = World::new().await;
        // It allows everything.
        let upstream = echo(&world.ca, true).await;
        let mut target = world.target(upstream.port);
        change(&mut target);
        world.directory.put(target);
        let (read, write) = (world.token(Rights::Read).await, world.token(Rights::Write).await);
        for (token, verb, resource, sub) in [
            (&read, "get", "secrets", ""),
            (&read, "create", "pods", ""),
            (&read, "create", "pods", "exec"),
            (&read, "*", "*", ""),
            (&write, "get", "secrets", ""),
            (&write, "impersonate", "users", ""),
        ] {
            let attributes = json!({ "verb": verb, "resource": resource, "subresource": sub });
            let status = may(&world, token, attributes).await;
            assert_eq!(status["allowed"], false, "{kind}: {verb} {resource}/{sub}");
            assert!(!status["reason"].as_str().unwrap().is_empty(), "{kind}: {status}");
        }
        assert_eq!(asked(&upstream), 0, "{kind}: what the grant refuses is not asked");
        for (token, verb, resource) in [(&read, "get", "pods"), (&write, "create", "pods")] {
            let status = may(&world, token, json!({ "verb": verb, "resource": resource })).await;
            assert_eq!(status["allowed"], true, "{kind}: {verb} {resource}");
        }
        assert_eq!(asked(&upstream), 2, "{kind}");
    }
}

#[tokio::test]
async fn a_cluster_says_no_where_the_grant_says_yes() {
    let world = World::new().await;
    let upstream = echo(&world.ca, false).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    let status = may(&world, &token, json!({ "verb": "get", "resource": "secrets" })).await;
    assert_eq!((&status["allowed"], asked(&upstream)), (&false.into(), 1));
    let entry = world.audited("the review", |entry| entry.resource == "selfsubjectaccessreviews").await;
    assert_eq!((entry.verb.as_str(), entry.result.status), ("create", 200));
    assert!(entry.bytes_in > 0, "{entry:?}");
}

#[tokio::test]
async fn reviews_are_read_in_the_encodings_of_clients() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let field = |number: u8, value: &[u8]| [&[number << 3 | 2, value.len() as u8][..], value].concat();
    let attributes = [field(2, b"get"), field(5, b"secrets")].concat();
    let review = field(2, &field(1, &attributes));
    let meta = [field(1, b"authorization.k8s.io/v1"), field(2, b"SelfSubjectAccessReview")].concat();
    let body = [b"k8s\0".to_vec(), field(1, &meta), field(2, &review)].concat();
    let answer = post(&world, ACCESS, &token, "application/vnd.kubernetes.protobuf", &body).await;
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (201, Some("application/json")));
    assert_eq!(
        (&said["kind"], &said["status"]["allowed"]),
        (&"SelfSubjectAccessReview".into(), &false.into())
    );
    assert_eq!(said["spec"]["resourceAttributes"]["resource"], "secrets");
    let answer = post(&world, ACCESS, &token, "application/yaml", b"spec: {}").await;
    assert_eq!(answer.status, 415, "{}", answer.text());
    assert_eq!(asked(&upstream), 0);
    // What an API server may read otherwise is never left to the cluster, which knows nothing of the grant.
    let secrets = r#""spec":{"resourceAttributes":{"verb":"get","resource":"secrets"}}"#;
    for body in [
        "{".to_owned(),
        format!("{{{secrets},\"spec\":{{}}}}"),
        format!("{{\"metadata\":{{\"name\":\"\\ud800\"}},{secrets}}}"),
        format!("{{{}}}", secrets.replace("spec", "Spec")),
    ] {
        let answer = post(&world, ACCESS, &token, "application/json", body.as_bytes()).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
    }
    let again = field(2, &[field(1, &attributes), field(1, b"")].concat());
    let body = [b"k8s\0".to_vec(), field(1, &meta), field(2, &again)].concat();
    let answer = post(&world, ACCESS, &token, "application/vnd.kubernetes.protobuf", &body).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(asked(&upstream), 0);
}

/// A cluster whose answer to a review of rules is in the query of the request.
async fn ruling(world: &World) -> Upstream {
    let upstream = h1(
        &world.ca,
        true,
        script(|seen: ReceivedRequest, mut peer: Peer| async move {
            if seen.target().contains("long") {
                peer.json(&format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024))).await;
            } else if seen.target().contains("protobuf") {
                let head = "HTTP/1.1 201 Created\r\nContent-Type: application/vnd.kubernetes.protobuf\r\n";
                peer.write(format!("{head}Content-Length: 3\r\n\r\nk8s")).await;
            } else if seen.target().contains("refused") {
                peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await;
            } else {
                let rules = json!({ "kind": "SelfSubjectRulesReview", "status": { "incomplete": false,
                    "resourceRules": [{ "verbs": ["*"], "apiGroups": [""], "resources": ["pods", "secrets"] }],
                    "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/version", "/debug/*"] }] } });
                peer.json(&rules.to_string()).await;
            }
            Some(peer)
        }),
    )
    .await;
    world.cluster(upstream.port);
    upstream
}

#[tokio::test]
async fn lists_of_rules_are_limited_to_those_of_the_grant() {
    let world = World::new().await;
    let upstream = ruling(&world).await;
    let review = br#"{"kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}"#;
    let rules = async |rights: Rights, path: String| {
        let token = world.token(rights).await;
        let answer = post(&world, &path, &token, "application/json", review).await;
        (answer.status, serde_json::from_slice::<Value>(&answer.body).unwrap_or_default())
    };
    let (status, read) = rules(Rights::Read, RULES.to_owned()).await;
    assert_eq!(status, 200);
    assert_eq!(
        read["status"]["resourceRules"],
        json!([{ "verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"] }])
    );
    assert_eq!(
        read["status"]["nonResourceRules"],
        json!([{ "verbs": ["get"], "nonResourceURLs": ["/version"] }])
    );
    {
        let seen = upstream.record.seen.lock();
        let seen = seen.last().unwrap();
        assert_eq!((seen.values("accept"), seen.body.as_slice()), (vec!["application/json"], &review[..]));
        assert_eq!(seen.values("accept-encoding"), [""; 0]);
    }
    let openshift = "/apis/authorization.openshift.io/v1/namespaces/a/selfsubjectrulesreviews";
    let (_, older) = rules(Rights::Read, openshift.to_owned()).await;
    assert_eq!(older["status"]["resourceRules"], read["status"]["resourceRules"]);
    let (_, write) = rules(Rights::Write, RULES.to_owned()).await;
    assert_eq!(write["status"]["resourceRules"][0]["resources"], json!(["pods"]));
    let verbs = write["status"]["resourceRules"][0]["verbs"].as_array().unwrap();
    assert!(verbs.contains(&json!("deletecollection")) && !verbs.contains(&json!("*")), "{verbs:?}");
    let (_, admin) = rules(Rights::Admin, RULES.to_owned()).await;
    assert_eq!(admin["status"]["resourceRules"][0]["resources"], json!(["pods", "secrets"]));
    for what in ["long", "protobuf"] {
        let (status, said) = rules(Rights::Read, format!("{RULES}?x={what}")).await;
        assert_eq!(
            (status, &said["details"]["causes"][0]["reason"]),
            (502, &"rules_not_limited".into()),
            "{what}"
        );
    }
    assert_eq!(rules(Rights::Read, format!("{RULES}?x=refused")).await.0, 403, "a refusal passes");
}
