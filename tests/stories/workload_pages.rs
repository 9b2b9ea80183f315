//! Pods, events, logs and objects of a real kube-apiserver with OpenShift's kinds: read with an access of one's own,
//! which says why, is on the record, and can be taken away.

use anyhow::{Context as _, Result, anyhow, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{
    Answer, Aro, AroOptions, ControlPlane, GENEROUS, InUse, OpenShift, Session, Shared, browser, shown, until,
};
use tokio::sync::Mutex;

/// A system with two real clusters.
struct World {
    aro: Aro,
    openshift: &'static OpenShift,
    /// With OpenShift's kinds.
    whole: String,
    /// The same by a credential that reads nodes and machines only.
    limited: String,
    /// Kubernetes alone.
    plain: String,
}

/// For stories that look at the last lines of the log of `default/web`, one at a time.
static LOG_OF_WEB: Mutex<()> = Mutex::const_new(());

impl World {
    async fn get() -> Result<InUse<Self>> {
        static WORLD: Shared<World> = Shared::new();
        WORLD.get(Self::start).await
    }

    async fn start() -> Result<Self> {
        let openshift = OpenShift::shared().await?;
        let env = ["SIGN_IN", "ISSUE"].map(|rate| (format!("ARO_LIMITS__{rate}_PER_MINUTE"), "0".to_owned()));
        let aro = Aro::start(AroOptions { clusters: 3, env: env.to_vec(), ..AroOptions::default() }).await?;
        let whole = aro.import_and_wait(&openshift.plane.service_kubeconfig()?, "whole", &[]).await?;
        let limited = aro.import_and_wait(&openshift.limited()?, "limited", &[]).await?;
        let plain = ControlPlane::shared().await?;
        let plain = aro.import_and_wait(&plain.service_kubeconfig()?, "plain", &[]).await?;
        Ok(Self { aro, openshift, whole, limited, plain })
    }

    /// A page as a browser loads it.
    async fn page(&self, session: &Session, path: &str) -> Result<Answer> {
        let headers = [("accept", "text/html"), ("sec-fetch-mode", "navigate")];
        session.send(Method::GET, path, &headers, None).await
    }

    /// A page, once it has every one of the words.
    async fn page_with(&self, session: &Session, path: &str, words: &[&str]) -> Result<String> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let waiting = format!("{path}{mark}wait=1");
        let what = format!("{path} tells all");
        let told = until(&what, GENEROUS, || async {
            let text = self.page(session, &waiting).await?.ok()?.text;
            let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
            ensure!(missing.is_empty(), "without {missing:?}: {}", shown(&text));
            Ok(text)
        });
        self.aro.explain(told.await)
    }

    fn json(resource: &str, rest: &str) -> String {
        format!("/api/v1/clusters{resource}/{rest}")
    }

    /// The session has given a reason for this cluster.
    async fn said(&self, session: &Session, resource: &str) -> Result<()> {
        let path = Self::json(resource, "objects/core/v1/nodes/node-1?reason=the%20story%20looks%20around");
        session.get(&path).await?.ok().map(drop)
    }

    /// One browser at a time, of an account that no other story here looks with: a page uses the newest access of its
    /// person.
    async fn look(&self, script: &str, more: &Value) -> Result<Value> {
        static TURN: Mutex<()> = Mutex::const_new(());
        let _turn = TURN.lock().await;
        let account = "approver";
        let password = self.aro.password(account)?;
        let mut input = json!({ "url": self.aro.dev.url, "account": account, "password": password, "resource": self.whole });
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        let seen = self.aro.explain(browser(self.aro.folder(), script, &input).await)?;
        ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
        Ok(seen)
    }
}

