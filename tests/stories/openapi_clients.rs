//! Clients that are generated from the served document of the JSON API: TypeScript, compiled in strict mode, and Python.
//! Each lists clusters, takes, lists and ends a grant, and reads errors, all by its generated types.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Folder, Session, part, workspace};
use tokio::process::Command;

use crate::world::World;

/// A generator or a compiler takes its time beside other stories.
const LIMIT: Duration = Duration::from_mins(5);

/// A robot that may take kubeconfigs, its token, and the document as this robot gets it.
struct RobotClient {
    world: &'static World,
    folder: Folder,
    admin: Session,
    name: &'static str,
    token: String,
}

impl RobotClient {
    /// Makes a robot of that name, and writes the served document to `openapi.json` in a folder.
    async fn make(name: &'static str) -> Result<Self> {
        let world = World::get().await?;
        let admin = world.aro.session("admin").await?;
        let robot = json!({ "name": name, "clusters": { "only": [world.named] }, "kinds": ["kubeconfig"],
                            "rights": "read", "reason": "story of generated clients", "life": 3600,
                            "max_grants": 3 });
        let made = admin.post("/api/v1/robots", &robot).await?.ok()?.json()?;
        let token = made["token"].as_str().context("a robot's token")?.to_owned();
        let document = admin.with_bearer(&token).get("/api/v1/openapi.json").await?.ok()?;
        let folder = Folder::new("openapi")?;
        folder.write("openapi.json", document.text)?;
        Ok(Self { world, folder, admin, name, token })
    }

    /// A file of the story beside this one.
    fn source(name: &str) -> PathBuf {
        workspace().join("tests/stories/openapi_clients").join(name)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("NO_PROXY", "*");
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Holds what a client says it did to what the portal has, and ends the robot.
    async fn end(self, said: &str) -> Result<()> {
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

/// Runs a command to its end; gives its standard output.
async fn said(what: &str, command: &mut Command) -> Result<String> {
    let output = tokio::time::timeout(LIMIT, command.output()).await;
    let output = output.with_context(|| format!("{what} does not end"))??;
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{what}: {}\n{out}\n{error}", output.status);
    Ok(out.into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typescript_client_of_the_served_document_compiles_strictly_and_works() -> Result<()> {
    let robot = RobotClient::make("typescript").await?;
    let modules = part("openapi-typescript")?;
    let folder = robot.folder.path();
    for name in ["client.ts", "tsconfig.json"] {
        std::fs::copy(RobotClient::source(name), folder.join(name))?;
    }
    robot.folder.write("package.json", r#"{"type": "module"}"#)?;
    std::os::unix::fs::symlink(&modules, folder.join("node_modules"))?;
    let node = part("node")?;
    let generator = modules.join("openapi-typescript/bin/cli.js");
    said("openapi-typescript", robot.command(&node).arg(generator).args(["openapi.json", "-o", "api.d.ts"]))
        .await?;
    let compiler = modules.join("typescript/bin/tsc");
    said("tsc --strict", robot.command(&node).arg(compiler).args(["--project", "tsconfig.json"])).await?;
    let dev = &robot.world.aro.dev;
    let mut client = robot.command(&node);
    client.arg("client.js").args([&dev.url, &robot.token, &robot.world.named]);
    let done = said("the client", client.env("NODE_EXTRA_CA_CERTS", &dev.ca_file)).await;
    let done = robot.world.aro.explain(done)?;
    robot.end(&done).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_client_of_the_served_document_is_generated_whole_and_works() -> Result<()> {
    let robot = RobotClient::make("python").await?;
    let python = part("openapi-python")?;
    let mut generator = robot.command(&python);
    // A warning is an operation or an answer that the client would not have.
    generator.args(["-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none"]);
    generator.args(["--path", "openapi.json", "--output-path", "portal", "--config"]);
    said("openapi-python-client", generator.arg(RobotClient::source("python.yaml"))).await?;
    let dev = &robot.world.aro.dev;
    let mut client = robot.command(&python);
    client.arg(RobotClient::source("client.py")).arg(&dev.url).arg(&dev.ca_file);
    client.args([&robot.token, &robot.world.named]).env("PYTHONPATH", robot.folder.path());
    let done = robot.world.aro.explain(said("the client", &mut client).await)?;
    robot.end(&done).await
}
