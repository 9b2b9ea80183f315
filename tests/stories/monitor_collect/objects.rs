//! What the cluster has, and what the monitor must tell of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Timestamp;
use rp_documents::ClusterMirror;
use rp_monitor::collect::DEFAULT_FLAGS;
use rp_seal::Keyring;
use serde_json::{Value, json};
use tests_kit::{Authority, Pair};

/// Sat, 21 Nov 2026 12:00:00 UTC.
pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_795_262_400);
const MACHINES: &str = "openshift-machine-api";
const LOGGING: &str = "openshift-azure-logging";
const OPERATOR: &str = "openshift-azure-operator";

/// Those of the ingress and the API server.
pub(super) struct Certificates {
    ingress: Pair,
    api: Pair,
}

impl Certificates {
    pub(super) fn new(authority: &Authority) -> Result<Self> {
        let ingress = authority.server(&["*.apps.real.eastus.aroapp.io"])?;
        Ok(Self { ingress, api: authority.server(&["api.real.eastus.aroapp.io"])? })
    }

    /// When certificates of the tests end: the first second of 4096.
    pub(super) fn ends(&self) -> Timestamp {
        Timestamp::from_seconds(67_090_118_400)
    }

    fn days(&self) -> i64 {
        (self.ends().seconds() - NOW.seconds()) / 86_400
    }

    fn secret(name: &str, pair: &Pair) -> Value {
        let data =
            json!({"tls.crt": STANDARD.encode(&pair.certificate), "tls.key": STANDARD.encode(&pair.key)});
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"name": name, "namespace": OPERATOR}, "data": data})
    }
}

/// The least that a stored cluster has.
pub(super) fn document(id: &str) -> Value {
    json!({"id": "real", "key": id.to_lowercase(), "partitionKey": "00000000-0000-0000-0000-000000000001",
        "openShiftCluster": {"id": id, "properties": {"provisioningState": "Succeeded"}}})
}

/// The kind of the ARO operator's one object.
pub(super) fn aro_kind() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusters.aro.openshift.io"},
        "spec": {
            "group": "aro.openshift.io", "scope": "Cluster",
            "names": {"kind": "Cluster", "listKind": "ClusterList", "plural": "clusters", "singular": "cluster"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

pub(super) fn namespaces() -> Vec<Value> {
    let names = [
        "openshift-apiserver",
        LOGGING,
        OPERATOR,
        "openshift-etcd",
        "openshift-ingress",
        "openshift-ingress-operator",
        "openshift-kube-apiserver",
        "openshift-machine-config-operator",
        MACHINES,
        "openshift-monitoring",
    ];
    names.map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).to_vec()
}

fn conditions(all: &[(&str, &str)]) -> Value {
    let since = "2026-11-20T00:00:00Z";
    let one = |(kind, status): &(&str, &str)| json!({"type": kind, "status": status, "reason": "Story", "message": "a story", "lastTransitionTime": since});
    all.iter().map(one).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "what json! makes is given away")]
fn object(version: &str, kind: &str, namespace: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    for (key, value) in rest.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(members) if key == "metadata" => {
                members.iter().for_each(|(name, member)| object["metadata"][name] = member.clone());
            }
            _ => object[key] = value.clone(),
        }
    }
    object
}

/// Everything, each with its status.
pub(super) fn all(certificates: &Certificates) -> Vec<Value> {
    let mut all = versions();
    all.extend(machines());
    all.extend(workloads());
    all.extend(network());
    all.push(Certificates::secret("real-ingress", &certificates.ingress));
    all.push(Certificates::secret("real-apiserver", &certificates.api));
    all
}

