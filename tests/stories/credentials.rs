//! What carries credentials, by whatever name it is asked for and through every door: proxy, pages, audit, log.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, GENEROUS, until};
use tokio::sync::OnceCell;

use crate::proxied_cluster::ProxiedCluster;
use crate::world::World;

const SECRET: &str = "hush-this-opens-a-door";
const NAMESPACE: &str = "credentials";
const OAUTH: &str = "/apis/oauth.openshift.io/v1";
const MACHINE_CONFIG: &str = "/apis/machineconfiguration.openshift.io/v1";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// What needs admin rights: method, path, and the kind of its body.
fn guarded() -> Vec<(Method, String, &'static str)> {
    let token = "/api/v1/namespaces/credentials/serviceaccounts/minted/token".to_owned();
    let get = |path: String| (Method::GET, path, "");
    vec![
        get("/api/v1/secrets".to_owned()),
        get("/api/v1/namespaces/credentials/%73ecrets/any".to_owned()),
        get("/api/v1/watch/secrets?timeoutSeconds=1".to_owned()),
        get("/apis/image.openshift.io/v1/namespaces/credentials/imagestreams/app/secrets".to_owned()),
        get(format!("{OAUTH}/oauthaccesstokens")),
        get(format!("{OAUTH}/oauthauthorizetokens")),
        get(format!("{OAUTH}/useroauthaccesstokens")),
        get(format!("{OAUTH}/oauthclients")),
        get(format!("{MACHINE_CONFIG}/machineconfigs/rendered-master-1")),
        get(format!("{MACHINE_CONFIG}/controllerconfigs")),
        (Method::POST, token, "authentication.k8s.io/v1 TokenRequest"),
        (
            Method::POST,
            "/apis/authentication.k8s.io/v1/tokenreviews".to_owned(),
            "authentication.k8s.io/v1 TokenReview",
        ),
        // A request to sign holds a public key, and everybody reads it; to make or to approve one is taking an access.
        (Method::POST, REQUESTS.to_owned(), "certificates.k8s.io/v1 CertificateSigningRequest"),
        (Method::PUT, format!("{REQUESTS}/any/approval"), "certificates.k8s.io/v1 CertificateSigningRequest"),
    ]
}

