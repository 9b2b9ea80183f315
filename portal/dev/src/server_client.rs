//! `aro-dev session`, `aro-dev account` and `aro-dev import`: they call the running server, found through its folder.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::folder::{DevState, read_text};

/// Prints `name=value` of a session cookie.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) async fn session(folder: &Path, account: &str) -> anyhow::Result<()> {
    println!("{}", cookie(folder, account).await?);
    Ok(())
}

/// Imports a cluster as `admin`, through the JSON API.
#[expect(clippy::print_stdout, reason = "the answer of a command")]
pub(crate) async fn import(
    folder: &Path,
    kubeconfig: &Path,
    name: &str,
    context: Option<String>,
    as_groups: Vec<String>,
) -> anyhow::Result<()> {
    let cookie = cookie(folder, "admin").await?;
    let dev: Value = serde_json::from_str(&read_text(&folder.join("dev.json"))?)?;
    let url = dev["url"].as_str().context("dev.json has no url")?.trim_end_matches('/').to_owned();
    let client = client(folder)?;
    let info: Value =
        client.get(format!("{url}/api/info")).header("cookie", &cookie).send().await?.json().await?;
    let body = json!({
        "name": name, "kubeconfig": read_text(kubeconfig)?, "context": context, "as_groups": as_groups,
    });
    let answer = client
        .post(format!("{url}/api/v1/imports"))
        .header("cookie", &cookie)
        .header("origin", &url)
        .header("x-csrf-token", info["csrf"].as_str().unwrap_or_default())
        .json(&body)
        .send()
        .await?;
    let (status, text) = (answer.status(), answer.text().await?);
    if !status.is_success() {
        bail!("the import was refused ({}): {text}", status.as_u16());
    }
    println!("{text}");
    Ok(())
}

async fn cookie(folder: &Path, account: &str) -> anyhow::Result<String> {
    let answer = control(folder, &format!("session/{account}"), &json!({})).await?;
    match answer["cookie"].as_str() {
        Some(cookie) => Ok(cookie.to_owned()),
        None => bail!("{}", answer["message"].as_str().unwrap_or("no answer")),
    }
}

/// Changes an account at the built-in provider.
pub(crate) async fn account(
    folder: &Path,
    name: &str,
    disabled: Option<bool>,
    groups: Option<Vec<String>>,
    sign_out: bool,
) -> anyhow::Result<()> {
    let change = json!({ "disabled": disabled, "groups": groups, "sign_out": sign_out });
    let answer = control(folder, &format!("account/{name}"), &change).await?;
    match answer["account"].as_str() {
        Some(_) => Ok(()),
        None => bail!("{}", answer["message"].as_str().unwrap_or("no answer")),
    }
}

async fn control(folder: &Path, path: &str, body: &Value) -> anyhow::Result<Value> {
    let kept: DevState = serde_json::from_str(&read_text(&folder.join("kept.json"))?)?;
    let answer = client(folder)?
        .post(format!("http://127.0.0.1:{}/{path}", kept.ports.control))
        .bearer_auth(&kept.control)
        .json(body)
        .send()
        .await
        .context("no aro-dev runs on this folder")?;
    Ok(answer.json().await?)
}

fn client(folder: &Path) -> anyhow::Result<reqwest::Client> {
    Ok(rp_net::http::client(Some(&read_text(&folder.join("ca.pem"))?), Duration::from_secs(30))?)
}
