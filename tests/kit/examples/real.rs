//! `make dev REAL=1`: `aro-dev` with a real Kubernetes and a real Prometheus under the portal, imported as `real`.
//!
//! Arguments go to `aro-dev`. Everything ends with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tests_kit::{ControlPlane, Monitoring, until, workspace};

const GENEROUS: std::time::Duration = std::time::Duration::from_secs(120);

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let data = data_dir(&args);
    let ready = data.join("dev.json");
    if ready.exists() {
        std::fs::remove_file(&ready)?;
    }
    let program = workspace().join("target/debug/aro-dev");
    let plane = ControlPlane::start().await?;
    // Held until the end.
    let _monitoring = Monitoring::start(&plane).await?;
    let mut dev =
        Command::new(&program).args(&args).spawn().context("aro-dev; build it: cargo build -p aro-dev")?;
    let announced = until("aro-dev is ready", GENEROUS, || async {
        Ok(std::fs::metadata(&ready).context("no dev.json yet")?.len())
    });
    announced.await?;
    import(&program, &data, &plane)?;
    // Ctrl+C reaches aro-dev too, which drains; we wait for it.
    let ended = tokio::task::spawn_blocking(move || dev.wait());
    tokio::pin!(ended);
    let status = loop {
        tokio::select! {
            status = &mut ended => break status??,
            signal = tokio::signal::ctrl_c() => signal?,
        }
    };
    ensure!(status.success(), "aro-dev: {status}");
    Ok(())
}

fn data_dir(args: &[String]) -> PathBuf {
    let after = args.iter().position(|arg| arg == "--data-dir").and_then(|at| args.get(at + 1));
    let joined = args.iter().find_map(|arg| arg.strip_prefix("--data-dir="));
    PathBuf::from(after.map(String::as_str).or(joined).unwrap_or(".dev"))
}

/// A kept folder knows the name from last time, with an address that is gone.
fn import(program: &Path, data: &Path, plane: &ControlPlane) -> Result<()> {
    let kubeconfig = plane.service_kubeconfig()?;
    for name in ["real".to_owned(), format!("real-{}", std::process::id())] {
        let status = Command::new(program)
            .args(["import", "--name", &name, "--as-groups", "system:masters", "--data-dir"])
            .arg(data)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stdout(Stdio::null())
            .status()?;
        if status.success() {
            return say(&format!(
                "A real Kubernetes is there as {name}, with the pod default/web, two real Prometheus and an Alertmanager.\n"
            ));
        }
    }
    anyhow::bail!("the real cluster cannot be imported")
}

fn say(text: &str) -> Result<()> {
    use std::io::Write as _;
    Ok(writeln!(std::io::stdout(), "{text}")?)
}
