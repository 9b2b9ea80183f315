//! `aro-dev login`: `aro login` with the address and the authority of the server that runs on a folder.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use tokio::net::TcpStream;
use url::Url;

use crate::folder::read_text;

/// What `dev.json` says of the server.
#[derive(Debug, Deserialize)]
struct Server {
    url: Url,
    ca_file: std::path::PathBuf,
}

/// Runs `aro login` and waits for it.
///
/// # Errors
/// No server runs on the folder, `aro` is not beside this program, or the sign-in failed.
pub(crate) async fn login(folder: &Path, args: &[String]) -> anyhow::Result<()> {
    let server = find(folder).await?;
    let own = std::env::current_exe().context("cannot find this program")?;
    let aro = own.with_file_name("aro");
    ensure!(aro.exists(), "there is no {}: build it with cargo build -p aro", aro.display());
    let ended = tokio::process::Command::new(&aro)
        .args(arguments(&server, args))
        .status()
        .await
        .with_context(|| format!("cannot run {}", aro.display()))?;
    ensure!(ended.success(), "the sign-in failed: {ended}");
    Ok(())
}

/// The server of the folder, if it takes connections.
async fn find(folder: &Path) -> anyhow::Result<Server> {
    let none =
        || format!("no aro-dev runs on {}: start one, or name its folder with --data-dir", folder.display());
    let server = read_text(&folder.join("dev.json")).with_context(none)?;
    let server: Server = serde_json::from_str(&server).context("dev.json cannot be read")?;
    let Some((host, port)) = server.url.host_str().zip(server.url.port_or_known_default()) else {
        bail!("dev.json names no host: {}", server.url);
    };
    TcpStream::connect((host, port)).await.with_context(none)?;
    Ok(server)
}

fn arguments(server: &Server, more: &[String]) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec!["login".into(), server.url.as_str().into(), "--ca-file".into()];
    all.push(server.ca_file.clone().into());
    all.extend(more.iter().map(OsString::from));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_found_by_its_folder_while_it_listens() {
        let folder = tempfile::tempdir().unwrap();
        let missing = find(folder.path()).await.unwrap_err();
        assert!(format!("{missing:#}").contains("no aro-dev runs on"), "{missing:#}");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let text = serde_json::json!({ "url": url, "ca_file": "/tmp/ca.pem", "pid": 1 }).to_string();
        std::fs::write(folder.path().join("dev.json"), text).unwrap();
        let server = find(folder.path()).await.unwrap();
        let given = arguments(&server, &["--device".to_owned()]);
        assert_eq!(given, ["login", &format!("{url}/"), "--ca-file", "/tmp/ca.pem", "--device"]);
        drop(listener);
        let ended = find(folder.path()).await.unwrap_err();
        assert!(format!("{ended:#}").contains("no aro-dev runs on"), "{ended:#}");
    }
}