async fn send(cluster: &ProxiedCluster, way: &(Method, String, &str)) -> Result<Answer> {
    let (method, path, kind) = way;
    let body = kind.split_once(' ').map(|(version, kind)| {
        json!({ "apiVersion": version, "kind": kind, "metadata": {}, "spec": {} }).to_string()
    });
    let headers = [("content-type", "application/json")];
    cluster.proxy.send(method.clone(), &format!("{}{path}", cluster.path), &headers, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_carries_credentials_needs_admin_rights_by_any_name() -> Result<()> {
    let world = prepared().await?;
    let (mut passed, mut refused, mut minted) = (Vec::new(), Vec::new(), String::new());
    for rights in ["read", "write", "admin"] {
        let cluster = ProxiedCluster::with_grant(&world.aro, &world.named, "elevated", rights).await?;
        for way in guarded() {
            let answer = send(&cluster, &way).await?;
            let ours = answer.text.contains("needs a grant with admin rights");
            ensure!(ours == (rights != "admin"), "{way:?} with {rights}: {} {}", answer.status, answer.text);
            if way.1.ends_with("/token") && rights == "admin" {
                let status = answer.ok()?.json()?;
                minted = status["status"]["token"].as_str().context("a token")?.to_owned();
                continue;
            }
            let ids = if ours { &mut refused } else { &mut passed };
            ids.push(answer.header("x-request-id").to_owned());
        }
        let listed = send(&cluster, &(Method::GET, REQUESTS.to_owned(), "")).await?;
        ensure!(listed.status == 200, "{} {}", listed.status, listed.text);
    }
    // The API server got what passed, and nothing of what was refused.
    let plane = world.plane;
    let ids = || -> Result<Vec<Value>> {
        Ok(plane.audit_log()?.iter().map(|entry| entry["auditID"].clone()).collect())
    };
    until("the API server has what passed", GENEROUS, || async {
        let ids = ids()?;
        ensure!(passed.iter().all(|id| ids.iter().any(|it| it == id)), "{passed:?}");
        Ok(())
    })
    .await?;
    let ids = ids()?;
    ensure!(!refused.iter().any(|id| ids.iter().any(|it| it == id)), "{refused:?}");
    // Each stood durably in the audit log before it was sent; the token stands nowhere.
    let auditor = world.aro.session("auditor").await?;
    for id in &passed {
        until("it has its begin and its end", GENEROUS, || async {
            let entries = auditor.audit(id).await?;
            let has = |phase| entries.iter().any(|entry| entry["phase"] == phase);
            ensure!(has("start") && has("end"), "{entries:?}");
            Ok(())
        })
        .await?;
    }
    let secret = minted.rsplit('.').next().context("a signature")?;
    ensure!(
        minted.len() > 100 && auditor.audit(&secret[..40]).await?.is_empty(),
        "the audit log has the token"
    );
    ensure!(!world.aro.process().log().contains(secret), "our log has the token");
    Ok(())
}

fn kubeconfig() -> String {
    format!("apiVersion: v1\nclusters: []\ncontexts: []\nusers:\n- name: u\n  user:\n    token: {SECRET}\n")
}

fn maps() -> Value {
    let auth = STANDARD.encode(format!("user:{SECRET}"));
    let login = json!({ "auths": { "registry.example": { "auth": auth } } });
    let plain = json!({ "auths": { "registry.example": { "username": "user", "password": SECRET } } });
    let packed = STANDARD.encode(kubeconfig());
    let (first, rest) = packed.split_at(64);
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "held", "namespace": NAMESPACE, "labels": { "of": "the-story" } },
        "data": {
            "kubeconfig": kubeconfig(),
            "pull-secret": login.to_string(),
            "login": plain.to_string(),
            "block": format!("registry.example:\n  auth: >-\n    {auth}\n"),
            "wrapped": format!("kubeconfig: |\n  {first}\n  {rest}\n"),
            "ignition": format!("source: data:text/plain;charset=utf-8;base64,{packed}\n"),
            "plain": "a value as it is",
        },
        "binaryData": { "packed": packed } })
}

/// What only an annotation repeats as text.
fn binary() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "held-binary", "namespace": NAMESPACE, "labels": { "of": "the-story" } },
        "binaryData": { "packed": STANDARD.encode(kubeconfig()) } })
}

/// A service account whose token can be asked for, and a config map that holds what it should not.
async fn prepared() -> Result<&'static World> {
    static READY: OnceCell<()> = OnceCell::const_new();
    let world = World::get().await?;
    let make = || async {
        let admin = world.plane.admin()?;
        admin.ok(&["create", "namespace", NAMESPACE]).await?;
        admin.ok(&["create", "serviceaccount", "minted", "-n", NAMESPACE]).await?;
        // Applied by the client, so that an annotation has all of it once more.
        for map in [maps(), binary()] {
            admin.with_input(map.to_string().as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
        }
        anyhow::Ok(())
    };
    READY.get_or_try_init(make).await?;
    Ok(world)
}

