//! What becomes of a sign-in at a provider that is not ours: disabled accounts, lost groups, silence, clocks.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{
    Behaviour, GENEROUS, Provider, Session, Upstream, Wire, kubeconfig_server, kubeconfig_token, sign_in,
    until,
};

use super::served::{APPLICATION, ExtraSettings, SECRET, Served, password};

const ALICE: &str = "alice@example.test";
const MANY: &str = "many@example.test";
/// The provider is asked every second.
const OFTEN: ExtraSettings =
    ExtraSettings { oidc: "", sections: "[session]\nrevalidate = \"1s\"\nalarm_after = \"3s\"\n" };

async fn session(served: &Served, login: &str) -> Result<Session> {
    sign_in(served.authority.pem(), &served.url, login, &password(login)).await
}

/// A form of one of our pages.
async fn post_form(session: &Session, path: &str, fields: &str) -> Result<tests_kit::Answer> {
    let info = session.get("/api/info").await?.ok()?.json()?;
    let csrf = info["csrf"].as_str().context("no csrf")?;
    let body = format!("{fields}&csrf_token={csrf}");
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", session.base()),
    ];
    session.send(Method::POST, path, &headers, Some(body)).await
}

/// Signs a program in by letters; gives the API with its token.
async fn let_in(served: &Served, session: &Session) -> Result<Session> {
    let stranger = served.stranger()?;
    let began = stranger.post("/api/v1/login/device", &json!({ "client": "a story" })).await?.ok()?.json()?;
    let letters = began["user_code"].as_str().context("letters")?;
    post_form(session, "/device", &format!("user_code={letters}&answer=yes")).await?.ok()?;
    let body = json!({ "device_code": began["device_code"] });
    let given = stranger.post("/api/v1/login/token", &body).await?.ok()?.json()?;
    Ok(stranger.with_bearer(given["token"].as_str().context("a token")?))
}