fn versions() -> Vec<Value> {
    let history = |state: &str, version: &str| {
        json!({"state": state, "version": version, "image": "image", "startedTime": "2026-11-20T00:00:00Z",
            "completionTime": if state == "Completed" { json!("2026-11-20T01:00:00Z") } else { Value::Null }, "verified": true})
    };
    let version = json!({
        "spec": {"clusterID": "00000000-0000-4000-8000-000000000001", "channel": "stable-4.16"},
        "status": {
            "desired": {"version": "4.16.9", "image": "image"}, "observedGeneration": 1, "versionHash": "hash",
            "availableUpdates": null, "history": [history("Partial", "4.16.9"), history("Completed", "4.16.3")],
            "conditions": conditions(&[("Available", "True"), ("Progressing", "True"), ("Failing", "False"),
                ("ReleaseAccepted", "True"), ("RetrievedUpdates", "True"), ("Upgradeable", "False")]),
        },
    });
    let operator = |name: &str, version: &str, all: &[(&str, &str)]| {
        let versions =
            json!([{"name": "operator", "version": version}, {"name": "operand", "version": "1.2.3"}]);
        let status = json!({"conditions": conditions(all), "versions": versions});
        object("config.openshift.io/v1", "ClusterOperator", "", name, json!({"spec": {}, "status": status}))
    };
    let mut flags: BTreeMap<&str, &str> = DEFAULT_FLAGS.iter().copied().collect();
    flags.insert("aro.machine.enabled", "false");
    flags.remove("aro.rbac.enabled");
    let operator_status = conditions(&[
        ("InternetReachableFromMaster", "True"),
        ("InternetReachableFromWorker", "False"),
        ("DefaultClusterDNS", "True"),
        ("RBACControllerAvailable", "True"),
        ("NodeControllerDegraded", "True"),
    ]);
    vec![
        object("config.openshift.io/v1", "ClusterVersion", "", "version", version),
        operator(
            "dns",
            "4.16.9",
            &[
                ("Available", "True"),
                ("Degraded", "False"),
                ("Progressing", "False"),
                ("Upgradeable", "Unknown"),
            ],
        ),
        operator(
            "etcd",
            "4.16.3",
            &[
                ("Available", "True"),
                ("Degraded", "True"),
                ("Progressing", "False"),
                ("RecentBackup", "Unknown"),
            ],
        ),
        operator("insights", "4.16.9", &[("Available", "True"), ("Degraded", "True")]),
        object(
            "aro.openshift.io/v1alpha1",
            "Cluster",
            "",
            "cluster",
            json!({
                "metadata": {"annotations": {"aro.openshift.io/lastSubnetReconcileTimestamp": "Sat, 21 Nov 2026 11:59:30 UTC"}},
                "spec": {"operatorflags": flags, "banner": {"content": "ContactSupport"}, "domain": "real.eastus.aroapp.io",
                    "gatewayDomains": ["agentimagestorews01.blob.core.windows.net"]},
                "status": {"conditions": operator_status},
            }),
        ),
    ]
}

fn machines() -> Vec<Value> {
    let labels = |role: &str| json!({"machine.openshift.io/cluster-api-machine-role": role, "machine.openshift.io/cluster-api-machineset": format!("{role}-set")});
    let machine = |name: &str, role: &str, phase: &str, spec: Value| {
        object(
            "machine.openshift.io/v1beta1",
            "Machine",
            MACHINES,
            name,
            json!({
                "metadata": {"labels": labels(role)}, "spec": {"providerSpec": {"value": spec}}, "status": {"phase": phase},
            }),
        )
    };
    let node = |name: &str, role: &str, machine: &str| {
        object(
            "v1",
            "Node",
            "",
            name,
            json!({"metadata": {
                "labels": {format!("node-role.kubernetes.io/{role}"): ""},
                "annotations": {"machine.openshift.io/machine": machine},
            }}),
        )
    };
    let pool = |name: &str, all: &[(&str, &str)]| {
        let status = json!({"machineCount": 1, "readyMachineCount": 1, "updatedMachineCount": 1, "unavailableMachineCount": 0,
            "degradedMachineCount": 0, "observedGeneration": 1, "conditions": conditions(all)});
        object(
            "machineconfiguration.openshift.io/v1",
            "MachineConfigPool",
            "",
            name,
            json!({"spec": {}, "status": status}),
        )
    };
    let provider = json!({"kind": "AzureMachineProviderSpec", "vmSize": "Standard_D4s_v5", "networkResourceGroup": "net", "vnet": "v",
        "subnet": "worker", "osDisk": {"diskSizeGB": 128}, "zone": "1"});
    let set = json!({
        "spec": {"replicas": 3, "selector": {"matchLabels": {"x": "y"}},
            "template": {"metadata": {"labels": {"x": "y"}}, "spec": {"providerSpec": {"value": provider}}}},
        "status": {"replicas": 3, "readyReplicas": 3},
    });
    vec![
        machine("m-0", "master", "Running", json!({"vmSize": "Standard_D8s_v5"})),
        machine("w-0", "worker", "Provisioned", json!({"vmSize": "Standard_D4s_v5", "spotVMOptions": {}})),
        node("node-m", "master", &format!("{MACHINES}/m-0")),
        node("node-w", "worker", &format!("{MACHINES}/w-0")),
        pool("master", &[("Updated", "True"), ("Updating", "False"), ("Degraded", "False")]),
        pool("worker", &[("Updated", "False"), ("Updating", "True"), ("NodeDegraded", "False")]),
        object("machine.openshift.io/v1beta1", "MachineSet", MACHINES, "real-worker", set),
    ]
}

