//! Every way to run a command or to read a stream, walked through the proxy on a real kube-apiserver and a kubelet
//! stand-in: sessions are sessions however they are asked for.
//!
//! The ways are the proxy's own table (`proxy::api::SESSION_ENDPOINTS`), to which a kind without an endpoint does not
//! compile. What the API server announces is the second source: all that it connects to must be in the table.

mod walker;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use http::Method;
use proxy::api::{Classified, SESSION_ENDPOINTS, SessionEndpoint, SessionKind, classify};
use rp_documents::Rights;
use serde_json::Value;
use tests_kit::{ControlPlane, Folder, GENEROUS, bearer_client, until};

use crate::world::World;
use walker::{Framing, Outcome, Step, Walker, plane, received};

/// Subresources that are objects, or parts of one: nothing runs and nothing streams.
const OBJECTS: [&str; 8] =
    ["approval", "binding", "eviction", "finalize", "resize", "scale", "status", "token"];

#[tokio::test(flavor = "multi_thread")]
async fn every_way_is_refused_or_passed_as_the_table_says() -> Result<()> {
    let (plane, world) = (plane().await?, World::get().await?);
    let of = |rights| Walker::new(&world.aro, &world.named, rights, "walk");
    let walkers = [of(Rights::Read).await?, of(Rights::Write).await?, of(Rights::Admin).await?];
    let walked = try_join_all(walkers.iter().map(|walker| async move {
        let steps = walker.walk(SESSION_ENDPOINTS.iter()).await?;
        for step in &steps {
            step.check(walker.rights)?;
        }
        walker.audited(&steps).await?;
        anyhow::Ok(steps)
    }));
    let steps: Vec<Step> = world.aro.explain(walked.await)?.into_iter().flatten().collect();
    received(plane, &steps).await?;
    kubelet_got(plane, &steps).await
}

/// What the kubelet got of what passed. By SPDY it is the kubelet that opens a session; by WebSocket it is the API server,
/// which asks the kubelet later.
async fn kubelet_got(plane: &ControlPlane, steps: &[Step]) -> Result<()> {
    let by_spdy = |step: &&Step| step.framing == Framing::Spdy && step.outcome.status == 101;
    let opened: Vec<&Outcome> = steps.iter().filter(by_spdy).map(|step| &step.outcome).collect();
    for (word, path) in [("/exec", "/exec/"), ("/attach", "/attach/"), ("/portforward", "/portForward/")] {
        let these = opened.iter().filter(|outcome| outcome.target.replace("%65", "e").contains(word));
        ensure!(these.clone().count() >= 4, "{word} by SPDY: {opened:?}");
        until(&format!("the kubelet has {path}"), GENEROUS, || async {
            let got = plane.kubelet_requests()?;
            let got: Vec<&String> =
                got.iter().filter(|got| got.contains(&format!("{path}walk/walked"))).collect();
            ensure!(got.len() >= these.clone().count(), "{got:?}");
            for outcome in these.clone().filter(|outcome| outcome.target.contains("command=")) {
                ensure!(got.iter().any(|got| got.contains(&outcome.mark)), "nothing of {outcome:?}");
            }
            Ok(())
        })
        .await?;
    }
    // An API server proxies to no node at a loopback address, so here what a kubelet tells of itself ends there.
    let got = plane.kubelet_requests()?;
    for runs in [" /run/", " /cri/", " /checkpoint/", " /debug/"] {
        ensure!(!got.iter().any(|got| got.contains(runs)), "the kubelet got {runs}: {got:?}");
    }
    Ok(())
}

fn request(method: &str, target: &str) -> Classified {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    classify(&Method::from_bytes(method.as_bytes()).unwrap_or_default(), path, query)
}

