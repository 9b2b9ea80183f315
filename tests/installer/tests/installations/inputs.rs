//! From a cluster's document to the installer's inputs.

use rp_install::manifests::{self, ManifestError, with_overrides};
use rp_install::{InputError, config};
use serde_json::{Value, json};

use tests_installer::inputs::{self, check, facts, facts_of, properties};

#[test]
fn the_install_config_is_the_same_as_ever() {
    let mut facts = facts();
    facts.ssh_key = "ssh-rsa AAAA".to_owned();
    check("install-config.yaml", config::install_config(&facts).expose());
}

#[test]
fn manifests_are_the_same_bytes_as_ever() {
    let ours = manifests::ours(&facts(), &"ab".repeat(64)).unwrap();
    let all: Vec<_> =
        ours.iter().map(|manifest| format!("# {}\n{}", manifest.path, manifest.contents())).collect();
    check("manifests.yaml", &all.join("---\n"));
}

#[test]
fn issuer_and_samples_follow_the_document() {
    let objects = |change: &dyn Fn(&mut rp_install::InstallFacts)| {
        let mut facts = facts();
        change(&mut facts);
        let ours = manifests::ours(&facts, &"ab".repeat(64)).unwrap();
        let spec = |path: &str| {
            let found = ours.iter().find(|manifest| manifest.path == path)?;
            assert!(!found.unmanaged, "{path}: an operator of the cluster keeps it");
            Some((found.object["kind"].clone(), found.object["spec"].clone()))
        };
        (
            spec("manifests/cluster-authentication-02-config.yaml"),
            spec("manifests/cluster-config-samples.yaml"),
        )
    };
    let issuer = "https://oidc.example/tenant/cluster";
    let (authentication, samples) = objects(&|facts| {
        facts.oidc_issuer = Some(issuer.to_owned());
        facts.has_pull_secret = false;
    });
    assert_eq!(authentication, Some((json!("Authentication"), json!({ "serviceAccountIssuer": issuer }))));
    assert_eq!(samples, Some((json!("Config"), json!({ "managementState": "Removed" }))));
    let (authentication, samples) = objects(&|facts| {
        facts.oidc_issuer = None;
        facts.has_pull_secret = true;
    });
    assert_eq!((authentication, samples), (None, None));
}

#[test]
fn the_config_follows_the_document() {
    let value = |change: &dyn Fn(&mut Value), pointer: &str| {
        let mut properties = properties();
        change(&mut properties);
        let config = config::install_config(&facts_of(&properties, None).unwrap());
        let config: Value = serde_json::from_str(config.expose()).unwrap();
        config.pointer(pointer).cloned().unwrap_or_default()
    };
    let cases: [(&str, Value, &str, Value); 7] = [
        ("/ingressProfiles/0/visibility", json!("Public"), "/publish", json!("External")),
        ("/clusterProfile/domain", json!("a.example.com"), "/baseDomain", json!("example.com")),
        ("/clusterProfile/domain", json!("a.example.com"), "/metadata/name", json!("a")),
        ("/clusterProfile/fipsValidatedModules", json!("Enabled"), "/fips", json!(true)),
        (
            "/networkProfile/outboundType",
            json!("UserDefinedRouting"),
            "/platform/azure/outboundType",
            json!("UserDefinedRouting"),
        ),
        (
            "/networkProfile/softwareDefinedNetwork",
            json!(""),
            "/networking/networkType",
            json!("OVNKubernetes"),
        ),
        ("/workerProfiles/0/count", json!(7), "/compute/0/replicas", json!(7)),
    ];
    for (member, given, pointer, expected) in cases {
        let found = value(&|all| *all.pointer_mut(member).unwrap() = given.clone(), pointer);
        assert_eq!(found, expected, "{member} = {given}");
    }
    let workload_identity = value(
        &|all| all["platformWorkloadIdentityProfile"] = json!({ "platformWorkloadIdentities": {} }),
        "/credentialsMode",
    );
    assert_eq!(workload_identity, json!("Manual"));
    assert_eq!(value(&|_| {}, "/credentialsMode"), Value::Null);
}

