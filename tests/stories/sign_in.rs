//! A person in a real browser: sign in, search, open a cluster, take a file, use it, leave.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, GENEROUS, Kubectl, Session, browser, sign_in, until};

use crate::world::World;

fn input(world: &World, account: &str, more: &Value) -> Result<Value> {
    let mut input = json!({
        "url": world.aro.dev.url, "account": account, "password": world.aro.password(account)?,
    });
    if let (Some(all), Some(more)) = (input.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    Ok(input)
}

#[tokio::test(flavor = "multi_thread")]
async fn from_sign_in_to_kubectl_and_out() -> Result<()> {
    let world = World::get().await?;
    let asked = input(world, "sre", &json!({ "cluster": "named", "reason": "taken in a browser" }))?;
    let seen = world.aro.explain(browser(world.aro.folder(), "main-job", &asked).await)?;
    let file = seen["file"].as_str().context("a downloaded file")?;
    ensure!(seen["violations"] == json!([]), "accessibility: {}", seen["violations"]);
    ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
    ensure!(seen["after_sign_out"] == 401, "the session lives on: {}", seen["after_sign_out"]);
    ensure!(seen["cookie"]["httpOnly"] == true && seen["cookie"]["secure"] == true, "{}", seen["cookie"]);
    ensure!(
        seen["cookie"]["name"].as_str().is_some_and(|name| name.starts_with("__Host-")),
        "{}",
        seen["cookie"]
    );

    // The file outlives the session: a grant is a thing of its own.
    let kubectl = Kubectl::new(world.aro.folder(), std::path::Path::new(file))?;
    ensure!(kubectl.ok(&["get", "pods", "-o", "name"]).await?.contains("pod/web"));
    let grants = world.aro.session("sre").await?.grants().await?;
    ensure!(grants.iter().any(|grant| grant.to_string().contains("taken in a browser")), "{grants:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_group_is_told_which_is_missing() -> Result<()> {
    let world = World::get().await?;
    let seen = world
        .aro
        .explain(browser(world.aro.folder(), "no-group", &input(world, "nobody", &json!({}))?).await)?;
    let text = seen["text"].as_str().unwrap_or_default();
    ensure!(text.contains("group"), "{text}");
    ensure!(seen["info"] == 401 || seen["info"] == 403, "{}", seen["info"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_links_survive_sign_in_and_lead_nowhere_else() -> Result<()> {
    let world = World::get().await?;
    let more = json!({ "resource": world.named });
    let seen = browser(world.aro.folder(), "deep-link", &input(world, "viewer", &more)?).await;
    let seen = world.aro.explain(seen)?;
    let landed = seen["landed"].as_str().unwrap_or_default();
    ensure!(landed.ends_with(&world.named), "{seen}");
    for (asked, landed) in seen["elsewhere"].as_object().context("addresses")? {
        let landed = landed.as_str().unwrap_or_default();
        ensure!(landed.starts_with(&world.aro.dev.url), "{asked} led to {landed}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_reasons_are_shown_as_text() -> Result<()> {
    let world = World::get().await?;
    let hostile = "<img src=x onerror=alert(1)>'\"><script>alert(2)</script> {{7*7}} \u{202e}gnp";
    world.aro.session("sre").await?.kubeconfig(&world.named, "read", hostile, None).await?;
    let seen =
        browser(world.aro.folder(), "hostile", &input(world, "sre", &json!({ "resource": world.named }))?)
            .await;
    let seen = world.aro.explain(seen)?;
    ensure!(seen["dialogs"] == json!([]) && seen["injected"] == 0, "{seen}");
    ensure!(seen["shown"].as_str().is_some_and(|text| text.contains("<script>alert(2)</script>")), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_lets_programs_in_and_is_shown_whom() -> Result<()> {
    let world = World::get().await?;
    let seen = browser(world.aro.folder(), "let-in", &input(world, "sre", &json!({}))?).await;
    let seen = world.aro.explain(seen)?;
    ensure!(seen["violations"] == json!([]), "accessibility: {:#}", seen["violations"]);
    ensure!(seen["wide"] == json!([]), "wider than the window: {}", seen["wide"]);
    ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
    ensure!(seen["named"] == true && seen["state"] == "st-1" && seen["letters"] == true, "{seen}");
    ensure!(
        seen["given"] == 200 && seen["again"] == "invalid_grant" && seen["no"] == "access_denied",
        "{seen}"
    );
    let token = seen["token"].as_str().context("a token")?;
    let program = world.aro.stranger()?.with_bearer(token);
    program.get("/api/v1/clusters").await?.ok()?;
    program.post("/api/v1/logout", &json!({})).await?.ok()?;
    let after = program.get("/api/v1/clusters").await?;
    ensure!(after.status == 401, "{} {}", after.status, after.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_provider_shows_the_end_of_an_account() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: 1, ..AroOptions::default() }).await?;
    let come = async || sign_in(&aro.ca_pem()?, &aro.dev.url, "sre", aro.password("sre")?).await;
    let ends = async |session: &Session| {
        until("the session ends", GENEROUS, || async {
            let answer = session.get("/api/info").await?;
            ensure!(answer.status == 401, "{} {}", answer.status, answer.text);
            Ok(())
        })
        .await
    };
    let first = aro.explain(come().await)?;
    aro.verb("account", &["--name", "sre", "--sign-out"]).await?;
    aro.explain(ends(&first).await)?;
    let second = aro.explain(come().await)?;
    aro.verb("account", &["--name", "sre", "--groups", "dev-viewers"]).await?;
    let fell = until("the roles fall", GENEROUS, || async {
        let roles = second.get("/api/info").await?.ok()?.json()?["roles"].clone();
        ensure!(roles == json!(["viewer"]), "{roles}");
        Ok(())
    });
    aro.explain(fell.await)?;
    aro.verb("account", &["--name", "sre", "--disable"]).await?;
    aro.explain(ends(&second).await)?;
    ensure!(come().await.is_err(), "a disabled account signed in");
    Ok(())
}
