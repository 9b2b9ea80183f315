//! Sign-in at a provider that is not ours, and what it does when it fails.

use anyhow::{Result, ensure};
use reqwest::Method;
use serde_json::json;
use tests_kit::{GENEROUS, until};

use super::served::Served;

const ALICE: &str = "alice@example.test";

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_come_in_is_told_why() -> Result<()> {
    let served = Served::start().await?;
    for (login, word) in [("eve@example.test", "team-sre"), ("many@example.test", "groups")] {
        let seen = served.browse("no-group", login, &json!({})).await?;
        let text = seen["text"].as_str().unwrap_or_default();
        ensure!(text.contains(word), "{login}: {text}");
        ensure!(seen["info"] == 401 || seen["info"] == 403, "{login}: {}", seen["info"]);
        ensure!(seen["violations"] == json!([]), "{login}: {}", seen["violations"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_gives_another_try_and_cancel_a_page() -> Result<()> {
    let served = Served::start().await?;
    let seen = served.browse("second-try", ALICE, &json!({})).await?;
    ensure!(seen["refused"].as_str().is_some_and(|text| text.contains("Wrong")), "{seen}");
    ensure!(seen["landed"] == "/access", "{seen}");
    ensure!(seen["cancelled"].as_str().is_some_and(|text| text.contains("cancelled")), "{seen}");
    ensure!(seen["violations"] == json!([]), "{}", seen["violations"]);
    let cookie = &seen["cookie"];
    ensure!(cookie["httpOnly"] == true && cookie["secure"] == true && cookie["path"] == "/", "{cookie}");
    ensure!(cookie["sameSite"] == "Lax" || cookie["sameSite"] == "Strict", "{cookie}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_assertion_serves_in_place_of_a_secret() -> Result<()> {
    let served = Served::start_with_key().await?;
    let seen = served.browse("sign-in", ALICE, &json!({})).await?;
    ensure!(seen["info"] == 200, "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_away_is_named_and_found_again() -> Result<()> {
    let mut served = Served::start_without_provider().await?;
    let stranger = served.stranger()?;
    let page = [("accept", "text/html")];
    let away = stranger.send(Method::GET, "/api/login", &page, None).await?;
    ensure!(away.status == 502 && away.text.contains(&served.issuer), "{} {}", away.status, away.text);

    served.provider_comes().await?;
    let login = until("sign-in begins", GENEROUS, || async {
        let answer = stranger.send(Method::GET, "/api/login", &page, None).await?;
        ensure!(answer.status == 307, "{} {}", answer.status, answer.text);
        Ok(answer)
    })
    .await?;
    ensure!(login.header("location").starts_with(&served.issuer), "{}", login.header("location"));
    ensure!(served.browse("sign-in", ALICE, &json!({})).await?["info"] == 200);

    // It goes away while a person is on its page.
    served.provider_goes();
    let state = query(login.header("location"), "state");
    let cookie = login.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let back = format!("/callback?code=any&state={state}");
    let headers = [("accept", "text/html"), ("cookie", cookie.as_str())];
    let away = stranger.send(Method::GET, &back, &headers, None).await?;
    ensure!(away.status == 502 && away.text.contains(&served.issuer), "{} {}", away.status, away.text);
    ensure!(!away.text.contains("code=any"), "the page shows the code");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_of_the_provider_are_taken_up() -> Result<()> {
    let mut served = Served::start().await?;
    ensure!(served.browse("sign-in", ALICE, &json!({})).await?["info"] == 200);
    let mut logged = 0;
    // A provider changes its keys whenever it likes.
    for _ in 0..2 {
        served.provider_comes().await?;
        // Discovery is asked for at most every few seconds; until then the person may try again.
        until("sign-in with the new keys", GENEROUS, || async {
            let seen = served.browse("sign-in", ALICE, &json!({})).await?;
            ensure!(seen["info"] == 200, "{seen}");
            Ok(())
        })
        .await?;
        let log = served.aro.log();
        let found = log.matches("sign-in provider discovered").count();
        ensure!(found > logged, "{}", served.aro.tail());
        logged = found;
    }
    Ok(())
}

fn query(url: &str, name: &str) -> String {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    value.unwrap_or_default().to_owned()
}
