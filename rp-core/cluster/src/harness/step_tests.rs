//! Steps against the API server in memory.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Clock as _, Secret, SystemClock};
use rp_documents::cluster::ClusterSecret;
use serde_json::{Value, json};

use super::Cloud;
use super::{DOCUMENT, World, assets};
use crate::context::Context;
use crate::environment::Periods;
use crate::errors::StepError;
use crate::installer::InstallState;
use crate::manager::Operation;
use crate::resources::registry;
use crate::step::ConditionStatus;
use crate::templates::storage;
use crate::{
    certificates, cluster_data, conditions, credentials, day_one, diagnostics, graph, install, kubeconfigs,
    machine_config, values,
};

async fn ready() -> (World, Context) {
    let world = World::alone();
    world.api.is_up();
    let context = world.context(Operation::Create);
    context.set("/properties/networkProfile/privateEndpointIp", "10.0.0.5").await.unwrap();
    values::ensure_infra_id(&context).await.unwrap();
    kubeconfigs::write(&context, &assets::state("word")).await.unwrap();
    (world, context)
}

/// A cluster whose account of its state is there.
pub(super) async fn in_azure() -> (World, Context, Cloud) {
    let cloud = Cloud::start().await;
    let world = World::new(Arc::clone(&cloud.clients), false, Periods::CONTRACT);
    let context = world.context(Operation::Create);
    values::ensure_storage_suffix(&context).await.unwrap();
    values::ensure_infra_id(&context).await.unwrap();
    values::ensure_ssh_key(&context).await.unwrap();
    let document = context.document();
    let account = storage::account_id(&document, &document.state_account());
    let container = |name: &str| format!("{account}/blobServices/default/containers/{name}");
    for id in [account.clone(), container("aro"), container("ignition")] {
        assert!(cloud.control.put(&id, json!({"location": "eastus"})), "{id}");
    }
    (world, context, cloud)
}

#[tokio::test]
async fn values_are_chosen_once() {
    let world = World::alone();
    let context = world.context(Operation::Create);
    for _ in 0..2 {
        values::ensure_infra_id(&context).await.unwrap();
        values::ensure_ssh_key(&context).await.unwrap();
        values::ensure_storage_suffix(&context).await.unwrap();
        values::populate_mtu_size(&context).await.unwrap();
    }
    let document = context.document();
    let again = world.context(Operation::Create);
    values::ensure_infra_id(&again).await.unwrap();
    values::ensure_storage_suffix(&again).await.unwrap();
    values::ensure_ssh_key(&again).await.unwrap();
    assert_eq!(*again.document(), *document);
    assert!(
        document.infra_id().starts_with("test-") && document.infra_id().len() == 10,
        "{}",
        document.infra_id()
    );
    let account = document.text_at("/properties/imageRegistryStorageAccountName");
    assert_eq!(account, format!("imageregistry{}", document.storage_suffix()));
    assert_eq!(document.at("/properties/networkProfile/mtuSize"), json!(1500));
    assert_eq!(document.envelope().unknown["future"], json!({"kept": true}));
    assert!(context.secret_bytes(ClusterSecret::SshKey).unwrap().unwrap().expose().starts_with(&[0x30]));
}

#[tokio::test]
async fn a_write_that_fails_leaves_the_document_in_memory_as_it_was() {
    let world = World::alone();
    let context = world.context(Operation::Create);
    world.progress.fail_write(true);
    assert!(matches!(values::ensure_infra_id(&context).await, Err(StepError::Progress(_))));
    assert_eq!(context.document().id(), DOCUMENT);
    values::ensure_infra_id(&context).await.unwrap();
    assert_eq!(serde_json::to_value(context.document().envelope()).unwrap(), world.progress.document());
}