fn workloads() -> Vec<Value> {
    let template =
        json!({"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let selector = json!({"matchLabels": {"x": "y"}});
    let deployment = |name: &str, ready: i64| {
        object(
            "apps/v1",
            "Deployment",
            OPERATOR,
            name,
            json!({
                "metadata": {"labels": {"version": "v20261101.00"}},
                "spec": {"replicas": 1, "selector": selector, "template": template},
                "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": ready, "availableReplicas": ready},
            }),
        )
    };
    let daemon_set = |name: &str, there: i64| {
        object(
            "apps/v1",
            "DaemonSet",
            LOGGING,
            name,
            json!({
                "spec": {"selector": selector, "template": template},
                "status": {"currentNumberScheduled": 3, "numberMisscheduled": 0, "desiredNumberScheduled": 3, "numberReady": there, "numberAvailable": there},
            }),
        )
    };
    // No such node: nothing but this story changes the pod.
    let container = json!({"name": "etcd", "image": "i", "imageID": "", "ready": false, "restartCount": 12,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}});
    let pod = object(
        "v1",
        "Pod",
        "openshift-etcd",
        "etcd-0",
        json!({
            "spec": {"nodeName": "elsewhere", "containers": [{"name": "etcd", "image": "i"}]},
            "status": {"phase": "Running", "conditions": conditions(&[("Initialized", "True"), ("Ready", "False"), ("PodReadyToStartContainers", "True")]),
                "containerStatuses": [container]},
        }),
    );
    vec![
        deployment("aro-operator-master", 1),
        deployment("aro-operator-worker", 0),
        daemon_set("otel-exporter-master", 3),
        daemon_set("otel-exporter-worker", 0),
        pod,
    ]
}

