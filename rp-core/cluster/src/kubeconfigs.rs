//! The four kubeconfigs of a cluster and the first password, of the authorities that its installer made
//! (`contract/cluster.md` §12). They are made after the installer ran and in one write, so that a second run goes on with
//! the same.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Secret, Timestamp};
use rp_documents::OpenShiftCluster;
use rp_documents::cluster::{ClusterSecret, Worker};
use rp_install::authority::Client;
use rp_install::kubeconfig::client_kubeconfig;
use rp_install::state::{InstallerState, StateError};
use serde_json::Value;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::context::Context;
use crate::errors::StepError;
use crate::{graph, install};

const TEN_YEARS: Duration = Duration::from_hours(24 * 3650);
const YEAR: Duration = Duration::from_hours(24 * 365);
/// A customer's kubeconfig with less than this left is made anew.
const ENOUGH: Duration = Duration::from_hours(24 * 275);

/// One of the three that the service makes. The fourth, `adminKubeconfig`, is the installer's own, unchanged.
struct KubeconfigKind {
    secret: ClusterSecret,
    user: &'static str,
    organisation: Option<&'static str>,
    validity: Duration,
    /// Its API server is the one that the customer reaches, whose certificate the world knows.
    public: bool,
}

const KINDS: [KubeconfigKind; 3] = [
    KubeconfigKind {
        secret: ClusterSecret::ServiceKubeconfig,
        user: "system:aro-service",
        organisation: Some("system:masters"),
        validity: TEN_YEARS,
        public: false,
    },
    KubeconfigKind {
        secret: ClusterSecret::SreKubeconfig,
        user: "system:aro-sre",
        organisation: None,
        validity: TEN_YEARS,
        public: false,
    },
    KubeconfigKind {
        secret: ClusterSecret::UserAdminKubeconfig,
        user: "system:admin",
        organisation: None,
        validity: YEAR,
        public: true,
    },
];

/// The first password and all kubeconfigs, from the graph.
pub(crate) async fn generate_kubeconfigs(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let own = [ClusterSecret::KubeadminPassword, ClusterSecret::AdminKubeconfig];
    let all = own.into_iter().chain(KINDS.iter().map(|kind| kind.secret));
    if all.into_iter().all(|secret| secret.sealed_in(&document).is_some()) {
        return Ok(());
    }
    install::save_graph(context).await?;
    write(context, &graph::read_required(context).await?).await
}

/// Writes what a state gives.
pub(crate) async fn write(context: &Context, state: &InstallerState) -> Result<(), StepError> {
    let mut sealed = Vec::new();
    let mut seal = |secret: ClusterSecret, plain: &Secret<String>| -> Result<(), StepError> {
        sealed.push((secret, context.sealed(secret, plain.expose().as_bytes())?));
        Ok(())
    };
    seal(ClusterSecret::KubeadminPassword, &state.kubeadmin_password().map_err(|error| of_state(&error))?)?;
    seal(ClusterSecret::AdminKubeconfig, &state.admin_kubeconfig().map_err(|error| of_state(&error))?)?;
    for kind in &KINDS {
        seal(kind.secret, &kubeconfig(kind, state, context)?)?;
    }
    let change = move |cluster: &mut OpenShiftCluster, by: Worker| {
        for (secret, sealed) in &sealed {
            if let Some(member) = secret.outcome_mut(cluster) {
                member.set(by, sealed.clone());
            }
        }
    };
    context.patch(change).await.map(drop)
}

/// The service's people get theirs, where a cluster has none.
pub(crate) async fn fix_sre_kubeconfig(context: &Context) -> Result<(), StepError> {
    if ClusterSecret::SreKubeconfig.sealed_in(&context.document()).is_some() {
        return Ok(());
    }
    renew(context, ClusterSecret::SreKubeconfig).await
}

/// The customer's is made anew when it cannot be used for long any more.
pub(crate) async fn fix_user_admin_kubeconfig(context: &Context) -> Result<(), StepError> {
    let now = context.env.clock.now();
    let stored = context.secret(ClusterSecret::UserAdminKubeconfig).unwrap_or_default();
    if stored.is_some_and(|stored| is_good(stored.expose(), now)) {
        return Ok(());
    }
    renew(context, ClusterSecret::UserAdminKubeconfig).await
}

async fn renew(context: &Context, secret: ClusterSecret) -> Result<(), StepError> {
    let Some(kind) = KINDS.iter().find(|kind| kind.secret == secret) else { return Ok(()) };
    let Some(state) = graph::read(context).await? else {
        context
            .record_line("warning", "the cluster has no graph of its installation: the kubeconfig is left");
        return Ok(());
    };
    let text = kubeconfig(kind, &state, context)?;
    context.set_secret(secret, text.expose().as_bytes()).await.map(drop)
}

/// The clusters of the installer's kubeconfig, with a client of our own.
fn kubeconfig(
    kind: &KubeconfigKind,
    state: &InstallerState,
    context: &Context,
) -> Result<Secret<String>, StepError> {
    let (random, now) = (&*context.env.random, context.env.clock.now());
    let client = Client { user: kind.user, organisation: kind.organisation, validity: kind.validity };
    let public = kind.public.then(|| {
        let domain = context.document().domain(&context.env.domain);
        format!("https://api.{domain}:6443")
    });
    client_kubeconfig(state, client, public.as_deref(), random, now)
        .map_err(|error| StepError::other(error.to_string()))
}

/// Whether a customer can go on with it.
fn is_good(text: &str, now: Timestamp) -> bool {
    let Ok(file) = serde_json::from_str::<Value>(text) else { return false };
    let user = &file["users"][0]["user"];
    let server = file["clusters"][0]["cluster"]["server"].as_str().unwrap_or_default();
    let has_key = user["client-key-data"].as_str().is_some_and(|key| !key.is_empty());
    let end = user["client-certificate-data"].as_str().and_then(end_of);
    let lasts = end.is_some_and(|end| end > now + ENOUGH);
    !server.is_empty() && !server.starts_with("https://api-int.") && has_key && lasts
}

/// The end of the first certificate.
fn end_of(data: &str) -> Option<Timestamp> {
    let pem = STANDARD.decode(data).ok()?;
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).ok()?;
    let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
    Some(Timestamp::from_seconds(certificate.validity().not_after.timestamp()))
}

fn of_state(error: &StateError) -> StepError {
    StepError::other(error.to_string())
}
