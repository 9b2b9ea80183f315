//! The deployment against the API server in memory.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_documents::cluster::ClusterSecret;
use serde_json::{Value, json};

use super::*;
use crate::harness::World;
use crate::manager::Operation;
use crate::plan;
use crate::step::ConditionStatus;

const MASTER: &str = "/apis/apps/v1/namespaces/openshift-azure-operator/deployments/aro-operator-master";
const NAMESPACE_PATH: &str = "/api/v1/namespaces/openshift-azure-operator";

/// A cluster that came up, with everything in its document that the operator needs.
async fn ready() -> (World, Context) {
    ready_with(false).await
}

async fn ready_with(workload_identity: bool) -> (World, Context) {
    let azure = std::sync::Arc::new(crate::harness::UnreachableAzure);
    let world = World::new(azure, workload_identity, crate::Periods::CONTRACT);
    world.api.is_up();
    let context = world.context(Operation::Create);
    fill(&context).await;
    let token = kubeconfig();
    context.set_secret(ClusterSecret::ServiceKubeconfig, token.as_bytes()).await.unwrap();
    (world, context)
}

/// Writes into the document what the operator needs.
pub(super) async fn fill(context: &Context) {
    for (pointer, value) in [
        ("/properties/networkProfile/privateEndpointIp", "10.0.0.5"),
        ("/properties/infraId", "test-x7k2p"),
        ("/properties/storageSuffix", "bcdfghjklm"),
        ("/properties/imageRegistryStorageAccountName", "imageregistrybcdfghjklm"),
        ("/properties/apiserverProfile/intIp", "10.0.0.254"),
        ("/properties/ingressProfiles/0/ip", "203.0.113.9"),
    ] {
        context.set(pointer, value).await.unwrap();
    }
}

/// A kubeconfig that is only parsed.
fn kubeconfig() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let authority = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap().pem();
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://api-int.test.eastus.aroapp.io:6443",
            "certificate-authority-data": STANDARD.encode(authority)}}],
        "users": [{"name": "u", "user": {"token": "word"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    })
    .to_string()
}

fn cluster(world: &World) -> Value {
    world.api.get(CLUSTER).unwrap()
}

#[tokio::test]
async fn the_cluster_object_says_what_the_document_and_the_service_say() {
    let (_, context) = ready().await;
    context.set("/properties/operatorFlags", json!({"aro.dnsmasq.enabled": "false"})).await.unwrap();
    let subscription = format!("/subscriptions/{}", crate::harness::SUBSCRIPTION);
    let own = format!("/subscriptions/{}/resourceGroups", crate::harness::RP_SUBSCRIPTION);
    let network = "providers/Microsoft.Network/virtualNetworks";
    let mut expected = json!({
        "resourceId": format!("{subscription}/resourceGroups/customer/providers/Microsoft.RedHatOpenShift/openShiftClusters/Test"),
        "clusterResourceGroupId": format!("{subscription}/resourceGroups/aro-test"),
        "domain": "test.eastus.aroapp.io", "acrDomain": "arosvc.azurecr.io", "azEnvironment": "AzurePublicCloud",
        "location": "eastus", "infraId": "test-x7k2p", "storageSuffix": "bcdfghjklm", "architectureVersion": 1,
        "genevaLogging": {},
        "internetChecker": {"urls": ["https://arosvc.azurecr.io/", "https://login.microsoftonline.com/",
            "https://management.azure.com/", "https://gcs.prod.monitoring.core.windows.net/"]},
        "vnetId": format!("{subscription}/resourceGroups/customer/{network}/vnet"),
        "apiIntIP": "10.0.0.254", "ingressIP": "203.0.113.9",
        "gatewayDomains": [], "gatewayTelemetryDomain": "", "gatewayPrivateEndpointIP": "",
        "serviceSubnets": [format!("{own}/rp-eastus/{network}/rp-pe-vnet-001/subnets/rp-pe-subnet"),
            format!("{own}/rp-eastus/{network}/rp-vnet/subnets/rp-subnet")],
        "operatorflags": {"aro.dnsmasq.enabled": "false", "aro.environment": "int"},
    });
    assert_eq!(values::cluster_object(&context).unwrap()["spec"], expected);

    context.set("/properties/featureProfile/gatewayEnabled", true).await.unwrap();
    context.set("/properties/networkProfile/gatewayPrivateEndpointIp", "10.9.0.4").await.unwrap();
    context.set("/properties/operatorFlags/aro.environment", "stage").await.unwrap();
    expected["gatewayDomains"] = json!(["gcs.example", "imageregistrybcdfghjklm.blob.core.windows.net"]);
    expected["gatewayTelemetryDomain"] = json!("telemetry.eastus.aro.azure.com");
    expected["gatewayPrivateEndpointIP"] = json!("10.9.0.4");
    let gateway = format!("{own}/gwy-eastus/{network}/gateway-vnet/subnets/gateway-subnet");
    expected["serviceSubnets"].as_array_mut().unwrap().push(json!(gateway));
    expected["operatorflags"]["aro.environment"] = json!("stage");
    assert_eq!(values::cluster_object(&context).unwrap()["spec"], expected);
}

