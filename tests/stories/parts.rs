//! The parts themselves, so that a broken part is seen as one.

use anyhow::{Result, ensure};
use tests_kit::ControlPlane;

#[tokio::test]
async fn a_control_plane_runs_pods() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let kubectl = plane.admin()?;
    ensure!(kubectl.ok(&["logs", "web"]).await?.contains("second line"));
    let out = kubectl.run(&["exec", "web", "--", "sh", "-c", "exit 7"]).await?;
    ensure!(out.status == 7, "{out:?}");
    Ok(())
}
