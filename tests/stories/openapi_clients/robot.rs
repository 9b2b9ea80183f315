//! A robot whose token a generated client uses, and what such a client must have done at its end.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Aro, Folder, Session};
use tokio::process::Command;

/// A robot that may take kubeconfigs, its token, and the document as this robot gets it.
pub(crate) struct RobotClient {
    pub(crate) folder: Folder,
    admin: Session,
    name: &'static str,
    pub(crate) token: String,
}

impl RobotClient {
    /// Makes a robot of that name for the cluster with that resource id, and writes the served document to `openapi.json` in a folder.
    pub(crate) async fn make(aro: &Aro, cluster: &str, name: &'static str) -> Result<Self> {
        let admin = aro.session("admin").await?;
        let robot = json!({ "name": name, "clusters": { "only": [cluster] }, "kinds": ["kubeconfig"],
                            "rights": "read", "reason": "story of generated clients", "life": 3600,
                            "max_grants": 3 });
        let made = admin.post("/api/v1/robots", &robot).await?.ok()?.json()?;
        let token = made["token"].as_str().context("a robot's token")?.to_owned();
        let document = admin.with_bearer(&token).get("/api/v1/openapi.json").await?.ok()?;
        let folder = Folder::new("openapi")?;
        folder.write("openapi.json", document.text)?;
        Ok(Self { folder, admin, name, token })
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("NO_PROXY", "*");
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Holds what a client says it did to what the portal has, and ends the robot.
    pub(crate) async fn end(self, said: &str) -> Result<()> {
        let said: Value = serde_json::from_str(said).with_context(|| said.to_owned())?;
        ensure!(said["clusters"].as_u64().is_some_and(|count| count > 20), "{said}");
        let id = said["grant"].as_str().context("a grant")?;
        let grant = self.admin.get(&format!("/api/v1/grants/{id}")).await?.ok()?.json()?;
        ensure!(grant["state"] == "revoked", "{grant}");
        ensure!(grant["owner"]["name"].as_str().is_some_and(|owner| owner.contains(self.name)), "{grant}");
        let path = format!("/api/v1/robots/{}?why=the%20story%20ends", self.name);
        self.admin.change(Method::DELETE, &path, None).await?.ok()?;
        Ok(())
    }
}

/// Runs a command to its end, which comes within `limit`; gives its standard output.
pub(crate) async fn said(limit: Duration, what: &str, command: &mut Command) -> Result<String> {
    let output = tokio::time::timeout(limit, command.output()).await;
    let output = output.with_context(|| format!("{what} does not end"))??;
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{what}: {}\n{out}\n{error}", output.status);
    Ok(out.into_owned())
}