#[tokio::test]
async fn the_ingress_is_the_default_one_or_the_only_one_and_has_an_address() {
    let (_, context) = ready().await;
    let of = async |profiles: Value| {
        context.set("/properties/ingressProfiles", profiles).await.unwrap();
        let made = values::cluster_object(&context);
        made.map(|cluster| cluster["spec"]["ingressIP"].clone()).map_err(|error| error.to_string())
    };
    assert_eq!(of(json!([{"name": "other", "ip": "192.0.2.1"}])).await, Ok(json!("192.0.2.1")));
    let two = json!([{"name": "other", "ip": "192.0.2.1"}, {"name": "default", "ip": "192.0.2.2"}]);
    assert_eq!(of(two).await, Ok(json!("192.0.2.2")));
    assert_eq!(of(json!([])).await, Err("no Ingress Profiles found".to_owned()));
    assert_eq!(of(json!([{"name": "default"}])).await, Err("ingress IP is empty".to_owned()));
}

#[tokio::test]
async fn the_image_is_the_documents_else_the_settings_else_this_softwares() {
    let (mut world, context) = ready().await;
    assert_eq!(values::image(&context), "arosvc.azurecr.io/aro-operator:abc1234");
    let tag = context.set("/properties/operatorVersion", "v20261127.1").await.unwrap();
    assert_eq!(tag.text_at("/properties/operatorVersion"), "v20261127.1");
    assert_eq!(values::image(&context), "arosvc.azurecr.io/aro-operator:v20261127.1");
    let digest = format!("sha256:{}", "0f".repeat(32));
    context.set("/properties/operatorVersion", digest.as_str()).await.unwrap();
    let image = values::image(&context);
    assert_eq!(image, format!("arosvc.azurecr.io/aro-operator@{digest}"));
    assert_eq!(deployment::version_label(&image), &"0f".repeat(32)[..63]);
    drop(context);
    world = world.with(|env| env.operator.image = "localhost:5000/aro-operator:mine".to_owned());
    world.progress.edit(|document| {
        document["openShiftCluster"]["properties"]["operatorVersion"] = json!("");
    });
    let context = world.context(Operation::AdminUpdate);
    assert_eq!(values::image(&context), "localhost:5000/aro-operator:mine");
    // Another version is of the same image.
    context.set("/properties/operatorVersion", "next").await.unwrap();
    assert_eq!(values::image(&context), "localhost:5000/aro-operator:next");
}