fn network() -> Vec<Value> {
    let proxy = json!({"httpProxy": "http://proxy:3128", "httpsProxy": "http://proxy:3128",
        "noProxy": "localhost,127.0.0.1,.svc,.cluster.local,169.254.169.254,168.63.129.16,10.0.0.0/16,10.128.0.0/14,.blob.core.windows.net"});
    let network = json!({"networkType": "OVNKubernetes", "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}], "serviceNetwork": ["172.30.0.0/16"]});
    let mut network_status = network.clone();
    network_status["clusterNetworkMTU"] = json!(1400);
    let infrastructure = json!({
        "spec": {"cloudConfig": {"name": ""}, "platformSpec": {"type": "Azure"}},
        "status": {"apiServerInternalURI": "https://api-int.real.eastus.aroapp.io:6443", "apiServerURL": "https://api.real.eastus.aroapp.io:6443",
            "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable", "etcdDiscoveryDomain": "", "infrastructureName": "real",
            "platform": "Azure", "platformStatus": {"type": "Azure"}},
    });
    let controller = json!({"spec": {"defaultCertificate": {"name": "real-ingress"}, "clientTLS": {"clientCA": {"name": ""}, "clientCertificatePolicy": ""},
        "endpointPublishingStrategy": {"type": "LoadBalancerService", "loadBalancer": {"scope": "Internal", "dnsManagementPolicy": "Managed"}}}});
    let service = object(
        "v1",
        "Service",
        "openshift-ingress",
        "router-default",
        json!({
            "metadata": {"labels": {"app": "router", "ingresscontroller.operator.openshift.io/owning-ingresscontroller": "default"}},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 443}], "selector": {"x": "y"}},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.1.254"}]}},
        }),
    );
    let credentials = json!({"azure_client_id": STANDARD.encode("client"), "azure_client_secret": STANDARD.encode("hunter2")});
    vec![
        object("config.openshift.io/v1", "Proxy", "", "cluster", json!({"spec": proxy, "status": proxy})),
        object(
            "config.openshift.io/v1",
            "Network",
            "",
            "cluster",
            json!({"spec": network, "status": network_status}),
        ),
        object("config.openshift.io/v1", "Infrastructure", "", "cluster", infrastructure),
        object("operator.openshift.io/v1", "DNS", "", "default", json!({"spec": {}})),
        object(
            "operator.openshift.io/v1",
            "IngressController",
            "openshift-ingress-operator",
            "default",
            controller,
        ),
        service,
        object("v1", "Secret", "kube-system", "azure-credentials", json!({"data": credentials})),
    ]
}

/// What every round tells.
pub(super) fn expected(certificates: &Certificates, kubelet: &str) -> Result<BTreeSet<String>> {
    let mut lines: BTreeSet<String> = EXPECTED
        .lines()
        .map(|line| line.trim().replace("KUBELET", kubelet))
        .filter(|line| !line.is_empty())
        .collect();
    let days = certificates.days();
    for (name, pair) in [("ingress", &certificates.ingress), ("apiserver", &certificates.api)] {
        let subject = if name == "ingress" { "*.apps" } else { "api" };
        lines.insert(format!(
            "certificate.expirationdate {days} name=real-{name} namespace={OPERATOR} subject={subject}.real.eastus.aroapp.io thumbprint={}",
            thumbprint(pair)?
        ));
    }
    let missing = "Message=CWP enabled but missing  fd00::/64,172.30.0.0/16,real.eastus.aroapp.io,api-int.real.eastus.aroapp.io,api.real.eastus.aroapp.io in the no_proxy list";
    lines.insert(format!("clusterWideProxy.status 1 {missing} status=true"));
    Ok(lines)
}

