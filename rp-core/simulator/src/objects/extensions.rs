//! Objects of the operator that the service deploys, of kinds that nothing else here has: its own kinds, its order for
//! credentials, the monitors of its pods.

use serde_json::{Value, json};

use super::{AGE, Kind, NAME, View, condition, metadata, single};

pub(super) const DEFINITIONS: Kind = Kind {
    short: &["crd", "crds"],
    ..single(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "customresourcedefinition",
        "CustomResourceDefinition",
        definitions,
    )
};

pub(super) const CREDENTIALS: Kind = Kind {
    namespaced: true,
    ..single(
        "cloudcredential.openshift.io",
        "credentialsrequests",
        "credentialsrequest",
        "CredentialsRequest",
        credentials,
    )
};

pub(super) const MONITORS: Kind = Kind {
    namespaced: true,
    columns: &[NAME, AGE],
    ..single("monitoring.coreos.com", "servicemonitors", "servicemonitor", "ServiceMonitor", monitors)
};

fn definitions(view: &View<'_>) -> Vec<Value> {
    let one = |plural: &str, group: &str, kind: &str| {
        let since = view.cluster.created;
        let mut metadata = metadata(view, DEFINITIONS.plural, None, &format!("{plural}.{group}"), &json!({}));
        metadata["generation"] = json!(1);
        let names = json!({"kind": kind, "plural": plural, "singular": kind.to_lowercase()});
        json!({"kind": DEFINITIONS.kind, "apiVersion": DEFINITIONS.api_version(), "metadata": metadata,
            "spec": {"group": group, "scope": "Cluster", "names": names, "versions": []},
            "status": {"conditions": [condition("NamesAccepted", true, "Simulated", "", since),
                condition("Established", true, "Simulated", "", since)]}})
    };
    vec![
        one("clusters", "aro.openshift.io", "Cluster"),
        one("previewfeatures", "preview.aro.openshift.io", "PreviewFeature"),
    ]
}

fn credentials(view: &View<'_>) -> Vec<Value> {
    let metadata = metadata(
        view,
        CREDENTIALS.plural,
        Some("openshift-cloud-credential-operator"),
        "openshift-azure-operator",
        &json!({}),
    );
    let secret = json!({"name": "azure-cloud-credentials", "namespace": "openshift-azure-operator"});
    vec![json!({"kind": CREDENTIALS.kind, "apiVersion": CREDENTIALS.api_version(), "metadata": metadata,
        "spec": {"secretRef": secret}, "status": {"provisioned": true}})]
}

fn monitors(view: &View<'_>) -> Vec<Value> {
    let one = |name: &str| {
        let metadata = metadata(view, MONITORS.plural, Some("openshift-azure-operator"), name, &json!({}));
        json!({"kind": MONITORS.kind, "apiVersion": MONITORS.api_version(), "metadata": metadata,
            "spec": {"endpoints": [{"port": "http-metrics", "scheme": "https"}]}})
    };
    ["aro-operator-master", "aro-operator-worker"].map(one).into()
}
