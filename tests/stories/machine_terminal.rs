//! A terminal in the browser on a machine: Chromium on the portal, OpenSSH's server behind it.

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, ControlPlane, GENEROUS, Session, browser, until};

use crate::machine::{MACHINE, Machine};

/// Imports a cluster that has this machine; gives its resource id.
async fn import(aro: &Aro, machine: &Machine) -> Result<String> {
    let kubeconfig = std::fs::read_to_string(ControlPlane::shared().await?.service_kubeconfig()?)?;
    let body = json!({ "name": "lab", "kubeconfig": kubeconfig, "ssh": machine.import()? });
    let answer = aro.session("admin").await?.post("/api/v1/imports", &body).await?.ok()?.json()?;
    let resource = answer["resourceId"].as_str().with_context(|| answer.to_string())?.to_owned();
    let sre = aro.session("sre").await?;
    until("the imported cluster is known", GENEROUS, || async { sre.get(&resource).await?.ok().map(|_| ()) })
        .await?;
    Ok(resource)
}

/// The living grant of kind terminal.
async fn grant(session: &Session) -> Result<String> {
    let grants = session.grants().await?;
    let ours = |grant: &&Value| grant["kind"] == "terminal" && grant["state"] == "active";
    let grant = grants.iter().find(ours).with_context(|| format!("no terminal: {grants:?}"))?;
    Ok(grant["id"].as_str().context("no id")?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_on_a_machine_is_seen_by_a_second_person_and_ends_with_sign_in_and_access() -> Result<()> {
    let machine = Machine::start().await?;
    let watch = ("ARO_TERMINAL__WATCH".to_owned(), "true".to_owned());
    let aro = Aro::start(AroOptions { clusters: 4, env: vec![watch], ..AroOptions::default() }).await?;
    let resource = import(&aro, &machine).await?;
    let (owner, watcher) = (aro.session("admin").await?, aro.session("elevated").await?);
    owner.elevate("write").await?;
    watcher.elevate("write").await?;
    let person =
        |name: &str| Ok::<_, anyhow::Error>(json!({ "account": name, "password": aro.password(name)? }));
    let input = json!({ "url": aro.dev.url, "resource": resource, "machine": MACHINE,
        "account": "admin", "password": aro.password("admin")?, "watcher": person("elevated")? });
    let revoke = aro.folder().path().join("revoke");
    let (seen, revoked) = tokio::join!(browser(aro.folder(), "machine-terminal", &input), async {
        // The browser says when; it has its own limit.
        let asked = || async { if revoke.exists() { Ok(()) } else { Err(anyhow!("not yet")) } };
        until("the page asks for the end", GENEROUS * 6, asked).await?;
        owner.revoke(&grant(&owner).await?).await
    });
    let seen = aro.explain(seen)?;
    revoked?;
    ensure!(seen["errors"] == json!([]) && seen["violations"] == json!([]), "{seen}");
    ensure!(seen["badge"].as_str().is_some_and(|words| words.contains("elevated")), "{seen}");
    ensure!(seen["cells"][0] == seen["cells"][1], "the sizes differ: {seen}");
    ensure!(seen["typed"] == false, "who looks on has typed");
    let says = |of: &str, words: &str| seen[of].as_str().is_some_and(|said| said.contains(words));
    ensure!(says("signedOut", "no longer signed in"), "{seen}");
    ensure!(says("watchedOut", "has ended"), "{seen}");
    ensure!(says("cut", "revoked"), "{seen}");
    audited(&aro).await
}

/// Who opened it and who looked on stand in the trail, with their ends.
async fn audited(aro: &Aro) -> Result<()> {
    let auditor = aro.session("auditor").await?;
    until("the terminals are in the audit", GENEROUS, || async {
        let entries = auditor.audit("").await?;
        let of = |verb: &str, phase: &str| {
            let ours = |entry: &&Value| entry["verb"] == verb && entry["phase"] == phase;
            entries.iter().filter(ours).cloned().collect::<Vec<_>>()
        };
        let ends = of("terminal", "end");
        ensure!(of("terminal", "start").len() >= 2, "{} entries", entries.len());
        ensure!(ends.iter().filter(|end| end["result"]["word"] == "cut").count() >= 1, "{ends:?}");
        let looks = of("terminal.watch", "end");
        let look = looks.first().context("nobody looked on")?;
        ensure!(look["name"].to_string().contains(MACHINE) && look["grant"].is_string(), "{look}");
        ensure!(of("terminal.watch", "start")[0]["reason"] == "story of the tests", "{look}");
        Ok(())
    })
    .await
}