/// Resource and subresource of each such endpoint.
fn in_table(of: impl Fn(&SessionEndpoint) -> bool) -> BTreeSet<(String, String)> {
    let endpoints = SESSION_ENDPOINTS
        .iter()
        .filter(|endpoint| of(endpoint))
        .map(|endpoint| request(endpoint.method, &endpoint.target()));
    endpoints.map(|request| (request.resource, request.subresource)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_server_connects_to_is_in_the_table() -> Result<()> {
    let (plane, world) = (plane().await?, World::get().await?);
    let http = bearer_client(plane.authority().pem(), plane.admin_token())?;
    let get = |path: String| {
        let request = http.get(format!("{}{path}", plane.url()));
        async move { anyhow::Ok(serde_json::from_slice::<Value>(&request.send().await?.bytes().await?)?) }
    };
    let index = get("/openapi/v3".to_owned()).await?;
    let parts = index["paths"].as_object().context("no paths")?.values();
    let parts = parts.filter_map(|part| part["serverRelativeURL"].as_str()).map(|path| get(path.to_owned()));
    let mut connects = Vec::new();
    for part in try_join_all(parts).await? {
        for (path, methods) in part["paths"].as_object().into_iter().flatten() {
            let methods = methods.as_object().into_iter().flatten();
            let these = methods.filter(|(_, about)| about["x-kubernetes-action"] == "connect");
            connects.extend(these.map(|(method, _)| (method.to_uppercase(), path.clone())));
        }
    }
    ensure!(connects.len() > 40, "{connects:?}");
    let table = in_table(|endpoint| endpoint.opens != SessionKind::Answer);
    let reader = Walker::new(&world.aro, &world.named, Rights::Read, "connect").await?;
    for (method, path) in &connects {
        let name = if path.contains("/nodes/") { "node-1" } else { "walked" };
        let target = path.replace("{namespace}", "walk").replace("{name}", name).replace("{path}", "x");
        let found = request(method, &target);
        ensure!(
            found.group.is_empty() && table.contains(&(found.resource, found.subresource)),
            "no way for {method} {path}"
        );
        // Whatever the method is, reading opens none of them.
        let outcome = reader.ask(method, &target, Framing::None).await?;
        ensure!(outcome.status == 403 && (method == "HEAD" || !outcome.refused.is_empty()), "{outcome:?}");
    }
    announced(&get("/apis".to_owned()).await?, get).await
}

/// Every subresource that is announced is an object or in the table.
async fn announced<F: Future<Output = Result<Value>>>(
    groups: &Value,
    get: impl Fn(String) -> F,
) -> Result<()> {
    let groups = groups["groups"].as_array().into_iter().flatten();
    let versions = groups.flat_map(|group| group["versions"].as_array().into_iter().flatten());
    let versions = versions.filter_map(|version| version["groupVersion"].as_str());
    let paths =
        std::iter::once("/api/v1".to_owned()).chain(versions.map(|version| format!("/apis/{version}")));
    let table = in_table(|_| true);
    let mut sessions = 0;
    for list in try_join_all(paths.map(get)).await? {
        for resource in list["resources"].as_array().into_iter().flatten() {
            let name = resource["name"].as_str().unwrap_or_default();
            let Some((resource, subresource)) = name.split_once('/') else { continue };
            let known = table.contains(&(resource.to_owned(), subresource.to_owned()));
            sessions += usize::from(known);
            ensure!(known || OBJECTS.contains(&subresource), "{name} is new: what does it open?");
        }
    }
    ensure!(sessions >= 8, "{sessions} subresources of sessions");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_opens_a_session_is_recorded_or_refused() -> Result<()> {
    let plane = plane().await?;
    let folder = Folder::new("walk")?;
    let place = folder.path().join("recordings");
    let kept = place.display().to_string();
    let world =
        World::with(&[("ARO_RECORDING__POLICY", "required"), ("ARO_RECORDING__FOLDER", &kept)]).await?;
    let walker = Walker::new(&world.aro, &world.named, Rights::Write, "recorded").await?;
    let mut opens = in_session(&walker, SessionKind::Session).await?;
    let unknown = in_session(&walker, SessionKind::Unknown).await?;
    for step in &unknown {
        ensure!(step.outcome.refused == "not_recordable", "{step:?}");
    }
    let person = world.aro.session("elevated").await?;
    until("every session is recorded", GENEROUS, || async {
        let list = person.get("/api/v1/recordings?limit=500").await?.ok()?.json()?;
        let commands: Vec<String> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|found| found["command"].to_string())
            .collect();
        let attached = opens.iter().filter(|step| step.outcome.target.contains("/attach")).count();
        let found = commands.iter().filter(|command| command.contains("(attach)")).count();
        ensure!(attached > 0 && found == attached, "{found} of {attached}");
        for step in opens.iter().filter(|step| !step.outcome.target.contains("/attach")) {
            let found = commands.iter().filter(|command| command.contains(&step.outcome.mark)).count();
            ensure!(found == 1, "{found} recordings of {step:?}");
        }
        Ok(())
    })
    .await?;
    // What cannot be recorded is not opened.
    std::fs::remove_dir_all(&place)?;
    let exec = SESSION_ENDPOINTS
        .iter()
        .find(|endpoint| endpoint.opens == SessionKind::Session && endpoint.upgrade)
        .context("an exec")?;
    for framing in Framing::of(exec) {
        let mut outcome = walker.ask(exec.method, &exec.target(), *framing).await?;
        ensure!(outcome.status == 503, "{outcome:?}");
        "not_recorded".clone_into(&mut outcome.refused);
        opens.push(Step { endpoint: *exec, framing: *framing, outcome });
    }
    opens.extend(unknown);
    received(plane, &opens).await
}

/// Walks the ways that lead to such a session.
async fn in_session(walker: &Walker<'_>, kind: SessionKind) -> Result<Vec<Step>> {
    let endpoints = SESSION_ENDPOINTS
        .iter()
        .filter(|endpoint| endpoint.upgrade && endpoint.opens == kind && endpoint.rights <= walker.rights);
    let steps = walker.walk(endpoints).await?;
    ensure!(steps.len() > 4, "{steps:?}");
    Ok(steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_for_debugging_is_a_change_on_the_record() -> Result<()> {
    let (_, world) = (plane().await?, World::get().await?);
    let debug =
        ["debug", "-n", "walk", "walked", "--image=tools", "--container=for-debugging", "--attach=false"];
    let debug: Vec<&str> = debug.into_iter().chain(["--", "sleep", "7"]).collect();
    let said = world.kubectl("sre", "read").await?.refused(&debug).await?;
    ensure!(said.contains("write rights"), "{said}");
    world.kubectl("elevated", "write").await?.ok(&debug).await?;
    let auditor = world.aro.session("auditor").await?;
    until("who added it is on the record", GENEROUS, || async {
        let entries = auditor.audit("ephemeralcontainers").await?;
        // Not one of the walk.
        let mine = |entry: &&Value| {
            let walked = entry["query"].to_string().contains("mark=");
            entry["phase"] == "end" && entry["actor"]["name"] == "elevated" && !walked
        };
        let entry = entries.iter().find(mine).context("no entry")?;
        ensure!(
            entry["name"] == "walked" && entry["namespace"] == "walk" && entry["verb"] == "patch",
            "{entry}"
        );
        ensure!(entry["result"]["status"] == 200, "{entry}");
        Ok(())
    })
    .await
}
