//! Ingress controllers, the services of routers, and routes.

use serde::Deserialize;

use crate::lenient::{Int, member, object};
use crate::meta::{Condition, Meta};
use crate::reader::{Reader, Whole};

/// `ingresscontrollers.operator.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct IngressController<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: IngressSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: IngressStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct IngressSpec<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub domain: R::More<R::Text<253>>,
    pub replicas: Int,
    /// The secret with its certificate; `None`: the operator's own.
    #[serde(deserialize_with = "member")]
    pub default_certificate: Option<SecretName<R>>,
    #[serde(deserialize_with = "member")]
    pub endpoint_publishing_strategy: Option<PublishingStrategy<R>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct SecretName<R: Reader> {
    pub name: R::Text<253>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct IngressStatus<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub domain: R::More<R::Text<253>>,
    pub available_replicas: Int,
    #[serde(deserialize_with = "member")]
    pub endpoint_publishing_strategy: R::More<Option<PublishingStrategy<R>>>,
    #[serde(deserialize_with = "member")]
    pub conditions: R::More<Vec<Condition<R>>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct PublishingStrategy<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub load_balancer: Option<LoadBalancer<R>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct LoadBalancer<R: Reader> {
    /// `External` or `Internal`.
    pub scope: R::Text<64>,
}

impl IngressController<Whole> {
    /// The domain that is in use, else the one that is wanted.
    pub fn domain(&self) -> &str {
        let used = &self.status.domain;
        if used.is_empty() { self.spec.domain.as_str() } else { used.as_str() }
    }

    /// `External`, `Internal` or empty.
    pub fn scope(&self) -> &str {
        let strategy = self.status.endpoint_publishing_strategy.as_ref();
        strategy.and_then(|strategy| strategy.load_balancer.as_ref()).map_or("", |one| one.scope.as_str())
    }

    /// Desired routers; unset means two.
    pub fn desired(&self) -> i64 {
        self.spec.replicas.0.unwrap_or(2)
    }
}

/// `services`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Service<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub status: ServiceStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct ServiceStatus<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub load_balancer: Addresses<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Addresses<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub ingress: Vec<Address<R>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Address<R: Reader> {
    pub ip: R::Text<64>,
}

impl<R: Reader> Service<R> {
    /// The first address of its load balancer.
    pub fn address(&self) -> Option<&str> {
        use crate::reader::TextValue as _;
        self.status.load_balancer.ingress.first().map(|address| address.ip.as_str())
    }
}

/// `routes.route.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Route<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub spec: RouteSpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct RouteSpec<R: Reader> {
    pub host: R::Text<253>,
}
