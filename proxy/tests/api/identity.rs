//! Identity headers are a function of grant and cluster; nothing of the client's request enters them.

use rp_base::Secret;
use rp_documents::Rights;
use rp_net::{Credential, Source};

use crate::upstream::{ReceivedRequest, echo};
use crate::wire::{Wire, ask, start};
use crate::world::{REASON, World};

const NAME: &str = "ada@example.com";

fn identity(seen: &ReceivedRequest) -> Vec<(String, String)> {
    let lines = seen.head.lines().filter_map(|line| line.split_once(": "));
    let mut found: Vec<(String, String)> =
        lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    found.retain(|(name, _)| name.starts_with("impersonate") || name == "authorization");
    found.sort();
    found
}

fn extras(grant: &str) -> Vec<(String, String)> {
    let extra =
        |key: &str, value: &str| (format!("impersonate-extra-aro.openshift.io%2f{key}"), value.to_owned());
    vec![extra("grant", grant), extra("person", NAME), extra("reason", REASON)]
}

fn with(mut first: Vec<(String, String)>, more: &[(&str, &str)]) -> Vec<(String, String)> {
    first.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    first.sort();
    first
}

async fn seen_with(
    rights: Rights,
    allowed: bool,
    change: impl FnOnce(&mut rp_net::Target),
) -> (ReceivedRequest, String, String) {
    let world = World::new().await;
    let upstream = echo(&world.ca, allowed).await;
    let mut target = world.target(upstream.port);
    change(&mut target);
    world.directory.put(target);
    let issued = world.issue(rp_documents::GrantKind::Kubeconfig, rights).await;
    let answer = ask(&world, "GET", "/api/v1/pods", issued.token.expose(), "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let entry = world.audited("the list", |entry| entry.verb == "list").await;
    let seen = upstream.record.seen.lock().pop().unwrap();
    (seen, issued.grant.id.to_string(), entry.identity_used)
}

#[tokio::test]
async fn reading_goes_as_the_credential_itself_naming_the_person() {
    let (seen, grant, used) = seen_with(Rights::Read, true, |_| {}).await;
    assert_eq!(identity(&seen), with(extras(&grant), &[("impersonate-user", "system:aro-sre")]));
    assert_eq!(used, format!("system:aro-sre (naming {NAME})"));
}

#[tokio::test]
async fn reading_is_shared_where_the_cluster_allows_no_impersonation() {
    let (seen, _, used) = seen_with(Rights::Read, false, |_| {}).await;
    assert_eq!(identity(&seen), []);
    assert_eq!(used, "system:aro-sre (shared)");
}

#[tokio::test]
async fn power_goes_as_the_person_among_masters() {
    for rights in [Rights::Write, Rights::Admin] {
        let (seen, grant, used) = seen_with(rights, true, |_| {}).await;
        let expected = [("impersonate-user", NAME), ("impersonate-group", "system:masters")];
        assert_eq!(identity(&seen), with(extras(&grant), &expected));
        assert_eq!(used, format!("{NAME} (in system:masters)"));
    }
}

#[tokio::test]
async fn an_import_names_groups_or_is_shared() {
    let import = |groups: &'static [&'static str]| {
        move |target: &mut rp_net::Target| {
            target.source = Source::Imported;
            target.as_groups = groups.iter().map(|&group| group.to_owned()).collect();
            target.read = Credential::Token(Secret::new("imported-token".to_owned()));
            target.admin = target.read.clone();
        }
    };
    let authorization = ("authorization", "Bearer imported-token");
    let (seen, grant, _) = seen_with(Rights::Read, true, import(&["ops", "dev"])).await;
    let expected = [
        ("impersonate-user", NAME),
        ("impersonate-group", "ops"),
        ("impersonate-group", "dev"),
        authorization,
    ];
    assert_eq!(identity(&seen), with(extras(&grant), &expected));
    let (seen, _, _) = seen_with(Rights::Read, false, import(&["ops"])).await;
    let expected = [("impersonate-user", NAME), ("impersonate-group", "ops"), authorization];
    assert_eq!(identity(&seen), with(Vec::new(), &expected), "extras are not allowed");
    let (seen, _, used) = seen_with(Rights::Admin, true, import(&[])).await;
    assert_eq!(identity(&seen), with(Vec::new(), &[authorization]));
    assert_eq!(used, "the stored token (shared)");
}

