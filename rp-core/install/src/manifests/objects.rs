//! Single objects (`contract/installer.md` §7 steps 5 and 7, §11.5).

use serde_json::{Value, json};

use crate::facts::InstallFacts;

/// The image registry keeps its images in an account that we made, so its operator makes none.
pub(super) fn image_registry(facts: &InstallFacts, http_secret: &str) -> Value {
    json!({
        "apiVersion": "imageregistry.operator.openshift.io/v1",
        "kind": "Config",
        "metadata": {
            "name": "cluster",
            "finalizers": ["imageregistry.operator.openshift.io/finalizer"],
        },
        "spec": {
            "httpSecret": http_secret,
            "managementState": "Managed",
            "replicas": 2,
            "storage": {
                "azure": {
                    "accountName": facts.registry_account,
                    "cloudName": facts.cloud,
                    "container": "image-registry",
                },
                "managementState": "Unmanaged",
            },
        },
    })
}

pub(super) fn ingress_namespace() -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "openshift-ingress" } })
}

/// The router's service has the address that DNS names before there is a cluster.
pub(super) fn ingress_service(facts: &InstallFacts) -> Value {
    let internal = if facts.ingress_public { "" } else { "true" };
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "router-default",
            "namespace": "openshift-ingress",
            "labels": {
                "app": "router",
                "ingresscontroller.operator.openshift.io/owning-ingresscontroller": "default",
                "router": "router-default",
            },
            "annotations": {
                "service.beta.kubernetes.io/azure-load-balancer-internal": internal,
                "service.beta.kubernetes.io/azure-load-balancer-ipv4": facts.names.ingress.to_string(),
            },
        },
        "spec": {
            "type": "LoadBalancer",
            "externalTrafficPolicy": "Local",
            "ports": [
                { "name": "http", "port": 80, "protocol": "TCP", "targetPort": "http" },
                { "name": "https", "port": 443, "protocol": "TCP", "targetPort": "https" },
            ],
            "selector": {
                "ingresscontroller.operator.openshift.io/deployment-ingresscontroller": "default",
            },
        },
    })
}

/// No zone: nobody in the cluster writes DNS records.
pub(super) fn dns(facts: &InstallFacts) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "DNS",
        "metadata": { "name": "cluster" },
        "spec": { "baseDomain": facts.names.domain.as_str() },
    })
}

pub(super) fn authentication(issuer: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "Authentication",
        "metadata": { "name": "cluster" },
        "spec": { "serviceAccountIssuer": issuer },
    })
}

/// Samples come from a registry that needs a customer's pull secret.
pub(super) fn no_samples() -> Value {
    json!({
        "apiVersion": "samples.operator.openshift.io/v1",
        "kind": "Config",
        "metadata": { "name": "cluster" },
        "spec": { "managementState": "Removed" },
    })
}