/// It has the map, and nothing of what opens a door.
fn withheld(what: &str, text: &str) -> Result<()> {
    let login = STANDARD.encode(format!("user:{SECRET}"));
    let packed = STANDARD.encode(kubeconfig());
    // Lines of 64 letters.
    for secret in [SECRET, &login, &packed, &packed[..64]] {
        ensure!(!text.contains(secret), "{what}: {text}");
    }
    ensure!(text.contains("held"), "{what}: {text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_in_config_maps_are_withheld_from_who_may_only_read() -> Result<()> {
    let world = prepared().await?;
    let reader = world.kubectl("sre", "read").await?;
    let get = ["get", "configmap", "held", "-n", NAMESPACE];
    for more in [&["-o", "yaml"][..], &["-o", "json"], &["-o", "jsonpath={.data}"], &["--show-labels"]] {
        let text = reader.ok(&[&get[..], more].concat()).await?;
        withheld(&format!("{more:?}"), &format!("{text} held"))?;
        ensure!(more == ["--show-labels"] || text.contains("a value as it is"), "{text}");
        ensure!(more == ["--show-labels"] || text.contains("[withheld: it holds credentials"), "{text}");
    }
    let binary = reader.ok(&["get", "configmap", "held-binary", "-n", NAMESPACE, "-o", "yaml"]).await?;
    withheld("an annotation", &binary)?;
    let described = reader.ok(&["describe", "configmap", "held", "-n", NAMESPACE]).await?;
    withheld("describe", &described)?;
    ensure!(described.contains("a value as it is"), "{described}");
    let watch = reader.start(&["get", "configmaps", "-n", NAMESPACE, "-o", "json", "--watch"])?;
    watch.says("a value as it is").await?;
    watch.says("\"kind\": \"ConfigMap\"").await?;
    withheld("watch", &watch.stdout())?;
    watch.kill().await?;

    let cluster = ProxiedCluster::with_grant(&world.aro, &world.named, "sre", "read").await?;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let map = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    for (accept, path) in [
        ("application/vnd.kubernetes.protobuf", format!("{map}/held")),
        ("application/yaml", format!("{map}/held")),
        ("application/cbor", format!("{map}/held")),
        (table, format!("{map}?includeObject=Object")),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", map.clone()),
        ("*/*", "/api/v1/configmaps?labelSelector=of%3Dthe-story".to_owned()),
        ("*/*", format!("/api/v1/watch/namespaces/{NAMESPACE}/configmaps?timeoutSeconds=1")),
        ("*/*", format!("{map}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true")),
    ] {
        let headers = [("accept", accept), ("accept-encoding", "gzip"), ("range", "bytes=200-")];
        let answer =
            cluster.proxy.send(Method::GET, &format!("{}{path}", cluster.path), &headers, None).await?;
        let told = format!("{accept} {path}");
        ensure!(
            answer.status == 200 && answer.header("content-type").starts_with("application/json"),
            "{told}: {answer:?}"
        );
        withheld(&told, &answer.text)?;
        ensure!(answer.text.contains("[withheld"), "{told}: {}", answer.text);
    }
    let headers =
        [("accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let answer = cluster.proxy.send(Method::GET, &format!("{}{map}", cluster.path), &headers, None).await?;
    let list = answer.ok()?.json()?;
    ensure!(list["kind"] == "PartialObjectMetadataList", "{list}");
    ensure!(
        list["items"].as_array().is_some_and(|items| items.iter().all(|item| item["data"].is_null())),
        "{list}"
    );
    withheld("metadata", &list.to_string())?;
    shown_on_pages(world).await?;

    // Who may write gets all of it: what was read can be written back.
    let writer = world.kubectl("elevated", "write").await?;
    let got: Value = serde_json::from_str(&writer.ok(&[&get[..], &["-o", "json"]].concat()).await?)?;
    ensure!(got["data"] == maps()["data"] && got["binaryData"] == maps()["binaryData"], "{got}");
    let same = writer.with_input(maps().to_string().as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    ensure!(same.contains("unchanged"), "{same}");
    let auditor = world.aro.session("auditor").await?;
    ensure!(auditor.audit(SECRET).await?.is_empty(), "the audit log has what was withheld");
    Ok(())
}

/// Pages and the portal's API read with an access of kind page.
async fn shown_on_pages(world: &World) -> Result<()> {
    let session = world.aro.session("sre").await?;
    let objects = format!("/api/v1/clusters{}/objects/core/v1/configmaps/{NAMESPACE}/held", world.named);
    for form in ["", "&as=yaml"] {
        let answer = session.get(&format!("{objects}?reason=look%20at%20the%20story{form}")).await?.ok()?;
        withheld(form, &answer.text)?;
        ensure!(
            answer.text.contains("a value as it is") && answer.text.contains("[withheld"),
            "{}",
            answer.text
        );
    }
    let page = format!("{}/resources/core/v1/configmaps/{NAMESPACE}/held", world.named);
    for form in ["", "?as=yaml", "?as=diff"] {
        let headers = [("accept", "text/html"), ("sec-fetch-mode", "navigate")];
        let answer = session.send(Method::GET, &format!("{page}{form}"), &headers, None).await?.ok()?;
        withheld(form, &answer.text)?;
    }
    Ok(())
}