#[tokio::test]
async fn no_header_of_a_client_reaches_identity() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    let tricks = [
        "X-Remote-User: root\r\nX-Remote-Group: system:masters\r\nX-Remote-Extra-Scopes: all\r\n",
        "x-remote-user: root\r\nX_Remote_User: root\r\nX-REMOTE-UID: 0\r\n",
        "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: evil\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-Client-Cert: By=x\r\n",
        "Connection: Accept, X-Remote-User, Authorization, Audit-ID\r\nAccept: dropped\r\n",
        "Connection: close, impersonate-user\r\nUser-Agent: kubectl\r\n",
        "Cookie: a=b\r\nOrigin: https://evil\r\nTE: trailers\r\nProxy-Authorization: Basic x\r\nVia: 1.1 evil\r\n",
        "Audit-ID: mine\r\nX-Request-Id: mine\r\nHost: evil\r\n",
        "User-Agent: one\r\nuser-agent: two\r\nAccept: a\r\nAccept: b\r\n",
        "Upgrade: websocket\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eA\r\n",
        "Authorization_: Bearer x\r\nX-HTTP-Method-Override: DELETE\r\nExpect: 100-continue\r\n",
    ];
    let mut identities = Vec::new();
    for trick in tricks {
        // With two hosts the request is not one; every other trick passes.
        let answer = ask(&world, "GET", "/api/v1/pods", &token, trick).await;
        assert!(
            answer.status == 200 || answer.status == 400 && trick.contains("Host"),
            "{trick}: {answer:?}"
        );
        let Some(seen) = upstream.record.seen.lock().pop() else { continue };
        let allowed = [
            "accept",
            "audit-id",
            "host",
            "impersonate-extra-aro.openshift.io%2fgrant",
            "impersonate-extra-aro.openshift.io%2fperson",
            "impersonate-extra-aro.openshift.io%2freason",
            "impersonate-user",
            "user-agent",
            "x-forwarded-for",
        ];
        for name in seen.names() {
            assert!(allowed.contains(&name.as_str()), "{trick}: {name} passed");
        }
        assert_eq!(seen.values("x-forwarded-for"), ["127.0.0.1"], "{trick}");
        assert_eq!(seen.values("audit-id").len(), 1, "{trick}");
        assert_ne!(seen.values("audit-id"), ["mine"], "{trick}");
        assert_eq!(seen.values("host"), [format!("127.0.0.1:{}", upstream.port)], "{trick}");
        assert!(!seen.head.contains("dropped"), "what Connection names is dropped");
        identities.push(identity(&seen));
    }
    assert!(identities.len() >= 9);
    assert!(identities.iter().all(|identity| *identity == identities[0]));
}

#[tokio::test]
async fn impersonation_is_refused_before_anything_is_sent() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Admin).await;
    for header in [
        "Impersonate-User: root",
        "impersonate-group: system:masters",
        "IMPERSONATE-UID: 0",
        "Impersonate-Extra-Scopes: x",
        "Impersonate_User: root",
        "Connection: Impersonate-User\r\nImpersonate-User: root",
        "Impersonate-User:",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nImpersonate-User: root",
    ] {
        let answer = ask(&world, "GET", "/api/v1/pods", &token, &format!("{header}\r\n")).await;
        assert_eq!(answer.status, 403, "{header}");
        assert!(answer.text().contains("--as"), "{header}: {}", answer.text());
    }
    assert_eq!(upstream.record.connections.load(std::sync::atomic::Ordering::SeqCst), 0);
    // A second token is no token.
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}Authorization: Bearer other\r\n\r\n", start("GET", "/version", &token))).await;
    assert_eq!(wire.answer().await.status, 401);
}

#[tokio::test]
async fn a_cluster_that_could_not_say_is_asked_again() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Read).await;
    upstream.record.unready.store(1, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 502);
    assert!(upstream.record.seen.lock().is_empty());
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200);
    assert_eq!(upstream.record.seen.lock()[0].values("impersonate-user"), ["system:aro-sre"]);
    let reviews = upstream.record.reviews.lock().len();
    assert_eq!(ask(&world, "GET", "/version", &token, "").await.status, 200);
    assert_eq!(upstream.record.reviews.lock().len(), reviews, "once it has said, it is not asked again");
}
