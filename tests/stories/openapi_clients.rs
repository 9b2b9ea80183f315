//! Clients that are generated from the served document of the JSON API: TypeScript, compiled in strict mode, and Python.
//! Each lists clusters, takes, lists and ends a grant, and reads errors, all by its generated types. The one in Rust is in
//! `tests/rust-client`, which the soak runs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use tests_kit::{part, workspace};

use crate::world::World;
use robot::{RobotClient, said};

mod robot;

/// A generator or a compiler takes its time beside other stories.
const LIMIT: Duration = Duration::from_mins(5);

/// A file of the stories beside this one.
fn source(name: &str) -> PathBuf {
    workspace().join("tests/stories/openapi_clients").join(name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typescript_client_of_the_served_document_compiles_strictly_and_works() -> Result<()> {
    let world = World::get().await?;
    let robot = RobotClient::make(&world.aro, &world.named, "typescript").await?;
    let modules = part("openapi-typescript")?;
    let folder = robot.folder.path();
    for name in ["client.ts", "tsconfig.json"] {
        std::fs::copy(source(name), folder.join(name))?;
    }
    robot.folder.write("package.json", r#"{"type": "module"}"#)?;
    std::os::unix::fs::symlink(&modules, folder.join("node_modules"))?;
    let node = part("node")?;
    let generator = modules.join("openapi-typescript/bin/cli.js");
    said(
        LIMIT,
        "openapi-typescript",
        robot.command(&node).arg(generator).args(["openapi.json", "-o", "api.d.ts"]),
    )
    .await?;
    let compiler = modules.join("typescript/bin/tsc");
    said(LIMIT, "tsc --strict", robot.command(&node).arg(compiler).args(["--project", "tsconfig.json"]))
        .await?;
    let dev = &world.aro.dev;
    let mut client = robot.command(&node);
    client.arg("client.js").args([&dev.url, &robot.token, &world.named]);
    let done = said(LIMIT, "the client", client.env("NODE_EXTRA_CA_CERTS", &dev.ca_file)).await;
    let done = world.aro.explain(done)?;
    robot.end(&done).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_client_of_the_served_document_is_generated_whole_and_works() -> Result<()> {
    let world = World::get().await?;
    let robot = RobotClient::make(&world.aro, &world.named, "python").await?;
    let python = part("openapi-python")?;
    let mut generator = robot.command(&python);
    // A warning is an operation or an answer that the client would not have.
    generator.args(["-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none"]);
    generator.args(["--path", "openapi.json", "--output-path", "portal", "--config"]);
    said(LIMIT, "openapi-python-client", generator.arg(source("python.yaml"))).await?;
    let dev = &world.aro.dev;
    let mut client = robot.command(&python);
    client.arg(source("client.py")).arg(&dev.url).arg(&dev.ca_file);
    client.args([&robot.token, &world.named]).env("PYTHONPATH", robot.folder.path());
    let done = world.aro.explain(said(LIMIT, "the client", &mut client).await)?;
    robot.end(&done).await
}