#[tokio::test]
async fn the_kubeconfigs_are_signed_by_the_installers_authority() {
    let (world, context) = ready().await;
    let state = assets::state("the-installers-own");
    kubeconfigs::write(&context, &state).await.unwrap();
    let before = context.document();
    kubeconfigs::generate_kubeconfigs(&context).await.unwrap();
    assert_eq!(*context.document(), *before, "made once");

    let password = context.secret(ClusterSecret::KubeadminPassword).unwrap().unwrap();
    assert_eq!(password.expose(), "the-installers-own");
    let admin = context.secret(ClusterSecret::AdminKubeconfig).unwrap().unwrap();
    assert_eq!(admin.expose(), state.admin_kubeconfig().unwrap().expose(), "unchanged");
    let signer = state.admin_kubeconfig_signer().unwrap().certificate;
    for (secret, user, organisation, days, host) in [
        (ClusterSecret::ServiceKubeconfig, "system:aro-service", Some("system:masters"), 3650, "api-int"),
        (ClusterSecret::SreKubeconfig, "system:aro-sre", None, 3650, "api-int"),
        (ClusterSecret::UserAdminKubeconfig, "system:admin", None, 365, "api"),
    ] {
        let member = secret.member();
        let text = context.secret(secret).unwrap().unwrap();
        let file: Value = serde_json::from_str(text.expose()).unwrap();
        let cluster = &file["clusters"][0]["cluster"];
        assert_eq!(cluster["server"], format!("https://{host}.test.eastus.aroapp.io:6443"), "{member}");
        assert_eq!(cluster.get("certificate-authority-data").is_some(), host == "api-int", "{member}");
        let pem =
            STANDARD.decode(file["users"][0]["user"]["client-certificate-data"].as_str().unwrap()).unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).unwrap();
        let certificate = pem.parse_x509().unwrap();
        let subject = certificate.subject();
        assert_eq!(subject.iter_common_name().next().unwrap().as_str().unwrap(), user);
        let found = subject.iter_organization().next().map(|name| name.as_str().unwrap());
        assert_eq!(found, organisation, "{member}");
        let (_, signer_pem) = x509_parser::pem::parse_x509_pem(signer.as_bytes()).unwrap();
        let signer = signer_pem.parse_x509().unwrap();
        assert_eq!(certificate.issuer(), signer.subject());
        let key =
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &signer.public_key().subject_public_key.data);
        key.verify(certificate.tbs_certificate.as_ref(), &certificate.signature_value.data).unwrap();
        let usage = certificate.key_usage().unwrap().unwrap().value;
        assert!(usage.digital_signature() && usage.key_encipherment() && !usage.key_cert_sign());
        assert!(!certificate.is_ca() && certificate.raw_serial().len() == 8, "{member}");
        assert_eq!(certificate.validity().not_before, signer.validity().not_before);
        let left = certificate.validity().not_after.timestamp() - SystemClock.now().seconds();
        assert!((left - days * 86_400).abs() < 7200, "{member}: {left}");
        assert!(certificate.extended_key_usage().unwrap().unwrap().value.client_auth);
    }
    // TLS itself takes the pair, and the portal's reader the file.
    context.kube().unwrap();
    let target = world.api.target().unwrap();
    assert_eq!(target.server_name, "api-int.test.eastus.aroapp.io");
    rp_net::tls::install_provider();
    rp_net::tls::client_config(&target.ca_pem, Some(&target.admin), &[b"http/1.1"]).unwrap();
}

#[tokio::test]
async fn a_kubeconfig_that_ends_soon_is_made_anew_and_another_stays() {
    let (world, context, _cloud) = in_azure().await;
    graph::save(&context, &assets::state("word")).await.unwrap();
    kubeconfigs::generate_kubeconfigs(&context).await.unwrap();
    let user = ClusterSecret::UserAdminKubeconfig;
    let first = context.secret(user).unwrap().unwrap();
    kubeconfigs::fix_user_admin_kubeconfig(&context).await.unwrap();
    assert_eq!(context.secret(user).unwrap().unwrap().expose(), first.expose());
    for broken in ["", "no file", &first.expose().replace("https://api.", "https://api-int.")] {
        context.set_secret(user, broken.as_bytes()).await.unwrap();
        kubeconfigs::fix_user_admin_kubeconfig(&context).await.unwrap();
        let now = context.secret(user).unwrap().unwrap();
        assert!(now.expose().contains("https://api.test."), "{broken}");
    }
    let sre = context.document().text_at("/properties/aroSREKubeconfig");
    kubeconfigs::fix_sre_kubeconfig(&context).await.unwrap();
    assert_eq!(context.document().text_at("/properties/aroSREKubeconfig"), sre);
    assert!(world.runner.keeps_nothing());
}

