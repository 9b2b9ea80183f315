//! Namespaces and what is in them besides workloads; projects, routes and users.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::workloads::{WORKLOADS, WorkloadKind};
use super::{AGE, Cell, Kind, NAME, View, column, metadata};

const fn kind(
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    list: fn(&View<'_>) -> Vec<Value>,
) -> Kind {
    Kind {
        group: "",
        version: "v1",
        plural,
        singular,
        kind,
        namespaced: true,
        short,
        categories: &[],
        list,
        columns: &[NAME, AGE],
    }
}

pub(super) const NAMESPACES: Kind = Kind {
    namespaced: false,
    columns: &[NAME, column("Status", Cell::At("/status/phase")), AGE],
    ..kind("namespaces", "namespace", "Namespace", &["ns"], spaces)
};
pub(super) const CONFIGMAPS: Kind = kind("configmaps", "configmap", "ConfigMap", &["cm"], configmaps);
pub(super) const SECRETS: Kind = kind("secrets", "secret", "Secret", &[], secrets);
pub(super) const SERVICES: Kind = Kind {
    categories: &["all"],
    columns: &[
        NAME,
        column("Type", Cell::At("/spec/type")),
        column("Cluster-IP", Cell::At("/spec/clusterIP")),
        column("Port(s)", Cell::Of(|service| json!(format!("{}/TCP", service["spec"]["ports"][0]["port"])))),
        AGE,
    ],
    ..kind("services", "service", "Service", &["svc"], services)
};
pub(super) const SERVICEACCOUNTS: Kind =
    kind("serviceaccounts", "serviceaccount", "ServiceAccount", &["sa"], serviceaccounts);
pub(super) const PROJECTS: Kind = Kind {
    group: "project.openshift.io",
    namespaced: false,
    columns: &[
        NAME,
        column("Display Name", Cell::At("/metadata/annotations/openshift.io~1display-name")),
        column("Status", Cell::At("/status/phase")),
    ],
    ..kind("projects", "project", "Project", &[], projects)
};
pub(super) const ROUTES: Kind = Kind {
    group: "route.openshift.io",
    columns: &[
        NAME,
        column("Host/Port", Cell::At("/spec/host")),
        column("Services", Cell::At("/spec/to/name")),
        column("Termination", Cell::At("/spec/tls/termination")),
        AGE,
    ],
    ..kind("routes", "route", "Route", &[], routes)
};
pub(super) const USERS: Kind = Kind {
    group: "user.openshift.io",
    namespaced: false,
    ..kind("users", "user", "User", &[], |view| vec![user(view, "kube:admin")])
};

/// Every namespace, in order.
fn namespaces() -> Vec<&'static str> {
    let mut all =
        vec!["default", "kube-node-lease", "kube-public", "kube-system", "openshift", "openshift-config"];
    all.extend(WORKLOADS.iter().map(|workload| workload.namespace));
    all.extend(["openshift-cloud-credential-operator", "shop"]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Every namespace, those that clients made included, as a project.
fn projects(view: &View<'_>) -> Vec<Value> {
    let mut all = super::all(&NAMESPACES, view);
    for object in &mut all {
        object["kind"] = json!(PROJECTS.kind);
        object["apiVersion"] = json!(PROJECTS.api_version());
    }
    all
}

fn spaces(view: &View<'_>) -> Vec<Value> {
    let object = |name: &&'static str| {
        let labels = json!({"kubernetes.io/metadata.name": name});
        let mut metadata = metadata(view, "namespaces", None, name, &labels);
        metadata["annotations"] =
            json!({"openshift.io/display-name": if *name == "shop" { "Shop (simulated)" } else { "" }});
        json!({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
    };
    namespaces().iter().map(object).collect()
}

fn configmaps(view: &View<'_>) -> Vec<Value> {
    let one = |namespace: &str, name: &str, data: Value| {
        json!({"kind": "ConfigMap", "apiVersion": "v1",
            "metadata": metadata(view, "configmaps", Some(namespace), name, &json!({})), "data": data})
    };
    let mut all: Vec<Value> = namespaces()
        .iter()
        .map(|namespace| {
            one(namespace, "kube-root-ca.crt", json!({"ca.crt": "simulated: no certificate here\n"}))
        })
        .collect();
    all.push(one(
        "openshift-monitoring",
        "cluster-monitoring-config",
        json!({"config.yaml": "prometheusK8s:\n  retention: 15d\n"}),
    ));
    all
}

fn secrets(view: &View<'_>) -> Vec<Value> {
    let one = |namespace: &str, name: &str, kind: &str, key: &str| {
        json!({"kind": "Secret", "apiVersion": "v1", "type": kind,
            "metadata": metadata(view, "secrets", Some(namespace), name, &json!({})),
            "data": {key: STANDARD.encode("simulated: there is no secret here")}})
    };
    let mut principal = one("kube-system", "azure-credentials", "Opaque", "azure_client_secret");
    let client = match &view.cluster.installed {
        Some(installed) => installed.about.client_id.clone(),
        None => view.cluster.dice("principal").uuid(),
    };
    principal["data"]["azure_client_id"] = json!(STANDARD.encode(client));
    vec![
        principal,
        one("openshift-config", "pull-secret", "kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
        one("openshift-ingress", "router-certs-default", "Opaque", "note"),
        one("shop", "database", "Opaque", "password"),
    ]
}

fn services(view: &View<'_>) -> Vec<Value> {
    let one = |namespace: &str, name: &str, port: u16| {
        let mut dice = view.cluster.dice(&format!("services/{namespace}/{name}"));
        let ip = format!("172.30.{}.{}", dice.below(250), 2 + dice.below(250));
        json!({"kind": "Service", "apiVersion": "v1",
            "metadata": metadata(view, "services", Some(namespace), name, &json!({"app": name})),
            "spec": {"type": "ClusterIP", "clusterIP": ip, "selector": {"app": name},
                "ports": [{"name": "https", "port": port, "protocol": "TCP", "targetPort": port}]},
            "status": {"loadBalancer": {}}})
    };
    let router = |mut service: Value| {
        if service["metadata"]["name"] == "router-default" {
            let labels = &mut service["metadata"]["labels"];
            labels["app"] = json!("router");
            labels["ingresscontroller.operator.openshift.io/owning-ingresscontroller"] = json!("default");
            service["spec"]["type"] = json!("LoadBalancer");
            service["status"] = json!({"loadBalancer": {"ingress": [{"ip": view.cluster.public_ip(2)}]}});
        }
        service
    };
    let mut all = vec![one("default", "kubernetes", 443)];
    all.extend(
        WORKLOADS
            .iter()
            .filter(|workload| {
                matches!(workload.form, WorkloadKind::Deployment(2..) | WorkloadKind::StatefulSet(_))
            })
            .map(|workload| {
                router(one(
                    workload.namespace,
                    workload.name,
                    if workload.name == "prometheus-k8s" { 9091 } else { 443 },
                ))
            }),
    );
    all
}

fn serviceaccounts(view: &View<'_>) -> Vec<Value> {
    let object = |namespace: &&'static str| {
        json!({"kind": "ServiceAccount", "apiVersion": "v1",
            "metadata": metadata(view, "serviceaccounts", Some(namespace), "default", &json!({}))})
    };
    namespaces().iter().map(object).collect()
}

fn routes(view: &View<'_>) -> Vec<Value> {
    let one = |namespace: &str, name: &str, service: &str| {
        let host = format!("{name}-{namespace}.apps.{}", view.cluster.domain);
        json!({"kind": "Route", "apiVersion": "route.openshift.io/v1",
            "metadata": metadata(view, "routes", Some(namespace), name, &json!({})),
            "spec": {"host": host, "to": {"kind": "Service", "name": service, "weight": 100},
                "port": {"targetPort": "https"}, "tls": {"termination": "reencrypt"}},
            "status": {"ingress": [{"host": host, "routerName": "default"}]}})
    };
    vec![
        one("openshift-authentication", "oauth-openshift", "oauth-openshift"),
        one("openshift-console", "console", "console"),
        one("openshift-console", "downloads", "downloads"),
        one("openshift-monitoring", "alertmanager-main", "alertmanager-main"),
        one("openshift-monitoring", "prometheus-k8s", "prometheus-k8s"),
    ]
}

fn user(view: &View<'_>, name: &str) -> Value {
    json!({"kind": "User", "apiVersion": "user.openshift.io/v1",
        "metadata": metadata(view, "users", None, name, &json!({})), "identities": null, "groups": null})
}

/// `users/~`: the caller (`oc whoami`).
pub fn me(view: &View<'_>, name: &str, groups: &[String]) -> Value {
    let mut user = user(view, name);
    user["groups"] = json!(groups);
    user
}