#[tokio::test]
async fn a_second_installation_writes_nothing() {
    let (world, context) = ready().await;
    world.api.take_writes();
    install(&context).await.unwrap();
    let writes = world.api.take_writes();
    assert!(writes[0].ends_with("/customresourcedefinitions/clusters.aro.openshift.io"), "{writes:?}");
    assert_eq!(writes[writes.len() - 2..], [CLUSTER.to_owned(), pull_secret_path()]);
    let owner = &world.api.get(&pull_secret_path()).unwrap()["metadata"]["ownerReferences"];
    assert_eq!(owner[0]["uid"], cluster(&world)["metadata"]["uid"]);
    assert_eq!((owner.as_array().unwrap().len(), &owner[0]["controller"]), (1, &json!(true)));
    install(&context).await.unwrap();
    update(&context).await.unwrap();
    sync_cluster_object(&context).await.unwrap();
    ensure_credentials_request(&context).await.unwrap();
    assert_eq!(world.api.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn the_pull_secret_has_the_services_registries_and_the_clusters_own() {
    let (world, context) = ready().await;
    let place = ClusterSecret::RegistryPassword(0).place(context.document().id());
    let password = context.env.keyring.seal(b"secret", &place).unwrap().0;
    let profiles = json!([{"name": "arosvc.azurecr.io", "username": "token-1", "password": password},
        {"name": "without.example", "username": "token-2"}]);
    context.set("/properties/registryProfiles", profiles).await.unwrap();
    install(&context).await.unwrap();
    let secret = world.api.get(&pull_secret_path()).unwrap();
    let config = STANDARD.decode(secret["data"][".dockerconfigjson"].as_str().unwrap()).unwrap();
    let config: Value = serde_json::from_slice(&config).unwrap();
    let expected = json!({"auths": {"registry.example": {"auth": "dXNlcjpwYXNz"},
        "arosvc.azurecr.io": {"auth": STANDARD.encode("token-1:secret")}}});
    assert_eq!(config, expected);
    // A rotation leaves the rest of it as it is.
    world.api.put(NAMESPACE_PATH, json!({"metadata": {"name": "openshift-azure-operator"}}));
    update_pull_secret(&context, &Kube::connect(&context).unwrap()).await.unwrap();
    assert_eq!(world.api.take_writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_managed_identity_brings_its_secret_and_without_it_nothing_is_applied() {
    let (world, context) = ready_with(true).await;
    world.api.take_writes();
    let error = install(&context).await.unwrap_err();
    assert_eq!(error.to_string(), "operator identity aro-operator not found");
    assert_eq!(world.api.take_writes(), Vec::<String>::new());
    let identity = json!({"aro-operator": {"resourceId": "/x", "clientId": "client-1"}});
    let path = "/properties/platformWorkloadIdentityProfile/platformWorkloadIdentities";
    context.set(path, identity).await.unwrap();
    install(&context).await.unwrap();
    let secret = world.api.get(&format!("{NAMESPACE_PATH}/secrets/azure-cloud-credentials")).unwrap();
    assert_eq!(secret["data"]["azure_client_id"], STANDARD.encode("client-1"));
    let pod = &world.api.get(MASTER).unwrap()["spec"]["template"]["spec"];
    let volumes: Vec<_> = pod["volumes"].as_array().unwrap().iter().map(|volume| &volume["name"]).collect();
    assert_eq!(volumes, ["metrics-certificate", "bound-sa-token"]);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "4.17 restricts pods");
}

#[tokio::test]
async fn a_synchronisation_keeps_what_others_wrote() {
    let (world, context) = ready().await;
    install(&context).await.unwrap();
    let mut found = cluster(&world);
    found["metadata"]["annotations"] = json!({"aro.openshift.io/lastSubnetReconcileTimestamp": "t"});
    found["spec"]["banner"] = json!({"content": "ContactSupport"});
    found["status"] = json!({"operatorVersion": "abc1234"});
    world.api.put(CLUSTER, found.clone());
    context.set("/properties/operatorFlags", json!({"aro.checker.enabled": "false"})).await.unwrap();
    sync_cluster_object(&context).await.unwrap();
    let after = cluster(&world);
    assert_eq!(after["spec"]["operatorflags"]["aro.checker.enabled"], "false");
    for pointer in ["/metadata/annotations", "/spec/banner", "/status"] {
        assert_eq!(after.pointer(pointer), found.pointer(pointer), "{pointer}");
    }
    let object = values::cluster_object(&context).unwrap();
    assert!(object["spec"].get("banner").is_none() && object["metadata"].get("annotations").is_none());
}

#[tokio::test]
async fn forced_reconciliation_is_a_flag_of_the_object_only() {
    let (world, context) = ready().await;
    let missing = enable_reconciliation(&context).await.unwrap_err().to_string();
    assert_eq!(missing, "the Cluster object of the operator is not there");
    install(&context).await.unwrap();
    let before = context.document();
    enable_reconciliation(&context).await.unwrap();
    assert_eq!(cluster(&world)["spec"]["operatorflags"]["aro.forcereconciliation"], "true");
    disable_reconciliation(&context).await.unwrap();
    assert_eq!(cluster(&world)["spec"]["operatorflags"]["aro.forcereconciliation"], "false");
    assert_eq!(*context.document(), *before);
}

/// What a condition waits for; empty: it is met.
fn waits_for(status: Result<ConditionStatus, StepError>) -> String {
    match status.unwrap() {
        ConditionStatus::Yes => String::new(),
        ConditionStatus::NotYet(text) => text,
    }
}

#[tokio::test]
async fn it_is_ready_when_both_deployments_are_rolled_out() {
    let (world, context) = ready().await;
    let look = async || waits_for(aro_deployment_ready(&context).await);
    assert_eq!(look().await, "there is no Deployment aro-operator-master yet");
    install(&context).await.unwrap();
    assert_eq!(look().await, "");
    let mut master = world.api.get(MASTER).unwrap();
    master["status"]["availableReplicas"] = json!(0);
    world.api.put(MASTER, master.clone());
    let pod = format!("{NAMESPACE_PATH}/pods/aro-operator-master-pod");
    let mut waiting = world.api.get(&pod).unwrap();
    let state = json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}});
    waiting["status"] =
        json!({"phase": "Pending", "containerStatuses": [{"name": "aro-operator", "state": state}]});
    world.api.put(&pod, waiting);
    let expected = "Deployment aro-operator-master: 1 pods of 1, 1 updated, 0 available; pod aro-operator-master-pod \
                    waits: ImagePullBackOff: no such image";
    assert_eq!(look().await, expected);
    master["status"]["availableReplicas"] = json!(1);
    master["metadata"]["generation"] = json!(9);
    world.api.put(MASTER, master);
    assert!(look().await.starts_with("Deployment aro-operator-master: "));
    world.api.fail(Some(503));
    assert!(!look().await.is_empty(), "what cannot be read is not ready");
}

