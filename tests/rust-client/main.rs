//! A client in Rust that is generated from the served document of the JSON API, compiled, and run against `aro-dev`.
//!
//! `tests/soak/run rust_client`: the generator needs Java, and the client's own dependencies take minutes to compile.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tests_kit::{Aro, AroOptions, part, workspace};

#[path = "../stories/openapi_clients/robot.rs"]
mod robot;
use robot::{RobotClient, said};

/// The compiler works on some two hundred crates.
const LIMIT: Duration = Duration::from_mins(15);
/// A robot's client must find more than twenty.
const CLUSTERS: u32 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rust_client_of_the_served_document_compiles_and_works() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: CLUSTERS, ..AroOptions::default() }).await?;
    let page = aro.session("admin").await?.get("/api/v1/clusters?sort=name&limit=1").await?.ok()?.json()?;
    let cluster = page["items"][0]["resourceId"].as_str().with_context(|| page.to_string())?;
    let robot = RobotClient::make(&aro, cluster, "rust").await?;

    let folder = robot.folder.path();
    let source = workspace().join("tests/rust-client/client");
    std::fs::create_dir(folder.join("src"))?;
    for name in ["Cargo.toml", "src/main.rs"] {
        std::fs::copy(source.join(name), folder.join(name))?;
    }
    let mut generator = robot.command(Path::new("java"));
    generator.arg("-jar").arg(part("openapi-rust")?).args(["generate", "-g", "rust", "-i", "openapi.json"]);
    generator.args(["-o", "portal-api", "--package-name", "portal-api"]);
    said(LIMIT, "openapi-generator", &mut generator).await?;

    let mut cargo = robot.command(Path::new("cargo"));
    // Another project than this one: neither its target folder nor its flags.
    cargo
        .args(["run", "--quiet", "--"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    cargo.arg(&aro.dev.url).arg(&aro.dev.ca_file).args([&robot.token, cluster]);
    let done = aro.explain(said(LIMIT, "the client", &mut cargo).await)?;
    robot.end(&done).await
}