/// A watch through the proxy, on a cluster that the person brings.
async fn watch(served: &Served, person: &Session) -> Result<(Upstream, Wire)> {
    let upstream = Upstream::start(Behaviour::Watch(100)).await?;
    let kubeconfig = std::fs::read_to_string(upstream.kubeconfig(&served.folder, "watched")?)?;
    let import = json!({ "name": "watched", "kubeconfig": kubeconfig });
    let imported = person.post("/api/v1/imports", &import).await?.ok()?.json()?;
    let resource = imported["resourceId"].as_str().or(imported["resource_id"].as_str());
    let resource = resource.with_context(|| imported.to_string())?;
    let text = until("the cluster is known", GENEROUS, || async {
        person.kubeconfig(resource, "read", "open while the account ends", None).await
    })
    .await?;
    let (server, token) = (kubeconfig_server(&text)?, kubeconfig_token(&text)?);
    let path = server.strip_prefix(&served.proxy_url).with_context(|| server.clone())?;
    let host = served.proxy_url.trim_start_matches("https://");
    let mut wire = Wire::connect(&served.proxy_url, served.authority.pem()).await?;
    wire.send(format!(
        "GET {path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    ))
    .await?;
    wire.says("\"ADDED\"").await?;
    Ok((upstream, wire))
}

async fn answers(session: &Session, path: &str, status: u16) -> Result<()> {
    let answer = session.get(path).await?;
    ensure!(answer.status == status, "{path}: {} {}", answer.status, answer.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_account_loses_sessions_and_tokens() -> Result<()> {
    let served = Served::start_with(OFTEN).await?;
    let person = session(&served, ALICE).await?;
    let program = let_in(&served, &person).await?;
    answers(&person, "/api/info", 200).await?;
    answers(&program, "/api/v1/clusters", 200).await?;
    let (_cluster, mut watch) = watch(&served, &person).await?;

    Provider::control(&served.folder, &json!({ "disabled": [ALICE] }))?;
    watch.closed(GENEROUS).await.context("the open stream ends")?;
    until("the session ends", GENEROUS, || answers(&person, "/api/info", 401)).await?;
    until("the program's token ends", GENEROUS, || answers(&program, "/api/v1/clusters", 401)).await?;

    Provider::control(&served.folder, &json!({}))?;
    let again = session(&served, ALICE).await?;
    let entries = again.audit("invalid_grant").await?;
    ensure!(entries.iter().any(|entry| entry["verb"] == "sign-in.look"), "{entries:?}");
    answers(&program, "/api/v1/clusters", 401).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_groups_are_lost_here_within_the_period() -> Result<()> {
    let served = Served::start_with(OFTEN).await?;
    let person = session(&served, ALICE).await?;
    let program = let_in(&served, &person).await?;
    answers(&program, "/api/v1/imports", 200).await?;
    Provider::control(&served.folder, &json!({ "groups": { ALICE: ["team-auditor"] } }))?;
    until("only the auditor is left", GENEROUS, || async {
        let roles = person.get("/api/info").await?.ok()?.json()?["roles"].clone();
        ensure!(roles == json!(["viewer", "auditor"]), "{roles}");
        Ok(())
    })
    .await?;
    until("the program's rights fall", GENEROUS, || answers(&program, "/api/v1/imports", 403)).await?;
    Provider::control(&served.folder, &json!({ "groups": { ALICE: [] } }))?;
    until("the last group takes the session along", GENEROUS, || answers(&person, "/api/info", 401)).await?;
    until("and the token", GENEROUS, || answers(&program, "/api/v1/clusters", 401)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_provider_takes_nothing_away_and_rings() -> Result<()> {
    let mut served = Served::start_with(OFTEN).await?;
    let person = session(&served, ALICE).await?;
    served.provider_goes();
    until("the alarm rings", GENEROUS, || async {
        let log = served.aro.log();
        ensure!(log.contains("the provider does not confirm sign-ins"), "{}", served.aro.tail());
        Ok(())
    })
    .await?;
    answers(&person, "/api/info", 200).await?;
    let admin = Session::open(served.authority.pem(), &served.admin_url, None)?;
    let metrics = admin.get("/metrics").await?.ok()?.text;
    ensure!(metrics.contains("aro_portal_sign_ins_unconfirmed 1"), "{metrics}");
    ensure!(metrics.contains("aro_portal_sign_in_looks_total{result=\"unanswered\"}"), "{metrics}");

    // It comes back without its memory: that is a refusal.
    served.provider_comes().await?;
    until("the session ends", GENEROUS, || answers(&person, "/api/info", 401)).await?;
    // Its new keys are asked for, but not at every try.
    until("she signs in again", GENEROUS, || async { session(&served, ALICE).await.map(drop) }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_provider_takes_nothing_away() -> Result<()> {
    let served = Served::start_with(OFTEN).await?;
    let person = session(&served, ALICE).await?;
    // Longer than any answer is waited for.
    Provider::control(&served.folder, &json!({ "delay": 11_000 }))?;
    until("a look goes unanswered", GENEROUS, || async {
        ensure!(served.aro.log().contains("does not confirm a sign-in"), "{}", served.aro.tail());
        Ok(())
    })
    .await?;
    answers(&person, "/api/info", 200).await?;
    Provider::control(&served.folder, &json!({}))?;
    until("the provider confirms again", GENEROUS, || async {
        ensure!(served.aro.log().contains("the provider confirms sign-ins again"), "{}", served.aro.tail());
        Ok(())
    })
    .await?;
    answers(&person, "/api/info", 200).await
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_may_differ_by_two_minutes() -> Result<()> {
    let served = Served::start().await?;
    for skew in [-100, 100] {
        Provider::control(&served.folder, &json!({ "skew": skew }))?;
        session(&served, ALICE).await.with_context(|| format!("{skew} s"))?;
    }
    Provider::control(&served.folder, &json!({ "skew": 600 }))?;
    let seen = served.browse("no-group", ALICE, &json!({})).await?;
    let text = seen["text"].as_str().unwrap_or_default();
    ensure!(text.contains("clock") && text.contains("10 min"), "{text}");
    ensure!(seen["violations"] == json!([]), "{}", seen["violations"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_do_not_fit_are_found_elsewhere() -> Result<()> {
    let more = ExtraSettings { oidc: "groups_from = \"ISSUER/groups\"", ..ExtraSettings::default() };
    let served = Served::start_with(more).await?;
    let roles = session(&served, MANY).await?.get("/api/info").await?.ok()?.json()?["roles"].clone();
    ensure!(roles == json!(["viewer", "sre"]), "{roles}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_says_who_left() -> Result<()> {
    let served = Served::start().await?;
    let other = session(&served, ALICE).await?;
    let seen = served.browse("provider-logout", ALICE, &json!({})).await?;
    ensure!(seen["before"] == 200, "{seen}");
    until("the session of that browser ends", GENEROUS, || async {
        let cookie = seen["cookie"].as_str().context("a cookie")?;
        let browser = Session::open(served.authority.pem(), &served.url, Some(cookie.to_owned()))?;
        answers(&browser, "/api/info", 401).await
    })
    .await?;
    // Another session of hers at the provider is another one here.
    answers(&other, "/api/info", 200).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_sign_in_asks_again() -> Result<()> {
    let served = Served::start().await?;
    let seen = served.browse("sign-in-again", ALICE, &json!({})).await?;
    ensure!(seen["landed"] == "/keys" && seen["asked"] == true && seen["info"] == 200, "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_a_robot() -> Result<()> {
    let audience = "https://aro.example.test/api";
    let more = ExtraSettings {
        oidc: "api_audience = \"https://aro.example.test/api\"",
        sections: "[robots]\nclients = [\"deployer-app=deployer\"]\n",
    };
    let served = Served::start_with(more).await?;
    let stranger = served.stranger()?;
    let token = application_token(&served, audience).await?;
    let program = stranger.with_bearer(&token);
    answers(&program, "/api/v1/clusters", 401).await?;

    let admin = session(&served, ALICE).await?;
    let robot = json!({ "name": "deployer", "clusters": "all", "kinds": ["kubeconfig"], "rights": "read",
        "reason": "an application of a story", "life": 3600 });
    admin.post("/api/v1/robots", &robot).await?.ok()?;
    until("the robot is known", GENEROUS, || answers(&program, "/api/v1/clusters", 200)).await?;
    let info = program.get("/api/info").await?.ok()?.json()?;
    ensure!(info["username"] == "robot deployer", "{info}");
    // A token for another API is refused here.
    let foreign = application_token(&served, "https://other.example.test/api").await?;
    answers(&stranger.with_bearer(&foreign), "/api/v1/clusters", 401).await?;

    admin.change(Method::DELETE, "/api/v1/robots/deployer?why=the%20story%20ends", None).await?.ok()?;
    until("the robot is gone", GENEROUS, || answers(&program, "/api/v1/clusters", 401)).await
}

async fn application_token(served: &Served, audience: &str) -> Result<String> {
    let provider = Session::open(served.authority.pem(), &served.issuer, None)?;
    let secret = SECRET.replace(' ', "%20");
    let body = format!(
        "grant_type=client_credentials&client_id={APPLICATION}&client_secret={secret}&scope=api&resource={audience}"
    );
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let answer: Value = provider.send(Method::POST, "/token", &headers, Some(body)).await?.ok()?.json()?;
    Ok(answer["access_token"].as_str().context("a token")?.to_owned())
}