#[tokio::test]
async fn every_pod_runs_the_desired_version() {
    let (world, context) = ready().await;
    install(&context).await.unwrap();
    let look = async || waits_for(running_desired_version(&context).await);
    assert_eq!(look().await, "");
    let pods = format!("{NAMESPACE_PATH}/pods");
    let mut old = world.api.get(&format!("{pods}/aro-operator-worker-pod")).unwrap();
    old["spec"]["containers"][0]["image"] = json!("elsewhere.example/aro-operator:abc1234");
    world.api.put(&format!("{pods}/old"), old.clone());
    assert!(look().await.contains(
        "has image elsewhere.example/aro-operator:abc1234, not arosvc.azurecr.io/aro-operator:abc1234"
    ));
    old["status"]["phase"] = json!("Failed");
    world.api.put(&format!("{pods}/old"), old);
    assert_eq!(look().await, "", "a pod that ended runs nothing");
    context.set("/properties/operatorVersion", "next").await.unwrap();
    let expected = "Deployment aro-operator-master has version \"abc1234\", not \"next\"";
    assert_eq!(look().await, expected);
    update(&context).await.unwrap();
    assert_eq!(look().await, "");
}

#[tokio::test]
async fn without_ingress_profiles_the_operator_is_left_as_it_is() {
    let (world, context) = ready().await;
    context.set("/properties/ingressProfiles", json!([])).await.unwrap();
    world.api.take_writes();
    update(&context).await.unwrap();
    restart_master(&context).await.unwrap();
    assert_eq!(waits_for(aro_deployment_ready(&context).await), "");
    assert_eq!(waits_for(running_desired_version(&context).await), "");
    assert_eq!(world.api.take_writes(), Vec::<String>::new());
    let skipped = world.progress.take_events().iter().filter(|event| event.contains("skip ")).count();
    assert_eq!(skipped, 4);
    assert!(sync_cluster_object(&context).await.is_err());
}

