//! Bodies become what collectors read.

use std::sync::Arc;

use serde::Deserialize;

use super::Need;
use crate::objects as o;

/// Items of one list, over all its pages.
pub(super) const MOST_ITEMS: usize = 20_000;

/// Why a body was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("the list has more than {MOST_ITEMS} items")]
    TooMany,
    #[error("a continue token of {0} bytes")]
    Token(usize),
    #[error("this is not read from a body")]
    NoBody,
}

/// One kind of object as it was fetched.
#[derive(Debug, Clone)]
pub(super) enum Got {
    ClusterVersion(Arc<o::ClusterVersion>),
    ClusterOperators(Arc<Vec<o::ClusterOperator>>),
    Nodes(Arc<Vec<o::Node>>),
    Machines(Arc<Vec<o::Machine>>),
    MachineSets(Arc<Vec<o::MachineSet>>),
    Pools(Arc<Vec<o::Pool>>),
    Deployments(Arc<Vec<o::Deployment>>),
    DaemonSets(Arc<Vec<o::DaemonSet>>),
    Pods(Arc<Vec<o::Pod>>),
    AroCluster(Arc<o::AroCluster>),
    VirtualMachines(Arc<Vec<o::VirtualMachine>>),
    IngressControllers(Arc<Vec<o::IngressController>>),
    RouterServices(Arc<Vec<o::RouterService>>),
    Certificate(Arc<o::SecretCertificate>),
    Certificates(Arc<Vec<o::SecretCertificate>>),
    Proxy(Arc<o::Proxy>),
    Network(Arc<o::Network>),
    Dns(Arc<o::Dns>),
    Infrastructure(Arc<o::Infrastructure>),
    Credentials(Arc<o::Credentials>),
    Alerts(Arc<Vec<o::Alert>>),
    HiveDeployment(Arc<o::HiveDeployment>),
    HiveSync(Arc<o::ClusterSync>),
}

pub(super) type Decoded = (Got, Option<String>);

fn whole<'de, T: Deserialize<'de>>(body: &'de [u8], got: fn(Arc<T>) -> Got) -> Result<Decoded, DecodeError> {
    let o::Whole(object) = serde_json::from_slice(body)?;
    Ok((got(Arc::new(object)), None))
}

fn items<'de, T: Deserialize<'de>>(
    body: &'de [u8],
    got: fn(Arc<Vec<T>>) -> Got,
) -> Result<Decoded, DecodeError> {
    let mut page: o::Envelope<T> = serde_json::from_slice(body)?;
    let token = page.token().map_err(DecodeError::Token)?;
    bounded(&page.items)?;
    Ok((got(Arc::new(page.items)), token))
}

fn bounded<T>(items: &[T]) -> Result<(), DecodeError> {
    if items.len() > MOST_ITEMS { Err(DecodeError::TooMany) } else { Ok(()) }
}

pub(super) fn decode(need: &Need, body: &[u8]) -> Result<Decoded, DecodeError> {
    match need {
        Need::ClusterVersion => whole(body, Got::ClusterVersion),
        Need::ClusterOperators => items(body, Got::ClusterOperators),
        Need::Nodes => items(body, Got::Nodes),
        Need::Machines => items(body, Got::Machines),
        Need::MachineSets => items(body, Got::MachineSets),
        Need::Pools => items(body, Got::Pools),
        Need::OperatorDeployments => items(body, Got::Deployments),
        Need::LogDaemonSets => items(body, Got::DaemonSets),
        Need::Pods(_) => items(body, Got::Pods),
        Need::AroCluster => whole(body, Got::AroCluster),
        Need::VirtualMachines => items(body, Got::VirtualMachines),
        Need::IngressControllers => items(body, Got::IngressControllers),
        Need::RouterServices => items(body, Got::RouterServices),
        Need::Certificate(_) => whole(body, Got::Certificate),
        Need::EtcdCertificates => items(body, Got::Certificates),
        Need::Proxy => whole(body, Got::Proxy),
        Need::Network => whole(body, Got::Network),
        Need::Dns => whole(body, Got::Dns),
        Need::Infrastructure => whole(body, Got::Infrastructure),
        Need::Credentials => whole(body, Got::Credentials),
        Need::Alerts => {
            let o::Bare(alerts) = serde_json::from_slice(body)?;
            bounded(&alerts)?;
            Ok((Got::Alerts(Arc::new(alerts)), None))
        }
        Need::HiveDeployment(_) => whole(body, Got::HiveDeployment),
        Need::HiveSync(_) => whole(body, Got::HiveSync),
        Need::Subnets => Err(DecodeError::NoBody),
    }
}

impl Got {
    /// The pages before and this one. Nobody else holds the former yet, so nothing is copied.
    pub(super) fn followed_by(self, next: Self) -> Result<Self, DecodeError> {
        macro_rules! joined {
            ($($kind:ident),*) => {
                match (self, next) {
                    $((Self::$kind(mut all), Self::$kind(page)) => {
                        let page = Arc::try_unwrap(page).map_err(|_| DecodeError::NoBody)?;
                        let into = Arc::get_mut(&mut all).ok_or(DecodeError::NoBody)?;
                        into.extend(page);
                        bounded(into)?;
                        Ok(Self::$kind(all))
                    })*
                    (_, next) => Ok(next),
                }
            };
        }
        joined!(
            ClusterOperators,
            Nodes,
            Machines,
            MachineSets,
            Pools,
            Deployments,
            DaemonSets,
            Pods,
            VirtualMachines,
            IngressControllers,
            RouterServices,
            Certificates
        )
    }
}
