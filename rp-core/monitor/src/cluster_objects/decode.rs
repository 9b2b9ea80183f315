//! Decodes bodies into objects.

use std::sync::Arc;

use serde::Deserialize;

use super::Resource;
use crate::objects as o;

/// Maximum number of items of one list, over all its pages.
pub(super) const MOST_ITEMS: usize = 20_000;

/// Why a body was not accepted.
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

/// The decoded object or list of one resource.
#[derive(Debug, Clone)]
pub(super) enum DecodedObject {
    ClusterVersion(Arc<o::ClusterVersion>),
    ClusterOperators(Arc<Vec<o::ClusterOperator>>),
    Nodes(Arc<Vec<o::Node>>),
    Machines(Arc<Vec<o::Machine>>),
    MachineSets(Arc<Vec<o::MachineSet>>),
    Pools(Arc<Vec<o::Pool>>),
    Deployments(Arc<Vec<o::Workload>>),
    DaemonSets(Arc<Vec<o::Workload>>),
    Pods(Arc<Vec<o::Pod>>),
    AroCluster(Arc<o::AroCluster>),
    VirtualMachines(Arc<Vec<o::VirtualMachine>>),
    IngressControllers(Arc<Vec<o::IngressController>>),
    RouterServices(Arc<Vec<o::Service>>),
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

pub(super) type DecodedPage = (DecodedObject, Option<String>);

fn whole<'de, T: Deserialize<'de>>(
    body: &'de [u8],
    got: fn(Arc<T>) -> DecodedObject,
) -> Result<DecodedPage, DecodeError> {
    let o::ObjectBody(object) = serde_json::from_slice(body)?;
    Ok((got(Arc::new(object)), None))
}

fn items<'de, T: Deserialize<'de>>(
    body: &'de [u8],
    got: fn(Arc<Vec<T>>) -> DecodedObject,
) -> Result<DecodedPage, DecodeError> {
    let page: o::List<T> = serde_json::from_slice(body)?;
    let token = o::next_page(&page.metadata).map_err(DecodeError::Token)?;
    bounded(&page.items)?;
    Ok((got(Arc::new(page.items)), token))
}

fn bounded<T>(items: &[T]) -> Result<(), DecodeError> {
    if items.len() > MOST_ITEMS { Err(DecodeError::TooMany) } else { Ok(()) }
}

pub(super) fn decode(need: &Resource, body: &[u8]) -> Result<DecodedPage, DecodeError> {
    match need {
        Resource::ClusterVersion => whole(body, DecodedObject::ClusterVersion),
        Resource::ClusterOperators => items(body, DecodedObject::ClusterOperators),
        Resource::Nodes => items(body, DecodedObject::Nodes),
        Resource::Machines => items(body, DecodedObject::Machines),
        Resource::MachineSets => items(body, DecodedObject::MachineSets),
        Resource::Pools => items(body, DecodedObject::Pools),
        Resource::OperatorDeployments => items(body, DecodedObject::Deployments),
        Resource::LogDaemonSets => items(body, DecodedObject::DaemonSets),
        Resource::Pods(_) => items(body, DecodedObject::Pods),
        Resource::AroCluster => whole(body, DecodedObject::AroCluster),
        Resource::VirtualMachines => items(body, DecodedObject::VirtualMachines),
        Resource::IngressControllers => items(body, DecodedObject::IngressControllers),
        Resource::RouterServices => items(body, DecodedObject::RouterServices),
        Resource::Certificate(_) => whole(body, DecodedObject::Certificate),
        Resource::EtcdCertificates => items(body, DecodedObject::Certificates),
        Resource::Proxy => whole(body, DecodedObject::Proxy),
        Resource::Network => whole(body, DecodedObject::Network),
        Resource::Dns => whole(body, DecodedObject::Dns),
        Resource::Infrastructure => whole(body, DecodedObject::Infrastructure),
        Resource::Credentials => whole(body, DecodedObject::Credentials),
        Resource::Alerts => {
            let o::ArrayBody(alerts) = serde_json::from_slice(body)?;
            bounded(&alerts)?;
            Ok((DecodedObject::Alerts(Arc::new(alerts)), None))
        }
        Resource::HiveDeployment(_) => whole(body, DecodedObject::HiveDeployment),
        Resource::HiveSync(_) => whole(body, DecodedObject::HiveSync),
        Resource::Subnets => Err(DecodeError::NoBody),
    }
}

impl DecodedObject {
    /// Appends a page. The earlier pages are not shared yet, so nothing is copied.
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
