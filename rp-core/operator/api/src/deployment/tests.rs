use std::path::Path;

use super::*;

fn settings(identity: Identity) -> Settings {
    Settings {
        image: "arosvc.azurecr.io/aro-operator:0123abc".to_owned(),
        identity,
        development: false,
        restricted: true,
        pull_secret: Secret::new("{\"auths\":{}}".to_owned()),
    }
}

fn managed() -> Identity {
    Identity::Managed(ManagedIdentity {
        client_id: "client".to_owned(),
        tenant_id: "tenant".to_owned(),
        region: "eastus".to_owned(),
        subscription_id: "subscription".to_owned(),
    })
}

/// Compares with a file below `tests/golden`; `ARO_GOLDEN=write` writes it.
fn golden(name: &str, objects: &[Value]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = serde_json::to_string_pretty(objects).unwrap() + "\n";
    if std::env::var_os("ARO_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{}", file.display());
}

#[test]
fn the_objects_are_stable() {
    golden("service-principal.json", &objects(&settings(Identity::ServicePrincipal)));
    golden("managed-identity.json", &objects(&settings(managed())));
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]).replace('"', "");
    objects.iter().map(name).collect()
}

#[test]
fn objects_come_in_the_order_of_application() {
    let expected = [
        "CustomResourceDefinition clusters.aro.openshift.io",
        "CustomResourceDefinition previewfeatures.preview.aro.openshift.io",
        "ClusterRole aro-operator-master",
        "ClusterRole aro-operator-worker",
        "ClusterRoleBinding aro-operator-master",
        "ClusterRoleBinding aro-operator-worker",
        "Namespace openshift-azure-operator",
        "Secret cluster",
        "Secret azure-cloud-credentials",
        "ServiceAccount aro-operator-master",
        "ServiceAccount aro-operator-worker",
        "Role aro-operator-master",
        "RoleBinding aro-operator-master",
        "Role prometheus-k8s",
        "RoleBinding prometheus-k8s",
        "CredentialsRequest openshift-azure-operator",
        "Service aro-operator-master",
        "Service aro-operator-worker",
        "ServiceMonitor aro-operator-master",
        "ServiceMonitor aro-operator-worker",
        "Deployment aro-operator-master",
        "Deployment aro-operator-worker",
    ];
    assert_eq!(names(&objects(&settings(managed()))), expected);
    let without: Vec<_> = expected.into_iter().filter(|name| !name.starts_with("Secret azure")).collect();
    assert_eq!(names(&objects(&settings(Identity::ServicePrincipal))), without);
}

#[test]
fn a_role_has_no_wildcard_and_reads_no_secret_but_by_name() {
    for rule in permissions::master().iter().chain(&permissions::worker()) {
        let text = rule.to_string();
        assert!(!text.contains('*'), "{text}");
        assert!(!text.contains("secrets") || rule.get("resourceNames").is_some(), "{text}");
    }
    assert!(permissions::worker().iter().all(|rule| !rule.to_string().contains("secrets")));
}

#[test]
fn a_version_is_that_of_the_reference() {
    for (image, version) in [
        ("arosvc.azurecr.io/aro-operator:0123abc", "0123abc"),
        ("localhost:5000/aro", "latest"),
        ("localhost:5000/aro:v1", "v1"),
        ("aro@sha256:00ff", "00ff"),
        ("aro", "latest"),
        ("aro:", "latest"),
    ] {
        assert_eq!(version_of(image), version, "{image}");
    }
}

#[test]
fn a_repository_is_a_reference_without_its_version() {
    for (image, repository) in [
        ("arosvc.azurecr.io/aro-operator:0123abc", "arosvc.azurecr.io/aro-operator"),
        ("localhost:5000/aro-operator", "localhost:5000/aro-operator"),
        ("localhost:5000/aro-operator:v1", "localhost:5000/aro-operator"),
        ("localhost:5000/aro-operator@sha256:00ff", "localhost:5000/aro-operator"),
        ("arosvc.azurecr.io/aro-operator:v1@sha256:00ff", "arosvc.azurecr.io/aro-operator"),
        ("aro-operator", "aro-operator"),
    ] {
        assert_eq!(repository_of(image), repository, "{image}");
    }
}

#[test]
fn no_container_writes_to_its_image() {
    for restricted in [true, false] {
        let settings = Settings { restricted, ..settings(managed()) };
        let all = objects(&settings);
        let deployments = all.iter().filter(|object| object["kind"] == "Deployment");
        let read_only = deployments.map(|deployment| {
            &deployment["spec"]["template"]["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
        });
        assert_eq!(read_only.collect::<Vec<_>>(), [true, true], "{restricted}");
    }
}

#[test]
fn the_pull_secret_is_not_in_debug() {
    assert!(!format!("{:?}", settings(managed())).contains("auths"));
}
