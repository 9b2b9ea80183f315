//! The list of clusters as people use it: by keyboard, without scripts, as a script's JSON, from the command line; and
//! every sample of every page in every theme.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{
    Aro, AroOptions, Folder, GENEROUS, InUse, Session, Shared, binary, browser, browser_within, until,
};

/// Enough clusters for three pages of the list.
const CLUSTERS: u32 = 130;

/// For a person who goes through the pages again and again.
const SEVERAL_WALKS: Duration = Duration::from_mins(6);

async fn fleet() -> Result<InUse<Aro>> {
    static FLEET: Shared<Aro> = Shared::new();
    FLEET.get(|| Aro::start(AroOptions { clusters: CLUSTERS, ..AroOptions::default() })).await
}

async fn rows(session: &Session, query: &str) -> Result<Value> {
    session.get(&format!("/api/v1/clusters?{query}")).await?.ok()?.json()
}

/// A healthy cluster: name and version. A cluster that was not looked at yet may turn out to be unreachable.
async fn healthy(session: &Session) -> Result<(String, String)> {
    until("a cluster was looked at and is healthy", GENEROUS, || async {
        let list = rows(session, "state=healthy&source=aro&limit=1").await?;
        let text =
            |key: &str| list["items"][0][key].as_str().map(str::to_owned).with_context(|| list.to_string());
        Ok((text("name")?, text("version")?))
    })
    .await
}