#[test]
fn the_pull_secret_is_the_services_with_the_customers_over_it() {
    let customer = json!({ "auths": {
        "quay.io": { "auth": "YTpi", "email": "x" }, "cloud.openshift.com": { "auth": "YTpi" },
        "arosvc.azurecr.io": { "auth": "YTpi" },
    }, "credsStore": "s" });
    let facts = facts_of(&properties(), Some(&customer.to_string())).unwrap();
    let merged: Value = serde_json::from_str(facts.pull_secret.to_json().expose()).unwrap();
    let expected = json!({ "auths": {
        "arosvc.azurecr.io": { "auth": "dG9rZW46d29yZA==" }, "quay.io": { "auth": "YTpi", "email": "x" },
    }, "credsStore": "s" });
    assert_eq!(merged, expected);
    let names = |facts: &rp_install::InstallFacts| {
        let all = manifests::ours(facts, "x").unwrap();
        all.into_iter().map(|manifest| manifest.path).collect::<Vec<_>>()
    };
    let samples = "manifests/cluster-config-samples.yaml".to_owned();
    assert!(names(&inputs::facts()).contains(&samples) && !names(&facts).contains(&samples));
}

#[test]
fn wrong_inputs_are_named_and_their_values_are_not_shown() {
    let hostile = "SECRET\nnameserver=1.2.3.4";
    for (member, given, text) in [
        ("/apiserverProfile/intIp", json!(""), "properties.apiserverProfile.intIp is missing"),
        (
            "/apiserverProfile/intIp",
            json!(hostile),
            "properties.apiserverProfile.intIp is not an IPv4 address",
        ),
        ("/ingressProfiles", json!([]), "properties.ingressProfiles is missing"),
        ("/workerProfiles", json!([]), "properties.workerProfiles is missing"),
        ("/infraId", json!(""), "properties.infraId is missing"),
        (
            "/clusterProfile/domain",
            json!(hostile),
            "properties.clusterProfile.domain: label 1 of the domain name has",
        ),
        (
            "/masterProfile/subnetId",
            json!("/x"),
            "properties.masterProfile.subnetId is not the resource id of a subnet",
        ),
        (
            "/masterProfile/diskEncryptionSetId",
            json!(hostile),
            "properties.masterProfile.diskEncryptionSetId is not",
        ),
        ("/masterProfile/vmSize", json!(hostile), "vmSize is not a size that the region offers"),
        (
            "/networkProfile/podCidr",
            json!(hostile),
            "properties.networkProfile.podCidr is not an IPv4 network",
        ),
        (
            "/networkProfile/serviceCidr",
            json!("1.2.3.4/33"),
            "properties.networkProfile.serviceCidr is not an IPv4",
        ),
    ] {
        let mut properties = properties();
        *properties.pointer_mut(member).unwrap() = given;
        let error = facts_of(&properties, None).unwrap_err().to_string();
        assert!(error.starts_with(text) && !error.contains("SECRET"), "{member}: {error}");
    }
    let error = facts_of(&properties(), Some("SECRET")).unwrap_err();
    assert!(matches!(error, InputError::PullSecret(_)) && !error.to_string().contains("SECRET"));
}

#[test]
fn custom_manifests_are_left_alone_by_the_cluster() {
    let secret = |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": "n" } });
    let custom = manifests::custom(vec![
        ("a.yaml".to_owned(), secret("a")),
        ("b.yml".to_owned(), json!({ "apiVersion": "g.io/v1", "kind": "K", "metadata": { "name": "b" } })),
    ])
    .unwrap();
    let before = json!({ "kind": "ClusterVersion", "spec": { "channel": "stable-4.20", "clusterID": "c" } });
    let after = with_overrides(before, &custom);
    let expected = json!({ "kind": "ClusterVersion", "spec": { "channel": "stable-4.20", "clusterID": "c", "overrides": [
        { "group": "", "kind": "Secret", "namespace": "n", "name": "a", "unmanaged": true },
        { "group": "g.io", "kind": "K", "namespace": "", "name": "b", "unmanaged": true },
    ] } });
    assert_eq!(after, expected);
    assert_eq!(with_overrides(after, &custom), expected);
    for (name, object, error) in [
        ("../a.yaml", secret("x"), ManifestError::Name { name: "../a.yaml".to_owned() }),
        ("a.json", secret("x"), ManifestError::Name { name: "a.json".to_owned() }),
        ("x.yaml", json!([]), ManifestError::NoObject { name: "x.yaml".to_owned() }),
        ("x.yaml", secret("a"), ManifestError::Twice { identity: "Secret. n/a".to_owned() }),
    ] {
        let files = vec![("a.yaml".to_owned(), secret("a")), (name.to_owned(), object)];
        assert_eq!(manifests::custom(files), Err(error));
    }
}