const EXPECTED: &str = "
    apiserver.healthz.code 1 code=200
    arooperator.conditions 1 status=False type=InternetReachableFromWorker
    arooperator.conditions 1 status=True type=NodeControllerDegraded
    arooperator.heartbeat 0 name=aro-operator-worker
    arooperator.heartbeat 1 name=aro-operator-master
    cluster.AuthenticationType 1 type=servicePrincipal
    cluster.maintenance.pucm 1 state=planned
    cluster.nonstandard.banner 1 msg=contact support
    cluster.nonstandard.operator.featureflags 1 aro.machine.enabled=false aro.rbac.enabled=DNE
    cluster.versions 1 actualMinorVersion=4.16 actualVersion=4.16.3 availableRP=commit desiredVersion=4.16.9 operatorVersion=v20261101.00 provisionedByResourceProviderVersion=older resourceProviderVersion=commit
    clusteroperator.conditions 1 name=etcd status=True type=Degraded
    clusteroperator.count 3
    clusteroperator.versions 1 name=etcd version=4.16.3
    clusterversion.conditions 1 status=False type=Upgradeable
    clusterversion.conditions 1 status=True type=Progressing
    daemonset.statuses 1 desiredNumberScheduled=3 name=otel-exporter-worker namespace=openshift-azure-logging numberAvailable=0
    genevalogging.otel.cannotstart 1 desiredNumberScheduled=3 name=otel-exporter-worker namespace=openshift-azure-logging numberAvailable=0
    machine.count 2
    machine.phase 1 machineName=m-0 machineset=master-set phase=Running role=master spotInstance=false
    machine.phase 1 machineName=w-0 machineset=worker-set phase=Provisioned role=worker spotInstance=true
    machineconfigpool.conditions 1 name=worker status=False type=Updated
    machineconfigpool.conditions 1 name=worker status=True type=Updating
    machineconfigpool.count 2
    machineconfigpool.unmanagednodescount 1
    network.mtu 1 mtu=1400 network_type=OVNKubernetes
    node.conditions 1 machineset=worker-set nodeName=node-w role=worker spotInstance=true status=True type=KernelDeadlock
    node.count 0 role=infra
    node.count 1 role=master
    node.count 1 role=unknown
    node.count 1 role=worker
    node.kubelet.version 1 kubeletVersion=KUBELET nodeName=node-1 role=
    node.kubelet.version 1 kubeletVersion=KUBELET nodeName=node-m role=master
    node.kubelet.version 1 kubeletVersion=KUBELET nodeName=node-w role=worker
    nsg.reconciliations 1
    pod.conditions 1 name=etcd-0 namespace=openshift-etcd nodeName=elsewhere status=False type=Ready
    pod.containerstatuses 1 containername=etcd lastTerminationState=Error name=etcd-0 namespace=openshift-etcd nodeName=elsewhere reason=CrashLoopBackOff
    pod.restartcounter 12 name=etcd-0 namespace=openshift-etcd
    prometheus.alerts 1 alert=Watchdog severity=none
    prometheus.alerts 2 alert=StoryFires severity=critical
    prometheus.alerts.count 3
";

/// SHA-1 of the certificate, upper-case hex.
fn thumbprint(pair: &Pair) -> Result<String> {
    let base64: String = pair.certificate.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD.decode(base64)?;
    Ok(digest(&SHA1_FOR_LEGACY_USE_ONLY, &der).as_ref().iter().map(|byte| format!("{byte:02X}")).collect())
}

/// What an hourly round tells beside.
pub(super) fn hourly() -> [String; 2] {
    [
        "cluster.provisioning 1 failedProvisioningState= provisioningState=Succeeded".to_owned(),
        "cluster.summary 1 actualMinorVersion=4.16 actualVersion=4.16.3 createdAt=2026-01-02 03:04:05.6 +0000 UTC \
         desiredVersion=4.16.9 masterCount=1 provisioningState=Succeeded workerCount=1"
            .to_owned(),
    ]
}

/// What the API shows of this cluster.
pub(super) fn check_mirror(mirror: &ClusterMirror, keyring: &Keyring) -> Result<()> {
    ensure!(mirror.version.as_deref() == Some("4.16.9"), "{mirror:?}");
    let ingress = mirror.ingress_profiles.as_ref().and_then(|all| all.first()).context("ingress profiles")?;
    let shown = (ingress.name.as_str(), ingress.visibility.as_str(), ingress.ip.as_str());
    ensure!(shown == ("default", "Private", "10.0.1.254"), "{ingress:?}");
    let workers = mirror.worker_profiles.as_ref().and_then(|all| all.first()).context("worker profiles")?;
    let subnet = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/worker";
    ensure!(
        (workers.name.as_str(), workers.count, workers.subnet_id.as_str()) == ("real-worker", 3, subnet),
        "{workers:?}"
    );
    ensure!(
        (workers.vm_size.as_str(), workers.disk_size_gb) == ("Standard_D4s_v5", Some(128)),
        "{workers:?}"
    );
    let principal = mirror.service_principal.as_ref().context("a service principal")?;
    let secret = keyring.open(&principal.client_secret, "ClusterMirror/real/clientSecret")?;
    ensure!(principal.client_id == "client" && secret.expose() == b"hunter2");
    Ok(())
}
