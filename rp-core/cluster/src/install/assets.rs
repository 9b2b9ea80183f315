//! The installer's assets: made by the runner, kept in the cluster's storage account.

use rp_install::runner::{InstallOrder, RunError};

use super::order::order;
use super::reasons::{Reason, unprepared};
use crate::context::Context;
use crate::errors::StepError;
use crate::graph;
use crate::installer::{AssetInstallation, InstallError};

/// Makes the assets and keeps what is needed of them: first the bootstrap machine's Ignition config, then the graph. Where
/// there is a graph, that was done; what the runner kept of it goes.
pub(crate) async fn make_assets(
    context: &Context,
    installation: &AssetInstallation,
) -> Result<(), StepError> {
    if graph::read(context).await?.is_none() {
        let order = order(context, installation).await?;
        context.record_line("info", &format!("the installer of {} runs", order.release_image));
        // It may take long: a worker that stops does not wait for it. The next one goes on with the stages that are done.
        let made = context.unless_stopping(installation.runner.assets(&order)).await?;
        let assets = made.map_err(|error| failed(&error, &order))?;
        graph::put_ignition(context, &assets.bootstrap).await?;
        graph::save(context, &assets.state).await?;
    }
    remove_kept(context, installation).await
}

/// Removes what the runner keeps of this cluster.
pub(crate) async fn remove_kept(
    context: &Context,
    installation: &AssetInstallation,
) -> Result<(), StepError> {
    match installation.runner.remove(context.document().id()).await {
        Err(RunError::Busy) => Err(InstallError::Away(RunError::Busy.to_string()).into()),
        done => done.map_err(|error| StepError::other(rp_base::chain(&error).to_string())),
    }
}

/// What became of the runner's error: its text, which holds no secret, goes to the operation's log.
fn failed(error: &RunError, order: &InstallOrder) -> StepError {
    let detail = format!("{} ({})", rp_base::chain(error), order.release_image);
    match error {
        RunError::Busy => InstallError::Away(detail).into(),
        // Credentials that Azure refuses are told by their own table.
        RunError::Failed { output, .. } if output.contains("AADSTS") => StepError::Other(detail),
        RunError::Failed { output, .. } => match Reason::of(output) {
            Some(reason) => StepError::Explained { told: reason.told(None), detail },
            None => StepError::Explained { told: unprepared(), detail },
        },
        // The program ended well, and what it made is missing or has another form: another attempt may succeed.
        RunError::Deadline { .. }
        | RunError::NoAsset { .. }
        | RunError::Large { .. }
        | RunError::Form { .. }
        | RunError::State(_)
        | RunError::Authority(_)
        | RunError::Transform(_) => StepError::Explained { told: unprepared(), detail },
        // Ours: the folder, the program, or the inputs that we wrote.
        RunError::Id
        | RunError::Folder { .. }
        | RunError::Start { .. }
        | RunError::Input(_)
        | RunError::Manifest(_) => StepError::Other(detail),
    }
}
