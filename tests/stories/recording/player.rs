//! A recorded session in a real browser: found, played and downloaded, without harm from its escape sequences.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tests_kit::browser;

use super::{Recorded, newest};

/// A title, the clipboard, a hyperlink, a question to the terminal, another screen with a form: none may leave the screen.
const TRICKS: &str = "printf '\\033]0;stolen title\\007\\033]52;c;c3RvbGVu\\007\\033]8;;https://evil.example\\033\\\\link\\033]8;;\\033\\\\\\033[6n\\r\\n'; \
    echo '<img src=x onerror=alert(1)>'; \
    for n in 1 2 3 4 5 6 7 8; do printf \"\\033[3${n}mline $n of eight\\033[0m\\r\\n\"; done; sleep 2; echo the last line";

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_played_in_a_browser() -> Result<()> {
    let world = Recorded::start(false).await?;
    let kubectl = world.kubectl().await?;
    // Its arguments stand in the list: they try the same.
    let arguments = [
        "exec",
        "web",
        "--",
        "sh",
        "-c",
        TRICKS,
        "\u{1b}]0;stolen title\u{7}<script>alert(2)</script>\u{202e}",
    ];
    let output = kubectl.run(&arguments).await?;
    ensure!(output.status == 0, "{output:?}");
    let person = world.aro.session("elevated").await?;
    let found = newest(&person, "it has its end", |found| found["outcome"] == "exit 0").await?;
    let id = found["id"].as_str().context("an id")?;
    let input = json!({
        "url": world.aro.dev.url,
        "account": "elevated",
        "password": world.aro.password("elevated")?,
        "id": id,
        "grant": found["grant"],
    });
    let seen = world.aro.explain(browser(world.aro.folder(), "player", &input).await)?;
    ensure!(seen["errors"] == json!([]), "errors of the page: {}", seen["errors"]);
    ensure!(seen["violations"] == json!([]), "{}", seen["violations"]);
    ensure!(seen["overflow"] == json!([]), "{}", seen["overflow"]);
    ensure!(seen["titles"].as_array().is_some_and(|titles| !titles.is_empty()), "{seen}");
    ensure!(!seen["titles"].to_string().contains("stolen"), "{}", seen["titles"]);
    ensure!(seen["dialogs"] == 0 && seen["links"] == 0 && seen["clipboard"] != "stolen", "{seen}");
    ensure!(seen["controls"] == false, "the list shows control characters: {seen}");
    ensure!(seen["end"].to_string().contains("the last line"), "{}", seen["end"]);
    ensure!(!seen["begin"].to_string().contains("the last line"), "{}", seen["begin"]);
    ensure!(seen["download"] == format!("{id}.cast") && seen["whole"] == true, "{seen}");
    ensure!(seen["ofGrant"].as_u64() >= Some(1), "the access does not lead to its recordings: {seen}");
    Ok(())
}