#[tokio::test]
async fn a_restart_changes_the_pods_and_nothing_else_of_the_deployment() {
    let (world, context) = ready().await;
    let missing = restart_master(&context).await.unwrap_err().to_string();
    assert!(missing.contains("aro-operator-master") && missing.contains("OperatorUpdate"), "{missing}");
    install(&context).await.unwrap();
    let before = world.api.get(MASTER).unwrap();
    restart_master(&context).await.unwrap();
    let mut after = world.api.get(MASTER).unwrap();
    let annotations = after["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("annotations");
    assert!(annotations.unwrap()["kubectl.kubernetes.io/restartedAt"].is_string());
    assert_eq!(after["spec"], before["spec"]);
}

#[tokio::test]
async fn credentials_are_there_when_nothing_changed_or_they_were_handed_out_anew() {
    let (world, context) = ready().await;
    let look = async || waits_for(aro_credentials_request_reconciled(&context).await);
    assert_eq!(look().await, "", "there is no secret to compare with");
    let provider = |text: &str| {
        let data = json!({"cloud-config": STANDARD.encode(text)});
        let object = json!({"metadata": {"name": "azure-cloud-provider"}, "data": data});
        world.api.put(crate::credentials::CLOUD_PROVIDER, object);
    };
    let client = crate::harness::PRINCIPAL;
    provider(&format!("aadClientId: {client}\naadClientSecret: cluster-secret\n"));
    assert_eq!(look().await, "");
    provider(&format!("aadClientId: {client}\naadClientSecret: old\n"));
    assert_eq!(look().await, "there is no CredentialsRequest of the operator yet");
    ensure_credentials_request(&context).await.unwrap();
    assert_eq!(look().await, "credentials were not handed out yet");
    let path = crate::kube_api::path_of(&deployment::credentials_request());
    let mut request = world.api.get(&path).unwrap();
    request["status"]["lastSyncTimestamp"] = json!("2020-01-01T00:00:00Z");
    world.api.put(&path, request.clone());
    assert!(look().await.starts_with("credentials were handed out at 2020"));
    request["status"]["lastSyncTimestamp"] = json!(context.env.clock.now());
    world.api.put(&path, request);
    assert_eq!(look().await, "");
    provider("aadClientId: x\n");
    world.api.fail(Some(403));
    assert!(aro_credentials_request_reconciled(&context).await.is_err());
}

#[tokio::test]
async fn a_binding_of_an_older_operator_is_made_anew() {
    let (world, context) = ready().await;
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/aro-operator-master";
    let old =
        json!({"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"});
    world.api.put(path, json!({"metadata": {"name": "aro-operator-master"}, "roleRef": old}));
    install(&context).await.unwrap();
    assert_eq!(world.api.get(path).unwrap()["roleRef"]["name"], "aro-operator-master");
    let writes = world.api.take_writes();
    assert_eq!(writes.iter().filter(|write| *write == path).count(), 2, "deleted and made");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_never_served_ends_the_step_with_its_name() {
    let (world, context) = ready().await;
    world.api.idle(true);
    let error = install(&context).await.unwrap_err().to_string();
    assert!(error.contains("clusters.aro.openshift.io is not established"), "{error}");
    assert!(error.ends_with("after 60 s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_passes_is_waited_for_and_another_is_not() {
    let (world, context) = ready().await;
    for passes in [404, 409, 429, 500, 503] {
        ensure_credentials_request(&context).await.unwrap();
        world.api.fail(Some(passes));
        ensure_credentials_request(&context).await.unwrap();
    }
    world.api.fail(Some(422));
    let error = ensure_credentials_request(&context).await.unwrap_err().to_string();
    assert!(error.contains("/credentialsrequests/openshift-azure-operator"), "{error}");
}

#[test]
fn the_paths_are_those_of_the_api_server() {
    let path = |object: Value| crate::kube_api::path_of(&object);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
    assert_eq!(path(namespace), "/api/v1/namespaces/a");
    assert_eq!(
        path(deployment::credentials_request()),
        "/apis/cloudcredential.openshift.io/v1/namespaces/openshift-cloud-credential-operator/credentialsrequests/openshift-azure-operator"
    );
}

#[test]
fn a_version_that_is_too_old_or_unknown_has_no_updates_of_the_operator() {
    for (version, updates) in
        [("4.6.62", false), ("4.7.0", true), ("4.17.27", true), ("x", false), ("", false)]
    {
        let world = World::alone();
        world.progress.edit(|document| {
            document["openShiftCluster"]["properties"]["clusterProfile"]["version"] = json!(version);
        });
        let context = world.context(Operation::AdminUpdate);
        assert_eq!(plan::PlanInputs::from_context(&context).operator_updates, updates, "{version}");
    }
}

#[tokio::test]
async fn a_document_without_flags_gets_the_default_set_and_one_with_flags_none() {
    let (_, context) = ready().await;
    context.set("/properties/networkProfile/preconfiguredNSG", "Enabled").await.unwrap();
    crate::values::ensure_defaults(&context).await.unwrap();
    let flags = context.document().at("/properties/operatorFlags");
    assert_eq!(flags.as_object().unwrap().len(), rp_operator_api::flags::default_set().count());
    assert_eq!(flags["aro.azuresubnets.nsg.managed"], "false", "the customer's own security groups");
    context.set("/properties/operatorFlags", json!({"aro.dnsmasq.enabled": "false"})).await.unwrap();
    crate::values::ensure_defaults(&context).await.unwrap();
    let flags = context.document().at("/properties/operatorFlags");
    assert_eq!(flags, json!({"aro.dnsmasq.enabled": "false"}));
}