#[tokio::test]
async fn the_installer_gets_the_document_open_and_an_unknown_installation_begins_again() {
    let world = World::alone().whole();
    let context = world.context(Operation::Create);
    values::ensure_ssh_key(&context).await.unwrap();
    install::run_installer(&context).await.unwrap();
    let begun = world.installer.begun.lock().clone().unwrap();
    let properties = &begun["openShiftCluster"]["properties"];
    assert_eq!(properties["servicePrincipalProfile"]["clientSecret"], "cluster-secret");
    assert!(STANDARD.decode(properties["sshKey"].as_str().unwrap()).unwrap().starts_with(&[0x30]));
    assert_ne!(
        context.document().text_at("/properties/servicePrincipalProfile/clientSecret"),
        "cluster-secret"
    );
    *world.installer.begun.lock() = None;
    *world.installer.away.lock() = true;
    let seen = install::installation_complete(&context).await.unwrap();
    assert_eq!(seen, ConditionStatus::not_yet("told to"), "it is asked again");
    let seen = install::installation_complete(&context).await.unwrap();
    assert!(matches!(seen, ConditionStatus::NotYet(_)));
    assert!(world.installer.begun.lock().is_some());
    *world.installer.ends.lock() = Some(InstallState::Failed {
        reason: "AzureRequestDisallowedByPolicy".to_owned(),
        message: "denied".to_owned(),
    });
    let error = install::installation_complete(&context).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("400: DeploymentFailed: : Deployment failed due to RequestDisallowedByPolicy.")
    );
    let reason = "AzureKeyBasedAuthenticationNotPermitted".to_owned();
    *world.installer.ends.lock() = Some(InstallState::Failed { reason, message: "denied".to_owned() });
    let error = install::installation_complete(&context).await.unwrap_err().to_string();
    assert!(
        error.contains("for more information. Details: : : Cluster creation failed because key"),
        "{error}"
    );
}

#[tokio::test]
async fn a_cluster_that_came_up_meets_every_condition_and_one_that_cannot_be_read_none() {
    let (world, context) = ready().await;
    macro_rules! look {
        ($expected:expr, $($condition:ident),+) => {$(
            assert_eq!(conditions::$condition(&context).await.unwrap() == ConditionStatus::Yes, $expected, stringify!($condition));
        )+};
    }
    look!(
        true,
        api_servers_ready,
        operator_console_ready,
        ingress_controller_ready,
        cluster_operators_have_settled,
        operator_console_exists,
        cluster_version_ready,
        minimum_worker_nodes_ready
    );
    world.api.fail(Some(503));
    look!(false, api_servers_ready);
    world.api.fail(Some(503));
    look!(false, minimum_worker_nodes_ready);
    let machines = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines";
    for at in 0..2 {
        let name = format!("worker-{at}");
        world.api.put(
            &format!("{machines}/{name}"),
            json!({"metadata": {"name": name, "labels": {"machine.openshift.io/cluster-api-machine-role": "worker"}},
                "status": {"phase": "Failed", "providerStatus": {"conditions": [{"message": "QuotaExceeded"}]}}}),
        );
    }
    let error = conditions::minimum_worker_nodes_ready(&context).await.unwrap_err();
    assert!(error.to_string().contains("error detected on machine worker-0."), "{error}");
    // One other may still start, and one is enough where one was asked for.
    context.set("/properties/workerProfiles/0/count", 1).await.unwrap();
    look!(true, minimum_worker_nodes_ready);
}

