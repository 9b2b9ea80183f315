//! Grants and robots as managed objects, on real parts: scoped, rotated, looked at, ended all at once.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, Session, Wire, kubeconfig_server, kubeconfig_token, until};

use crate::world::World;

/// The promise is a second (`contract/rules.md` §3.7; `revoke.rs` holds it): a dozen streams beside other tests
/// get more.
const WITHIN: Duration = Duration::from_secs(20);
const REASON: &str = "story of a robot";

async fn take(session: &Session, resource: &str, rights: &str) -> Result<tests_kit::Answer> {
    let body = json!({ "reason": REASON, "rights": rights });
    session.post(&format!("{resource}/kubeconfig/new"), &body).await
}

fn token(answer: &Value) -> Result<String> {
    answer["token"].as_str().map(str::to_owned).with_context(|| format!("no token: {answer}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_works_in_its_scope_until_it_is_revoked() -> Result<()> {
    let world = World::get().await?;
    let admin = world.aro.session("admin").await?;
    let body = json!({ "name": "story", "clusters": { "only": [world.named] }, "kinds": ["kubeconfig"],
                       "rights": "read", "reason": REASON, "life": 3600, "max_grants": 3 });
    let refused = world.aro.session("elevated").await?.post("/api/v1/robots", &body).await?;
    ensure!(refused.status == 403, "{}", refused.text);
    let made = admin.post("/api/v1/robots", &body).await?.ok()?.json()?;
    let old = admin.with_bearer(&token(&made)?);

    let kubectl = world.aro.kubectl_with(&take(&old, &world.named, "read").await?.ok()?.text)?;
    let whoami: Value = serde_json::from_str(&kubectl.ok(&["auth", "whoami", "-o", "json"]).await?)?;
    ensure!(whoami["status"]["userInfo"]["username"] == "robot story", "{whoami}");
    for (resource, rights) in [(&world.shared, "read"), (&world.named, "write")] {
        let refused = take(&old, resource, rights).await?;
        ensure!(refused.status == 403 && refused.text.contains("out_of_scope"), "{}", refused.text);
    }
    for path in ["/api/v1/robots", "/api/v1/audit", "/api/v1/grants?all=true"] {
        let refused = old.get(path).await?;
        ensure!(refused.status == 403, "{path}: {}", refused.text);
    }

    let rotated =
        admin.post("/api/v1/robots/story/rotate", &json!({ "overlap": 600 })).await?.ok()?.json()?;
    let new = admin.with_bearer(&token(&rotated)?);
    for each in [&old, &new] {
        each.get("/api/v1/clusters").await?.ok()?;
    }
    let watch = kubectl.start(&["get", "pods", "-w"])?;
    watch.says("web").await?;
    let answer = admin.change(Method::DELETE, "/api/v1/robots/story?why=leaked", None).await?;
    ensure!(answer.ok()?.json()?["revoked"] == 3, "two tokens and a grant");
    watch.end(GENEROUS).await?;
    let said = kubectl.refused(&["get", "pods"]).await?;
    ensure!(said.contains("revoked"), "{said}");
    for each in [&old, &new] {
        let refused = each.get("/api/v1/clusters").await?;
        ensure!(refused.status == 401, "{} {}", refused.status, refused.text);
    }
    let auditor = world.aro.session("auditor").await?;
    let told = auditor.audit("robot%20story").await?;
    ensure!(told.iter().any(|entry| entry["verb"] == "list" || entry["verb"] == "watch"), "{told:?}");
    Ok(())
}

/// A watch over a connection of its own.
async fn watch(world: &World, kubeconfig: &str) -> Result<Wire> {
    let (server, token) = (kubeconfig_server(kubeconfig)?, kubeconfig_token(kubeconfig)?);
    let path = server.strip_prefix(world.aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?;
    let host = server.trim_start_matches("https://").split('/').next().unwrap_or_default();
    let mut wire = Wire::connect(&server, &world.aro.ca_pem()?).await?;
    wire.send(format!(
        "GET {path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    ))
    .await?;
    wire.says("\"ADDED\"").await?;
    Ok(wire)
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_person_ends_at_once() -> Result<()> {
    let world = &World::start().await?;
    let session = world.aro.session("approver").await?;
    let mut wires = Vec::new();
    for resource in [&world.named, &world.shared, &world.named] {
        let text = session.kubeconfig(resource, "read", "story of many ends", None).await?;
        for _ in 0..4 {
            wires.push(watch(world, &text).await?);
        }
    }
    let other = world.aro.session("sre").await?;
    let spared = other.kubeconfig(&world.named, "read", "story of many ends", None).await?;
    let mut spared = watch(world, &spared).await?;
    let all = json!({ "person": "approver", "why": "lost laptop" });
    let refused = other.post("/api/v1/grants/revoke", &all).await?;
    ensure!(refused.status == 403, "{}", refused.text);

    let answer = session.post("/api/v1/grants/revoke", &all).await?.ok()?.json()?;
    let began = Instant::now();
    ensure!(answer["revoked"] == 3, "{answer}");
    for wire in &mut wires {
        wire.closed(GENEROUS).await?;
    }
    let took = began.elapsed();
    ensure!(took < WITHIN, "the last of {} streams ended after {took:?}", wires.len());
    ensure!(spared.closed(Duration::from_millis(300)).await.is_err(), "somebody else's stream ended");
    let active = session.get("/api/v1/grants?state=active").await?.ok()?.json()?;
    ensure!(active["items"] == json!([]), "{active}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_in_the_middle_of_an_upgrade_leaves_no_shell() -> Result<()> {
    let world = World::get().await?;
    let session = world.aro.session("elevated").await?;
    for round in 0..8u64 {
        let reason = format!("story of a late revocation {round}");
        let text = session.kubeconfig(&world.named, "write", &reason, None).await?;
        let grants = session.grants().await?;
        let grant = grants.iter().find(|grant| grant["reason"] == reason.as_str()).context("the grant")?;
        let id = grant["id"].as_str().context("id")?.to_owned();
        let kubectl = world.aro.kubectl_with(&text)?;
        // Warm: the file's discovery must not be what is cut.
        kubectl.ok(&["get", "pods"]).await?;
        let exec = kubectl.start(&["exec", "-i", "web", "--", "sh", "-c", "echo started; cat"])?;
        let used = format!("/api/v1/grants/{id}");
        // Each round a little later: while it dials, during the handshake, when it runs.
        let target = usize::try_from(round)? % 3;
        until("the moment", GENEROUS, || async {
            let streams = session.get(&used).await?.ok()?.json()?["streams"].to_string();
            let open = usize::from(streams.contains("exec")) + usize::from(exec.stdout().contains("started"));
            ensure!(open >= target, "{streams}");
            Ok(())
        })
        .await?;
        session.revoke(&id).await?;
        exec.end(GENEROUS).await?;
        let left = session.get(&used).await?.ok()?.json()?;
        ensure!(left["state"] == "revoked", "{left}");
        until("no stream is left", GENEROUS, || async {
            let left = session.get(&used).await?.ok()?.json()?;
            ensure!(left["streams"] == json!([]), "{left}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_are_found_extended_and_nobody_elses() -> Result<()> {
    let world = World::get().await?;
    let session = world.aro.session("sre").await?;
    session.kubeconfig(&world.named, "read", "story of a needle in hay", Some(600)).await?;
    let found = session.get("/api/v1/grants?q=NEEDLE&state=active&kind=kubeconfig").await?.ok()?.json()?;
    let [grant] = found["items"].as_array().context("items")?.as_slice() else {
        anyhow::bail!("one grant: {found}");
    };
    let path = format!("/api/v1/grants/{}", grant["id"].as_str().context("id")?);
    for account in ["viewer", "elevated", "approver"] {
        let other = world.aro.session(account).await?;
        for refused in [
            other.get(&path).await?,
            other.post(&format!("{path}/extend"), &json!({ "life": 3600 })).await?,
            other.post(&format!("{path}/token"), &json!({})).await?,
            other.change(Method::DELETE, &path, None).await?,
        ] {
            ensure!(refused.status == 403, "{account}: {} {}", refused.status, refused.text);
        }
    }
    let extended = session.post(&format!("{path}/extend"), &json!({ "life": 3600 })).await?.ok()?.json()?;
    ensure!(extended["not_after"].as_str() > grant["not_after"].as_str(), "{extended}");
    let late = session.post(&format!("{path}/extend"), &json!({ "life": 90_000 })).await?;
    ensure!((400..500).contains(&late.status), "{} {}", late.status, late.text);
    for forged in ["..", "A", "%00", "x.y"] {
        let answer = session.get(&format!("/api/v1/grants?continue={forged}")).await?;
        ensure!(answer.status == 400, "{forged}: {} {}", answer.status, answer.text);
    }
    Ok(())
}
