//! A machine's serial console and its screen: the page, the JSON and the admin API, with a reason and on the record.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, GENEROUS, Session, browser, until};

use crate::world::World;

const REASON: (&str, &str) = ("x-aro-reason", "the%20machine%20does%20not%20come%20up");

/// A cluster that answers, and one of its machines.
async fn machine(session: &Session) -> Result<(String, String)> {
    let list = session.get("/api/v1/clusters?limit=200").await?.ok()?.json()?;
    let rows = list["items"].as_array().context("items")?;
    let good =
        rows.iter().filter(|row| row["source"] != "imported" && row["provisioningState"] == "Succeeded");
    let ids: Vec<String> = good.filter_map(|row| row["resourceId"].as_str().map(str::to_lowercase)).collect();
    until("a cluster tells its machines", GENEROUS, || async {
        for id in &ids {
            let told = session.get(&format!("/api/v1/clusters{id}/machines")).await?;
            let items = told.json().unwrap_or_default();
            let name =
                items["items"].as_array().and_then(|all| all.first()).and_then(|one| one["name"].as_str());
            if let Some(name) = name {
                return Ok((id.clone(), name.to_owned()));
            }
        }
        anyhow::bail!("none of {ids:?} does")
    })
    .await
}

async fn read(session: &Session, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
    session.send(Method::GET, path, headers, None).await
}

fn code(answer: &Answer) -> String {
    let told = answer.json().unwrap_or_default();
    told["code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machines_console_is_read_with_a_reason_and_on_the_record() -> Result<()> {
    let world = World::get().await?;
    let sre = world.aro.session("sre").await?;
    let (cluster, machine) = machine(&sre).await?;
    let page = format!("{cluster}/machines/{machine}/serial");
    let json = format!("/api/v1/clusters{page}");
    let html = [("accept", "text/html"), ("sec-fetch-mode", "navigate")];

    // A person who gave no reason is asked for one; a person without the right is refused.
    let asked = read(&sre, &page, &html).await?.ok()?;
    ensure!(asked.text.contains("the serial console of"), "{}", asked.text);
    let refused = read(&sre, &json, &[]).await?;
    ensure!((refused.status, code(&refused).as_str()) == (403, "reason_needed"), "{refused:?}");
    ensure!(read(&world.aro.session("viewer").await?, &page, &html).await?.status == 403);

    let told = read(&sre, &format!("{json}?lines=5"), &[REASON]).await?.ok()?.json()?;
    let lines = |told: &Value| -> Vec<Value> { told["lines"].as_array().cloned().unwrap_or_default() };
    ensure!(told["machine"] == machine.as_str() && lines(&told).len() == 5, "{told}");
    ensure!(told["newer"].is_null() && told["cut"] == false && told["total"] == told["matches"], "{told}");
    let older = read(&sre, &format!("{json}?lines=5&before={}", told["older"]), &[]).await?.ok()?.json()?;
    let (first, last) = (lines(&told)[0]["n"].as_u64(), lines(&older)[4]["n"].as_u64());
    ensure!(first.zip(last).is_some_and(|(first, last)| last + 1 == first), "{older}");
    ensure!(older["newer"].as_u64() == last, "{older}");
    let found = read(&sre, &format!("{json}?q=IGNITION"), &[]).await?.ok()?.json()?;
    let all = lines(&found).iter().all(|line| line["text"].to_string().to_lowercase().contains("ignition"));
    ensure!(all && found["matches"].as_u64().is_some_and(|n| n >= 3), "{found}");
    let text = read(&sre, &format!("{json}?as=text&download=1"), &[]).await?.ok()?;
    ensure!(text.header("content-type").starts_with("text/plain"), "{text:?}");
    ensure!(text.header("content-disposition").contains(&format!("{machine}-serial.log")), "{text:?}");
    ensure!(!text.text.contains(['\r', '\u{1b}']) && text.text.contains("Linux version"), "{}", text.text);
    let picture = read(&sre, &json.replace("/serial", "/screenshot"), &[]).await?.ok()?;
    ensure!(picture.header("content-type") == "image/bmp" && picture.text.starts_with("BM"), "{picture:?}");

    for (other, status, word) in [("nobody-0", 404, "machine_unknown"), ("..%2Fx", 400, "bad_request")] {
        let told = read(&sre, &json.replace(&machine, other), &[]).await?;
        ensure!((told.status, code(&told).as_str()) == (status, word), "{other}: {told:?}");
    }
    let wrong = read(&sre, &format!("{json}?before=x"), &[]).await?;
    ensure!(wrong.status == 400, "{wrong:?}");

    let shown = read(&sre, &page, &html).await?.ok()?;
    ensure!(shown.text.contains("serial-text") && shown.text.contains("serial-screen"), "{}", shown.text);

    let auditor = world.aro.session("auditor").await?;
    let entries = auditor.audit("serial.read").await?;
    let ours = entries.iter().find(|entry| entry["name"] == machine.as_str()).context("no entry")?;
    ensure!(ours["reason"] == "the machine does not come up" && ours["grant"].is_string(), "{ours}");
    ensure!(entries.iter().any(|entry| entry["subresource"] == "screenshot"), "{entries:?}");

    // Automation reads the same over the admin API.
    let rp = Session::open(&world.aro.ca_pem()?, &world.aro.dev.rp_url, None)?;
    let told = read(&rp, &format!("/admin{cluster}/serialconsole?vmName={machine}"), &[]).await?.ok()?;
    ensure!(told.header("content-type") == "text/plain" && told.text == text.text, "{told:?}");
    let missing = read(&rp, &format!("/admin{cluster}/serialconsole?vmName=nobody-0"), &[]).await?;
    ensure!(missing.status == 404 && missing.text.contains("The VirtualMachine 'nobody-0'"), "{missing:?}");

    // A person in a browser: says why, pages back, finds a line, and sees the screen.
    let input = json!({"url": world.aro.dev.url, "account": "elevated", "password": world.aro.password("elevated")?,
        "page": page});
    let seen = world.aro.explain(browser(world.aro.folder(), "serial", &input).await)?;
    ensure!(seen["errors"] == json!([]), "errors of the page: {}", seen["errors"]);
    ensure!(seen["older"] == true && seen["found"].as_u64().is_some_and(|n| n >= 3), "{seen}");
    ensure!(seen["screen"].as_u64().is_some_and(|wide| wide > 100), "the picture is not shown: {seen}");
    ensure!(seen["overflow"] == json!([]) && seen["violations"] == json!([]), "{seen}");
    Ok(())
}