#[tokio::test]
async fn day_one_changes_what_it_must_and_a_second_time_nothing() {
    let (world, context) = ready().await;
    let encryption = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d";
    context.set("/properties/workerProfiles/0/diskEncryptionSetId", encryption).await.unwrap();
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    let key = "storageclass.kubernetes.io/is-default-class";
    let plain = json!({"metadata": {"name": "managed-csi", "annotations": {key: "true"}}});
    world.api.put(&format!("{classes}/managed-csi"), plain);
    let hub = "/apis/config.openshift.io/v1/operatorhubs/cluster";
    world.api.put(
        hub,
        json!({"metadata": {"name": "cluster"}, "spec": {"sources": [{"name": "mine", "disabled": false}]}}),
    );
    for round in 0..2 {
        day_one::update_console_branding(&context).await.unwrap();
        day_one::disable_samples(&context).await.unwrap();
        day_one::disable_operator_hub_sources(&context).await.unwrap();
        day_one::disable_updates(&context).await.unwrap();
        day_one::configure_default_storage_class(&context).await.unwrap();
        day_one::remove_azure_file_storage_class(&context).await.unwrap();
        let writes = world.api.take_writes();
        assert_eq!(writes.len(), if round == 0 { 7 } else { 0 }, "{writes:?}");
    }
    let get = |path: &str| world.api.get(path).unwrap();
    assert_eq!(get(hub)["spec"]["sources"].as_array().unwrap().len(), 5);
    let version = get("/apis/config.openshift.io/v1/clusterversions/version");
    assert_eq!(version["spec"], json!({"clusterID": "kept"}));
    let class = get(&format!("{classes}/managed-csi-encrypted-cmk"));
    assert_eq!(class["parameters"]["diskEncryptionSetID"], encryption);
    assert_eq!(get(&format!("{classes}/managed-csi"))["metadata"]["annotations"][key], "false");

    cluster_data::update_cluster_data(&context).await.unwrap();
    let document = context.document();
    assert_eq!(
        document.text_at("/properties/apiserverProfile/url"),
        "https://api.test.eastus.aroapp.io:6443/"
    );
    let console = "https://console-openshift-console.apps.test.eastus.aroapp.io/";
    assert_eq!(document.text_at("/properties/consoleProfile/url"), console);
    assert_eq!(document.text_at("/properties/networkProfile/softwareDefinedNetwork"), "OVNKubernetes");
}

#[tokio::test(start_paused = true)]
async fn certificates_are_ordered_once_and_placed() {
    let (world, context) = ready().await;
    for _ in 0..2 {
        certificates::create_certificates(&context).await.unwrap();
    }
    assert_eq!(world.certificates.orders(), 2);
    let ordered = world.certificates.0.lock().clone();
    let names: Vec<&String> = ordered.keys().collect();
    assert_eq!(names, [&format!("{DOCUMENT}-apiserver"), &format!("{DOCUMENT}-ingress")]);
    certificates::configure_api_server_certificate(&context).await.unwrap();
    certificates::configure_ingress_certificate(&context).await.unwrap();
    let server = world.api.get("/apis/config.openshift.io/v1/apiservers/cluster").unwrap();
    assert_eq!(
        server["spec"]["servingCerts"]["namedCertificates"],
        json!([{"names": ["api.test.eastus.aroapp.io"], "servingCertificate": {"name": format!("{DOCUMENT}-apiserver")}}])
    );
    let secret =
        world.api.get(&format!("/api/v1/namespaces/openshift-ingress/secrets/{DOCUMENT}-ingress")).unwrap();
    assert_eq!(secret["type"], "kubernetes.io/tls");
    world.api.take_writes();
    certificates::configure_ingress_certificate(&context).await.unwrap();
    assert_eq!(world.api.take_writes(), Vec::<String>::new());

    let issuer = |issuer: &str| json!({"issuer": {"name": issuer}});
    world.certificates.set(&format!("{DOCUMENT}-ingress"), issuer("Old"));
    for _ in 0..2 {
        certificates::correct_certificate_issuer(&context).await.unwrap();
    }
    assert_eq!(world.certificates.orders(), 3, "that one anew, once");
    let ordered = world.certificates.0.lock().clone();
    assert!(
        ordered.values().all(|(policy, _)| policy["issuer"]["name"] == "OneCertV2-PublicCA"),
        "{ordered:?}"
    );
    // A run that ended while it waited: what it ordered is waited for, so that the old one is not placed.
    world.certificates.0.lock().values_mut().for_each(|(_, looks)| *looks = 0);
    certificates::correct_certificate_issuer(&context).await.unwrap();
    assert!(world.certificates.0.lock().values().all(|(_, looks)| *looks > 0));
    assert_eq!(world.certificates.orders(), 3);
    certificates::delete_certificates(&context).await.unwrap();
    assert!(world.certificates.0.lock().is_empty());

    context.set("/properties/clusterProfile/domain", "aro.example.com").await.unwrap();
    certificates::create_certificates(&context).await.unwrap();
    assert!(world.certificates.0.lock().is_empty(), "a domain of the customer's own");
}

