//! The installation of OpenShift, and who pays for what it makes
//! ([decision 20](../../../docs/decisions/0020-assets-or-the-whole.md)).

mod assets;
mod machines;
mod order;
mod reasons;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::text::clean;
use rp_documents::cluster::ClusterSecret;
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::graph;
use crate::installer::{AssetInstallation, InstallError, InstallState, Installation, Installer};
use crate::resources::deploy::with_detail;
use crate::step::ConditionStatus;

pub(crate) use machines::bootstrap_complete;
use reasons::{Reason, unexplained};

/// Members that an installer of the whole needs open, whose plain form is text.
const OPENED: [ClusterSecret; 3] =
    [ClusterSecret::PullSecret, ClusterSecret::BoundServiceAccountSigningKey, ClusterSecret::ClientSecret];

/// Makes the assets of the installation, or begins an installation of the whole.
pub(crate) async fn run_installer(context: &Context) -> Result<(), StepError> {
    match &context.env.installation {
        Installation::Assets(installation) => assets::make_assets(context, installation).await,
        Installation::Whole(installer) => begin(context, &**installer).await,
        Installation::None { setting } => Err(none(setting)),
    }
}

/// There is nothing that installs OpenShift.
fn none(setting: &str) -> StepError {
    let text = "This region does not install clusters at present. Delete the cluster, and create it in another region.";
    StepError::Explained {
        told: with_detail(unexplained(), text.to_owned()),
        detail: format!("there is no installer: {setting} is not set"),
    }
}

/// The machines of the control plane and of the bootstrap, with the assets.
pub(crate) async fn deploy_machines(context: &Context) -> Result<(), StepError> {
    machines::deploy_machines(context, of_assets(context)?).await
}

fn of_assets(context: &Context) -> Result<&AssetInstallation, StepError> {
    match &context.env.installation {
        Installation::Assets(installation) => Ok(installation),
        Installation::None { setting } => Err(none(setting)),
        Installation::Whole(_) => Err(StepError::other("machines are made by the region's installer")),
    }
}

async fn begin(context: &Context, installer: &dyn Installer) -> Result<(), StepError> {
    let opened = unseal_document(context)?;
    installer.begin(&opened).await?;
    context.record_line("info", "the installation of OpenShift has begun");
    Ok(())
}

/// The document with its secrets open, as JSON for the installer. It lives for this call and is never logged.
fn unseal_document(context: &Context) -> Result<Value, StepError> {
    let document = context.document();
    let mut copy = document.envelope().clone();
    let registries = (0..document.properties.registry_profiles.len()).map(ClusterSecret::RegistryPassword);
    for secret in OPENED.into_iter().chain(registries) {
        if let Some(plain) = context.secret(secret)? {
            secret.open_in(&mut copy.cluster, plain.expose().clone());
        }
    }
    if let Some(key) = context.secret_bytes(ClusterSecret::SshKey)? {
        ClusterSecret::SshKey.open_in(&mut copy.cluster, STANDARD.encode(key.expose()));
    }
    serde_json::to_value(copy)
        .map_err(|_| StepError::other("the document cannot be written for the installer"))
}

/// Whether an installer of the whole is done.
///
/// # Errors
/// The installation failed: in the words of the table of reasons.
pub(crate) async fn installation_complete(context: &Context) -> Result<ConditionStatus, StepError> {
    let Installation::Whole(installer) = &context.env.installation else {
        return Err(StepError::other("no installer of the whole works here"));
    };
    match installer.state(&context.document().key()).await {
        Ok(InstallState::Complete) => Ok(ConditionStatus::Yes),
        Ok(InstallState::Running { message }) => Ok(ConditionStatus::not_yet(message)),
        // Its process began anew and remembers nothing.
        Ok(InstallState::Unknown) => match begin(context, &**installer).await {
            Err(StepError::Installer(InstallError::Away(why))) => Ok(ConditionStatus::not_yet(why)),
            begun => begun.map(|()| ConditionStatus::not_yet("the installation is begun again")),
        },
        Ok(InstallState::Failed { reason, message }) => {
            let detail = clean(&format!("{reason}: {message}"), 2000);
            context.record_line("error", &detail);
            let told = Reason::named(&reason).map_or_else(unexplained, |reason| reason.told(None));
            Err(StepError::Explained { told, detail })
        }
        Err(InstallError::Away(why)) => Ok(ConditionStatus::not_yet(why)),
        Err(refused) => Err(refused.into()),
    }
}

/// The graph of an installer of the whole goes to where every cluster has its graph.
pub(crate) async fn save_graph(context: &Context) -> Result<(), StepError> {
    match &context.env.installation {
        Installation::Whole(installer) if graph::read(context).await?.is_none() => {
            graph::save(context, &installer.graph(&context.document().key()).await?).await
        }
        _ => Ok(()),
    }
}

/// From now on somebody pays for it.
pub(crate) async fn ensure_billing_record(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let (infra, location) = (document.infra_id(), document.location());
    Ok(context.progress().create_billing_record(infra, &context.tenant(), &location).await?)
}

/// Nobody pays any more.
pub(crate) async fn end_billing_record(context: &Context) -> Result<(), StepError> {
    Ok(context.progress().end_billing_record().await?)
}

/// What the installer keeps of it goes too.
pub(crate) async fn remove_installation(context: &Context) -> Result<(), StepError> {
    match &context.env.installation {
        Installation::Assets(installation) => assets::remove_kept(context, installation).await,
        Installation::Whole(installer) => Ok(installer.remove(&context.document().key()).await?),
        Installation::None { .. } => Ok(()),
    }
}

/// After a creation that failed: the bootstrap machine's config holds all keys of the cluster and goes at once, and so does
/// what the runner keeps (`contract/cluster.md` "Do better" 28). What cannot be removed is told; the deletion of the
/// cluster removes it.
pub(crate) async fn clean_after_failure(context: &Context) {
    let Installation::Assets(installation) = &context.env.installation else { return };
    for (what, done) in [
        ("the bootstrap machine's Ignition config", graph::remove_ignition(context).await),
        ("the installer's files", assets::remove_kept(context, installation).await),
    ] {
        if let Err(error) = done {
            let text = clean(&format!("{what} could not be removed: {error}"), 500);
            context.record_line("warning", &text);
        }
    }
}