async fn look(script: &str, account: &str, more: Value) -> Result<Value> {
    let aro = fleet().await?;
    let mut input = json!({ "url": aro.dev.url, "account": account, "password": aro.password(account)? });
    if let (Some(all), Some(more)) = (input.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    let seen = aro.explain(browser(aro.folder(), script, &input).await)?;
    ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
    Ok(seen["seen"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_by_keyboard() -> Result<()> {
    let session = fleet().await?.session("sre").await?;
    let (name, _) = healthy(&session).await?;
    let seen = look("fleet-keys", "sre", json!({ "name": name })).await?;
    ensure!(seen["field"] == "q" && seen["chosen"] == "1 chosen" && seen["two"] == "2 chosen", "{seen}");
    ensure!(seen["kubeconfig"].as_str().is_some_and(|file| file.contains(&name)), "{seen}");
    ensure!(seen["palette"] == json!([]) && seen["active"] == true, "{seen}");
    ensure!(seen["names"] == true && seen["paused"] == "true", "{seen}");
    ensure!(seen["inView"] == true, "the actions of chosen rows are out of view: {seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_without_scripts() -> Result<()> {
    let session = fleet().await?.session("sre").await?;
    let (name, version) = healthy(&session).await?;
    let minor = version.rsplit_once('.').map_or(version.as_str(), |(minor, _)| minor);
    let total = || async {
        let list = rows(&session, &format!("version={minor}")).await?;
        list["total"].as_u64().context("a total")
    };
    // A first look at a cluster may tell another version of it.
    let (total, seen) = until("the number of clusters stays while a person goes", SEVERAL_WALKS, || async {
        let before = total().await?;
        let seen = look("fleet-no-script", "sre", json!({ "name": name, "version": minor })).await?;
        let after = total().await?;
        ensure!(before == after, "{before}, then {after}");
        Ok((after, seen))
    })
    .await?;
    ensure!(seen["filtered"].as_str().is_some_and(|count| count.ends_with(&format!("of {total}"))), "{seen}");
    ensure!(seen["sorted"] == "ascending" && seen["kept"] == minor && seen["current"] == "page", "{seen}");
    ensure!(seen["csv"].as_u64() == Some(total) && seen["removed"] == 0 && seen["fleet"] == true, "{seen}");
    ensure!(seen["bad"].as_str().is_some_and(|words| words.contains("First page")), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_reads_every_cluster_once_while_one_goes() -> Result<()> {
    let aro = fleet().await?;
    let session = aro.session("admin").await?;
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = rows(&session, &format!("sort=name&limit=40&continue={next}")).await?;
        let items = page["items"].as_array().context("items")?;
        seen.extend(items.iter().filter_map(|row| row["resourceId"].as_str().map(str::to_owned)));
        match page["continue"].as_str() {
            Some(place) => place.clone_into(&mut next),
            None => break,
        }
    }
    let unique: std::collections::HashSet<&String> = seen.iter().collect();
    ensure!(
        unique.len() == seen.len() && seen.len() >= CLUSTERS as usize,
        "{} of {}",
        unique.len(),
        seen.len()
    );
    for bad in ["continue=50", "continue=%FF", "version=..", "expires=soon", "age=1", "continue=bnVsbA"] {
        let answer = session.get(&format!("/api/v1/clusters?{bad}")).await?;
        ensure!(answer.status == 400 && answer.json()?["side"] == "you", "{bad}: {answer:?}");
    }
    let hostile = "%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE".repeat(50);
    let page = session.get(&format!("/?q={hostile}")).await?.ok()?;
    ensure!(!page.text.contains("<script>alert") && !page.text.contains('\u{202e}'), "raw text of the query");
    ensure!(page.text.contains("nothing-found"), "an unknown name finds nothing");
    let regions = session.get("/api/regions").await?.ok()?.json()?;
    ensure!(regions["regions"].is_array(), "{regions}");
    let document = session.get("/api/v1/openapi.json").await?.ok()?.json()?;
    ensure!(document["paths"]["/api/v1/clusters"]["get"].is_object(), "the list is not described");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_asks_the_same() -> Result<()> {
    let aro = fleet().await?;
    let session = aro.session("sre").await?;
    let (name, version) = healthy(&session).await?;
    let cookie = aro.folder().path().join("fleet.cookie");
    std::fs::write(&cookie, session.cookie().context("a cookie")?)?;
    #[cfg(unix)]
    std::fs::set_permissions(&cookie, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let ca = aro.folder().path().join("fleet-ca.pem");
    std::fs::write(&ca, aro.ca_pem()?)?;
    let run = async |arguments: &[&str]| -> Result<(i32, String, String)> {
        let mut command = Command::new(binary("aro")?);
        command.args(arguments).arg("--portal").arg(&aro.dev.url).arg("--ca-file").arg(&ca);
        command.arg("--session-cookie-file").arg(&cookie).env("HOME", aro.folder().path());
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
    };
    let (code, text, notes) =
        run(&["clusters", "--version", &version, "--sort", "name", "-o", "name"]).await?;
    ensure!(code == 0 && text.lines().any(|line| line == name), "{code} {text} {notes}");
    let (code, _, notes) = run(&["clusters", "--version", ".."]).await?;
    ensure!(code == 2 && notes.contains("version"), "{code} {notes}");
    let (code, text, notes) = run(&["nodes", &name]).await?;
    ensure!(code == 0 && text.starts_with("NAME") && text.contains("Ready"), "{code} {text} {notes}");
    let (code, text, notes) = run(&["operators", &name, "-o", "csv"]).await?;
    ensure!(code == 0 && text.starts_with("name,version,available"), "{code} {text} {notes}");
    let (code, text, notes) = run(&["events", &name, "-o", "json"]).await?;
    ensure!(code == 0 && serde_json::from_str::<Value>(&text)?["items"].is_array(), "{code} {text} {notes}");
    let (code, _, notes) = run(&["nodes", "nobody-is-called-so"]).await?;
    ensure!(code == 5, "{code} {notes}");
    Ok(())
}

/// A few hundred samples in four themes, by a browser that shares the processors with other stories.
const ALL_SAMPLES: Duration = Duration::from_mins(30);

/// An eighth of the samples, another one after each commit; all of them in the soak.
fn of_this_run(all: Vec<&str>) -> Result<Vec<&str>> {
    if std::env::var_os("ARO_SOAK").is_some() {
        return Ok(all);
    }
    let output = Command::new("git")
        .args(["rev-list", "--count", "HEAD"])
        .current_dir(tests_kit::workspace())
        .output()
        .context("git")?;
    let commits: usize = String::from_utf8(output.stdout)?.trim().parse().context("the number of commits")?;
    Ok(all.into_iter().skip(commits % 8).step_by(8).collect())
}

/// Each by all rules of accessibility in the first theme and by contrast in every other, at three widths.
#[tokio::test(flavor = "multi_thread")]
async fn samples_hold_in_every_theme_and_width() -> Result<()> {
    let folder = Folder::new("samples")?;
    let all = web_samples::gallery()?;
    ensure!(all.len() > 100, "{} samples", all.len());
    for name in web::assets::names() {
        let url = web::assets::url(name);
        let path = folder.path().join(url.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        std::fs::write(path, web::assets::get(&url).context("an asset")?.bytes)?;
    }
    for item in &all {
        std::fs::write(folder.path().join(format!("{}.html", item.name)), &item.html)?;
    }
    let names = of_this_run(all.iter().map(|item| item.name.as_str()).collect())?;
    let input = json!({ "folder": folder.path(), "names": names });
    let seen = browser_within(ALL_SAMPLES, &folder, "samples", &input).await?;
    for kind in ["violations", "wide", "errors", "heavy"] {
        ensure!(seen[kind] == json!([]), "{kind}: {:#}", seen[kind]);
    }
    for theme in ["light", "dark", "contrast", "contrast-dark"] {
        let looked = seen["looked"][theme].as_u64();
        ensure!(looked == Some(names.len() as u64), "{theme}: {looked:?} of {} samples", names.len());
    }
    Ok(())
}