#[tokio::test]
async fn a_new_password_of_the_registry_reaches_the_pull_secret_and_leaves_what_is_the_customers() {
    let (world, context) = ready().await;
    let path = "/api/v1/namespaces/openshift-config/secrets/pull-secret";
    let config = || {
        let data = world.api.get(path).unwrap()["data"][".dockerconfigjson"].clone();
        let bytes = STANDARD.decode(data.as_str().unwrap()).unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let put = |kind: &str, config: Value| {
        let data = json!({".dockerconfigjson": STANDARD.encode(config.to_string())});
        world.api.put(path, json!({"metadata": {"name": "pull-secret"}, "type": kind, "data": data}));
    };
    let host = context.env.registry_host.clone();
    let place = async |password: &str| {
        registry::write_credentials(&context, "token-a", &Secret::new(password.to_owned())).await.unwrap();
        assert_eq!(config()["auths"][&host]["auth"], STANDARD.encode(format!("token-a:{password}")));
    };
    // None, one with the customer's own, one that is no configuration, one of another type.
    place("one").await;
    put("kubernetes.io/dockerconfigjson", json!({"auths": {"quay.io": {"auth": "x"}}, "more": 1}));
    place("two").await;
    assert_eq!((&config()["auths"]["quay.io"]["auth"], &config()["more"]), (&json!("x"), &json!(1)));
    world.api.take_writes();
    place("two").await;
    assert_eq!(world.api.take_writes(), Vec::<String>::new(), "it is there already");
    put("kubernetes.io/dockerconfigjson", json!([1]));
    place("three").await;
    world.api.take_writes();
    put("Opaque", json!({}));
    place("four").await;
    assert_eq!(world.api.take_writes().len(), 2, "a type cannot change: it is deleted and made anew");
}

#[tokio::test]
async fn a_new_secret_of_the_principal_reaches_its_users() {
    let (world, context) = ready().await;
    let config = STANDARD.encode("aadClientId: old\naadClientSecret: old\n");
    let provider = "/api/v1/namespaces/kube-system/secrets/azure-cloud-provider";
    world.api.put(
        provider,
        json!({"metadata": {"name": "azure-cloud-provider"}, "data": {"cloud-config": config}}),
    );
    let server = "/apis/operator.openshift.io/v1/kubeapiservers/cluster";
    world.api.put(server, json!({"metadata": {"name": "cluster"}, "spec": {}}));
    let pods = "/api/v1/namespaces/openshift-cloud-credential-operator/pods";
    let pod = json!({"metadata": {"name": "p", "labels": {"app": "cloud-credential-operator"}}});
    world.api.put(&format!("{pods}/p"), pod);
    credentials::update_openshift_secret(&context).await.unwrap();
    credentials::update_aro_secret(&context).await.unwrap();
    let secret = world.api.get("/api/v1/namespaces/kube-system/secrets/azure-credentials").unwrap();
    assert_eq!(secret["data"]["azure_client_secret"], STANDARD.encode("cluster-secret"));
    assert!(world.api.get(&format!("{pods}/p")).is_none());
    let reason = world.api.get(server).unwrap()["spec"]["forceRedeploymentReason"].clone();
    assert!(reason.as_str().unwrap().starts_with("Credential rotation 2"), "{reason}");
    world.api.take_writes();
    credentials::update_aro_secret(&context).await.unwrap();
    assert_eq!(world.api.take_writes(), Vec::<String>::new());
    // A run that ended after the secret was written: its users hear of that change, not of another.
    let mut secret = world.api.get(provider).unwrap();
    secret["metadata"]["annotations"].as_object_mut().unwrap().remove("aro.openshift.io/credentials-heard");
    world.api.put(provider, secret);
    world.api.put(server, json!({"metadata": {"name": "cluster"}, "spec": {}}));
    for writes in [2, 0] {
        credentials::update_aro_secret(&context).await.unwrap();
        assert_eq!(world.api.take_writes().len(), writes);
        assert_eq!(world.api.get(server).unwrap()["spec"]["forceRedeploymentReason"], reason);
    }
}

#[tokio::test]
async fn servers_of_machine_configurations_begin_again_whenever_the_run_that_changed_them_ended() {
    let (world, context, _cloud) = in_azure().await;
    world.api.is_up();
    context.set("/properties/networkProfile/privateEndpointIp", "10.0.0.5").await.unwrap();
    graph::save(&context, &assets::state("word")).await.unwrap();
    kubeconfigs::generate_kubeconfigs(&context).await.unwrap();
    context.set("/properties/apiserverProfile/intIp", "10.0.0.4").await.unwrap();
    let namespace = "/api/v1/namespaces/openshift-machine-config-operator";
    let secret = format!("{namespace}/secrets/machine-config-server-tls");
    world
        .api
        .put(&secret, json!({"metadata": {"name": "machine-config-server-tls"}, "data": {"tls.crt": ""}}));
    let pod = |name: &str, began: &str| {
        let labels = json!({"k8s-app": "machine-config-server"});
        let pod = json!({"metadata": {"name": name, "labels": labels, "creationTimestamp": began}});
        world.api.put(&format!("{namespace}/pods/{name}"), pod);
    };
    let there = |name: &str| world.api.get(&format!("{namespace}/pods/{name}")).is_some();
    pod("old", "2020-01-01T00:00:00Z");
    pod("new", "2999-01-01T00:00:00Z");
    machine_config::fix_mcs_cert(&context).await.unwrap();
    assert!(!there("old") && there("new"));
    let placed = world.api.get(&secret).unwrap();
    assert!(!placed["data"]["tls.key"].is_null());
    // It ended before all were deleted.
    pod("older", "2020-01-01T00:00:00Z");
    machine_config::fix_mcs_cert(&context).await.unwrap();
    assert!(!there("older") && there("new"));
    assert_eq!(world.api.get(&secret).unwrap(), placed, "the certificate stays");
}

#[tokio::test]
async fn diagnostics_tell_what_can_be_seen_and_end_in_time() {
    let (world, context) = ready().await;
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, diagnostics::gather(&context)).await.unwrap();
    let told = world.progress.diagnostics();
    let find = |name: &str| {
        told.iter().find(|text| text.starts_with(name)).unwrap_or_else(|| panic!("{name}: {told:?}"))
    };
    assert!(find("logNodes").contains("worker-0 - Ready: True"));
    assert!(
        find("logClusterOperators")
            .contains("console - Available: True, Progressing: False, Degraded: False")
    );
    assert!(find("logPodLogs").contains("there are none"));
    // Azure cannot be reached here: said, and no failure.
    assert!(find("LogVMSerialConsole").contains("could not be read"));
    assert!(told.iter().all(|text| !text.contains("cluster-secret") && !text.contains("PRIVATE KEY")));
}

#[tokio::test]
async fn defaults_are_filled_in_once() {
    let (world, context) = ready().await;
    world.progress.edit(|document| {
        let properties = &mut document["openShiftCluster"]["properties"];
        properties["networkProfile"]["outboundType"] = json!("");
        properties["networkProfile"]["loadBalancerProfile"] = Value::Null;
    });
    let context = world.context(context.operation);
    values::ensure_defaults(&context).await.unwrap();
    let document = context.document();
    assert_eq!(document.text_at("/properties/maintenanceTask"), "Everything");
    let count = "/properties/networkProfile/loadBalancerProfile/managedOutboundIps/count";
    assert_eq!(document.at(count), json!(1));
    let before = world.progress.document();
    world.progress.fail_write(true);
    values::ensure_defaults(&context).await.unwrap();
    assert_eq!(world.progress.document(), before, "nothing to write");
}