/// The living grant of kind page for a cluster.
async fn page_grant(session: &Session, resource: &str) -> Result<Value> {
    let grants = session.grants().await?;
    let fits = |grant: &&Value| {
        let text = grant.to_string().to_lowercase();
        grant["kind"] == "page" && text.contains(&resource.to_lowercase()) && grant["revoked"].is_null()
    };
    grants.iter().find(fits).cloned().with_context(|| format!("no grant of kind page: {grants:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_shown_worst_first_and_followed() -> Result<()> {
    let world = World::get().await?;
    let session = world.aro.session("viewer").await?;
    let text = world
        .page_with(&session, &format!("{}/pods", world.whole), &["dns-default-1", "dns-default-2"])
        .await?;
    ensure!(text.contains("data-testid=\"pod-row\"") && text.contains("/nodes/worker-0"), "{}", shown(&text));
    ensure!(!text.contains(">web<"), "a pod of the customer's is none of the system's: {}", shown(&text));
    let filtered =
        world.page_with(&session, &format!("{}/pods?q=default-2", world.whole), &["dns-default-2"]).await?;
    ensure!(!filtered.contains("dns-default-1</"), "{}", shown(&filtered));
    // The open page follows: a pod that cannot be placed comes by itself.
    let mut events = session.follow(&format!("{}/live/pods", world.whole)).await?;
    let hopeless = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "hopeless-1", "namespace": "openshift-dns" },
        "spec": { "nodeSelector": { "there": "is-none" }, "containers": [{ "name": "dns", "image": "dns" }] },
    });
    world.openshift.apply(&[hopeless]).await?;
    events.until("the new pod comes by itself", |text| text.contains("hopeless-1")).await?;
    let text = world.page_with(&session, &format!("{}/pods", world.whole), &["hopeless-1"]).await?;
    let at = |name: &str| text.find(&format!("/pods/openshift-dns/{name}\""));
    ensure!(at("hopeless-1") < at("dns-default-1"), "what waits comes before what runs: {}", shown(&text));
    let pod = world
        .page_with(&session, &format!("{}/pods/openshift-dns/hopeless-1", world.whole), &["Pending"])
        .await?;
    ensure!(pod.contains("container-row") && pod.contains("not placed"), "{}", shown(&pod));
    let gone = world.page(&session, &format!("{}/pods/openshift-dns/never-was?wait=1", world.whole)).await?;
    ensure!(gone.status == 404, "{} {}", gone.status, shown(&gone.text));
    let events = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e-1", "namespace": "openshift-dns" },
        "type": "Warning", "reason": "FailedStory", "message": "a <b>bold</b> \u{202e}message", "count": 7,
        "involvedObject": { "kind": "Pod", "namespace": "openshift-dns", "name": "hopeless-1" },
        "lastTimestamp": "2026-01-02T03:04:05Z",
    });
    world.openshift.apply(&[events]).await?;
    let path = format!("{}/events?type=Warning&q=failedstory", world.whole);
    let text = world.page_with(&session, &path, &["FailedStory", "×7"]).await?;
    ensure!(
        text.contains("&lt;b&gt;") && text.contains("/pods/openshift-dns/hopeless-1"),
        "{}",
        shown(&text)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_need_a_reason_once_and_secrets_stay_shut() -> Result<()> {
    let world = World::get().await?;
    let session = world.aro.session("sre").await?;
    let operator = "objects/config.openshift.io/v1/clusteroperators/dns";
    // Without a reason: a question on the page, a sentence for scripts.
    let refused = session.get(&World::json(&world.whole, operator)).await?;
    ensure!(
        refused.status == 403 && refused.json()?["code"] == "reason_needed",
        "{} {}",
        refused.status,
        refused.text
    );
    let asked = world.page(&session, &format!("{}/resources", world.whole)).await?.ok()?;
    ensure!(asked.text.contains("panel-reason"), "{}", shown(&asked.text));
    let short = session.get(&World::json(&world.whole, &format!("{operator}?reason=x"))).await?;
    ensure!(short.status == 422 || short.status == 400, "{} {}", short.status, short.text);
    // With one: for this and everything after it.
    let yaml = session
        .get(&World::json(&world.whole, &format!("{operator}?as=yaml&reason=look%20at%20the%20story")))
        .await?
        .ok()?;
    ensure!(
        yaml.text.contains("kind: ClusterOperator") && !yaml.text.contains("managedFields"),
        "{}",
        yaml.text
    );
    let kinds = world.page(&session, &format!("{}/resources?q=clusteroperator", world.whole)).await?.ok()?;
    ensure!(
        kinds.text.contains("/resources/config.openshift.io/v1/clusteroperators"),
        "{}",
        shown(&kinds.text)
    );
    let list = world
        .page(&session, &format!("{}/resources/config.openshift.io/v1/clusteroperators", world.whole))
        .await?
        .ok()?;
    ensure!(
        list.text.contains(">Available<") && list.text.contains("/clusteroperators/dns\""),
        "{}",
        shown(&list.text)
    );
    let described = format!("{}/resources/config.openshift.io/v1/clusteroperators/dns", world.whole);
    let page = world.page(&session, &described).await?.ok()?;
    ensure!(
        page.text.contains("Conditions") && page.text.contains("/operators/dns"),
        "{}",
        shown(&page.text)
    );
    // Two moments.
    let one = world.page(&session, &format!("{described}?as=diff")).await?.ok()?;
    ensure!(one.text.contains("one-moment"), "{}", shown(&one.text));
    let label = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "spec": {},
        "metadata": { "name": "dns", "labels": { "story": "has-changed" }, "annotations": { "huge": "x".repeat(200_000) } },
    });
    world.openshift.apply(&[label]).await?;
    let two = world.page(&session, &format!("{described}?as=diff")).await?.ok()?;
    ensure!(
        two.text.contains("diff-added") && two.text.contains("story: has-changed"),
        "{}",
        shown(&two.text)
    );
    ensure!(two.text.len() < 200_000, "the long value is folded: {} bytes", two.text.len());
    // Secrets and what else holds credentials: refused without asking, in every way to write the name.
    for path in [
        World::json(&world.whole, "objects/core/v1/secrets"),
        World::json(&world.whole, "objects/core/v1/secrets/default/x"),
        World::json(&world.whole, "objects/oauth.openshift.io/v1/oauthaccesstokens"),
    ] {
        let secret = session.get(&path).await?;
        ensure!(
            secret.status == 403 && secret.json()?["code"] == "secret",
            "{} {}",
            secret.status,
            secret.text
        );
    }
    let secret = world.page(&session, &format!("{}/resources/core/v1/secrets", world.whole)).await?;
    ensure!(
        secret.status == 403 && secret.text.contains("Secrets are not shown here"),
        "{}",
        shown(&secret.text)
    );
    // A viewer may look at neither.
    let viewer = world.aro.session("viewer").await?;
    let refused = world.page(&viewer, &described).await?;
    ensure!(refused.status == 403 && refused.text.contains("role sre"), "{}", shown(&refused.text));
    let bad =
        session.get(&World::json(&world.whole, "objects/core/v1/pods/default/..%2f..%2fsecrets")).await?;
    ensure!(bad.status == 400 || bad.status == 404, "{} {}", bad.status, bad.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cluster_refuses_or_does_not_serve_is_said_in_place() -> Result<()> {
    let world = World::get().await?;
    let session = world.aro.session("sre").await?;
    world.page_with(&session, &format!("{}/pods", world.limited), &["does not let us read pods"]).await?;
    world.said(&session, &world.limited).await?;
    let refused = world.page(&session, &format!("{}/resources/core/v1/configmaps", world.limited)).await?;
    ensure!(
        refused.status == 403 && refused.text.contains("The cluster does not allow it"),
        "{}",
        shown(&refused.text)
    );
    let log = world.page(&session, &format!("{}/pods/default/web/log", world.limited)).await?;
    ensure!(log.status == 403 && log.text.contains("cluster side"), "{}", shown(&log.text));
    // Kinds of OpenShift are not everywhere.
    world.said(&session, &world.plain).await?;
    let path = format!("{}/resources/config.openshift.io/v1/clusteroperators", world.plain);
    let missing = world.page(&session, &path).await?;
    ensure!(missing.status == 404 && missing.text.contains("no such thing"), "{}", shown(&missing.text));
    let kinds = world.page(&session, &format!("{}/resources", world.plain)).await?.ok()?;
    ensure!(
        kinds.text.contains("Core of Kubernetes") && !kinds.text.contains("clusteroperators"),
        "{}",
        shown(&kinds.text)
    );
    let network = world.page(&session, &format!("{}/network?reach=1", world.plain)).await?.ok()?;
    ensure!(
        network.text.contains("Answer of the API server") && network.text.contains("last dial"),
        "{}",
        shown(&network.text)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_on_the_record_and_cut_when_the_access_ends() -> Result<()> {
    let world = World::get().await?;
    let _log = LOG_OF_WEB.lock().await;
    let session = world.aro.session("elevated").await?;
    let plane = &world.openshift.plane;
    plane.write_log(
        "default",
        "web",
        "web",
        "\u{1b}]0;own the title\u{7}plain \u{1b}[31mred\u{1b}[0m line of the record\n",
    )?;
    let path = World::json(&world.whole, "pods/default/web/log");
    let log = session.get(&format!("{path}?reason=find%20the%20cause")).await?.ok()?;
    ensure!(log.text.contains("plain \u{1b}[31mred\u{1b}[0m line of the record"), "{:?}", log.text);
    ensure!(!log.text.contains("own the title"), "{:?}", log.text);
    let without = session.get(&format!("{path}?colour=0&tail=1")).await?.ok()?;
    ensure!(without.text.ends_with("plain red line of the record\n"), "{:?}", without.text);
    let file = session.get(&format!("{path}?download=1")).await?.ok()?;
    ensure!(file.header("content-disposition").contains("default-web"), "{:?}", file.headers);
    for (query, status) in [("?tail=x", 400), ("?since=yesterday", 400), ("?container=none", 400)] {
        let refused = session.get(&format!("{path}{query}")).await?;
        ensure!(refused.status == status, "{query}: {} {}", refused.status, refused.text);
    }
    // It follows, and ends within the moment that the grant does.
    let mut following = session.follow(&format!("{path}?follow=1&tail=1")).await?;
    following.until("the last line", |text| text.contains("line of the record")).await?;
    plane.write_log("default", "web", "web", "what comes later\n")?;
    following.until("a new line", |text| text.contains("what comes later")).await?;
    let grant = page_grant(&session, &world.whole).await?;
    let id = grant["id"].as_str().context("an id")?;
    session.revoke(id).await?;
    let cut = following.until("the stream is cut", |_| false).await;
    let told = cut.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(!told.contains("not in time"), "the stream went on: {told}");
    // Afterwards nothing is read until a new reason is given.
    let refused = session.get(&path).await?;
    ensure!(
        refused.status == 403 && refused.json()?["code"] == "reason_needed",
        "{} {}",
        refused.status,
        refused.text
    );
    let again = session.get(&format!("{path}?tail=1&reason=look%20once%20more")).await?.ok()?;
    ensure!(again.text.contains("what comes later"), "{:?}", again.text);
    // Start and end stand in the trail, with the grant and the reason of it.
    let auditor = world.aro.session("auditor").await?;
    until("the audit has start and end of the log", GENEROUS, || async {
        let entries = auditor.audit(id).await?;
        let of = |phase: &str| {
            entries.iter().filter(|entry| entry["subresource"] == "log" && entry["phase"] == phase).count()
        };
        let issued =
            entries.iter().any(|entry| entry["verb"] == "grant.issue" && entry["reason"] == "find the cause");
        let cut =
            entries.iter().any(|entry| entry["subresource"] == "log" && entry["result"]["word"] == "cut");
        if of("start") >= 2 && of("end") >= 2 && issued && cut { Ok(()) } else { Err(anyhow!("{entries:?}")) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_follows_finds_and_is_told_of_the_end() -> Result<()> {
    let world = World::get().await?;
    let _log = LOG_OF_WEB.lock().await;
    let plane = &world.openshift.plane;
    plane.write_log("default", "web", "web", "<img src=x onerror=alert(1)> a needle in the log\n")?;
    let session = world.aro.session("admin").await?;
    let asked = tokio::spawn(async move {
        let world = World::get().await?;
        let folder = world.aro.folder().path().to_owned();
        let wait = |name: &'static str| {
            let path = folder.join(name);
            async move {
                let what = format!("the page asks for {name}");
                until(&what, GENEROUS * 3, || async {
                    if path.exists() { Ok(()) } else { Err(anyhow!("not yet")) }
                })
                .await
            }
        };
        wait("write").await?;
        let many: String = (0..30_000).map(|n| format!("flood line {n}\n")).collect();
        world.openshift.plane.write_log("default", "web", "web", &many)?;
        world.openshift.plane.write_log("default", "web", "web", "the very last line\n")?;
        wait("revoke").await?;
        let grants = session.get("/api/v1/grants?all=true&limit=500").await?.ok()?.json()?;
        let rows = grants.get("items").unwrap_or(&grants).as_array().cloned().unwrap_or_default();
        let ours =
            rows.iter().filter(|grant| grant["kind"] == "page" && grant["reason"] == "the page of the story");
        for id in ours.filter_map(|grant| grant["id"].as_str()) {
            session.revoke(id).await?;
        }
        anyhow::Ok(())
    });
    let seen = world.look("workload-log", &json!({})).await?;
    asked.await??;
    ensure!(seen["violations"] == json!([]), "{}", seen["violations"]);
    ensure!(seen["lines"].as_u64().is_some_and(|lines| lines <= 10_000), "{seen}");
    let plain = world.look("workload-no-script", &json!({})).await?;
    ensure!(plain["log"].as_str().is_some_and(|text| text.contains("the very last line")), "{plain}");
    Ok(())
}
