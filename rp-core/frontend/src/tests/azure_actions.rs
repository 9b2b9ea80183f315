//! What administrators' tools do with a cluster's resources in Azure (`contract/frontend.md` §11.7), over a resource
//! manager in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use parking_lot::Mutex;
use rp_audit::{Audit, AuditOptions, CheckpointKey, Query};
use rp_azure::{
    AzureError, BeginResponse, ErrorKind, Operation, PollResult, Precondition, Request, Resources,
};
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::in_memory;
use rp_documents::Phase;
use rp_seal::Keyring;
use serde_json::{Value, json};

use super::{Api, TestResponse, id, parts, path, wanted};
use crate::{AdminParts, Edge, FrontendParts, TenantResources};

const GROUP: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/managed1";

/// Resources by their lower-case ids, and what was asked of them.
#[derive(Debug, Default, Clone)]
struct Manager {
    resources: Arc<Mutex<BTreeMap<String, Value>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Manager {
    fn put(&self, id: &str, body: Value) {
        self.resources.lock().insert(id.to_lowercase(), body);
    }

    /// Changes so far, in order.
    fn changes(&self) -> Vec<String> {
        self.asked.lock().iter().filter(|asked| !asked.starts_with("GET")).cloned().collect()
    }
}

impl TenantResources for Manager {
    fn in_tenant(&self, _: &str) -> Arc<dyn Resources> {
        Arc::new(self.clone())
    }
}

fn done(body: Value) -> Result<BeginResponse, AzureError> {
    Ok(BeginResponse { status: 200, body, operation: None })
}

#[async_trait]
impl Resources for Manager {
    async fn begin(&self, request: &Request<'_>) -> Result<BeginResponse, AzureError> {
        let key = request.id.to_lowercase();
        let name = key.rsplit('/').next().unwrap_or_default();
        self.asked.lock().push(format!("{} {name}", request.method));
        let mut all = self.resources.lock();
        let parent = key.rsplit_once('/').map(|(parent, _)| parent.to_owned()).unwrap_or_default();
        match request.method {
            Method::POST if all.contains_key(&parent) => done(json!({"value": [name]})),
            Method::PUT => {
                let old = all.get(&key).map(|old| old["etag"].clone()).unwrap_or_default();
                if matches!(request.when, Some(Precondition::Unchanged(etag)) if old != etag) {
                    return Err(AzureError::new("put", ErrorKind::Conflict, "it was changed"));
                }
                all.insert(key, request.body.cloned().unwrap_or_default());
                done(request.body.cloned().unwrap_or_default())
            }
            Method::PATCH => done(request.body.cloned().unwrap_or_default()),
            Method::DELETE => done(all.remove(&key).map(|_| Value::Null).unwrap_or_default()),
            _ => match all.get(&key) {
                Some(body) => done(body.clone()),
                None => Err(AzureError::new("get", ErrorKind::NotFound, "")),
            },
        }
    }

    async fn look(&self, _: &Operation) -> Result<PollResult, AzureError> {
        Ok(PollResult::Done(Value::Null))
    }

    async fn wait(&self, _: &Operation) -> Result<Value, AzureError> {
        Ok(Value::Null)
    }

    async fn list_with(&self, path: &str, _: &str, _: &[(&str, &str)]) -> Result<Vec<Value>, AzureError> {
        let group = path.strip_suffix("/resources").unwrap_or(path).to_lowercase();
        let all = self.resources.lock();
        let own = all.iter().filter(|(key, _)| key.starts_with(&group));
        Ok(own.map(|(key, _)| json!({"id": key, "short": true})).collect())
    }
}

async fn api(manager: &Manager) -> (Api, Audit) {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    let options = AuditOptions::new(CheckpointKey::generate().unwrap());
    let shared = Arc::new(clock.clone());
    let audit = Audit::start(in_memory(shared.clone()), shared, options).await.unwrap();
    let admin = AdminParts { azure: Some(Arc::new(manager.clone())), ..AdminParts::default() };
    let store = in_memory(Arc::new(clock.clone()));
    let parts = parts(store, Keyring::generate(&SystemRandom), clock, admin);
    let edge = Edge { audit: Some(audit.clone()), ..Edge::default() };
    let api = Api::from_parts(FrontendParts { edge, ..parts });
    api.subscription("Registered").await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, 201);
    (api, audit)
}

fn action(suffix: &str) -> String {
    format!("/admin{}/{suffix}", id("c"))
}

fn error(told: &TestResponse) -> (u16, String) {
    let message = told.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    (told.status.as_u16(), message)
}

#[tokio::test]
async fn a_machine_is_changed_once_and_its_change_is_on_the_record() {
    let manager = Manager::default();
    let vm = |name: &str| format!("{GROUP}/providers/Microsoft.Compute/virtualMachines/{name}");
    let view = json!({"statuses": [{"code": "PowerState/stopped"}]});
    manager.put(
        &vm("master-0"),
        json!({"properties": {"hardwareProfile": {"vmSize": "Standard_D8s_v3"}, "instanceView": view}}),
    );
    let ephemeral =
        json!({"caching": "ReadOnly", "diffDiskSettings": {"option": "Local", "placement": "CacheDisk"}});
    manager.put(&vm("quick-0"), json!({"properties": {"storageProfile": {"osDisk": ephemeral}}}));
    let (api, audit) = api(&manager).await;
    for (suffix, asked) in [
        ("startvm?vmName=master-0", "POST start"),
        ("stopvm?vmName=master-0", "POST poweroff"),
        ("stopvm?vmName=master-0&deallocateVM=true", "POST deallocate"),
        ("redeployvm?vmName=master-0", "POST redeploy"),
        ("resize?vmName=master-0&vmSize=standard_d16s_v3", "PATCH master-0"),
    ] {
        let told = api.call("POST", &action(suffix), None).await;
        assert_eq!((told.status.as_u16(), told.text.as_str()), (200, ""), "{suffix}");
        assert_eq!(manager.changes().last().map(String::as_str), Some(asked), "{suffix}");
    }
    let missing = "The VirtualMachine 'nobody' under resource group 'managed1' was not found.";
    for (suffix, status, text) in [
        ("startvm?vmName=nobody", 404, missing.to_owned()),
        ("resize?vmName=nobody&vmSize=Standard_D8s_v3", 404, format!("\"{missing}\"")),
        ("startvm", 400, "The vmName parameter is required.".to_owned()),
        ("startvm?vmName=-x", 400, "The provided vmName '-x' is invalid.".to_owned()),
        ("startvm?vmName=a%2Fstart", 400, "The provided vmName 'a/start' is invalid.".to_owned()),
        (
            "resize?vmName=master-0&vmSize=x",
            400,
            "The provided vmSize 'x' is unsupported for master.".to_owned(),
        ),
        (
            "redeployvm?vmName=quick-0",
            403,
            "VM 'quick-0' has an Ephemeral Disk OS and cannot be redeployed.".to_owned(),
        ),
    ] {
        assert_eq!(error(&api.call("POST", &action(suffix), None).await), (status, text), "{suffix}");
    }
    assert_eq!(manager.changes().len(), 5, "a refusal asks nothing of Azure");
    let told = api.call("GET", &action("startvm?vmName=master-0"), None).await;
    assert_eq!((told.status.as_u16(), told.header("allow")), (405, "POST"));
    audit.close().await;
    let all = audit.search(&Query::default()).await.unwrap().entries;
    let of =
        |phase| all.iter().filter(move |entry| entry.resource.ends_with("/startvm") && entry.phase == phase);
    assert!(of(Phase::Start).any(|entry| entry.query.ends_with("startvm?vmName=master-0")));
    assert!(of(Phase::End).any(|entry| entry.query.ends_with("#before=stopped&after=running")));
}

#[tokio::test]
async fn an_interface_is_written_back_only_if_it_failed() {
    let manager = Manager::default();
    let nic = |name: &str| format!("{GROUP}/providers/Microsoft.Network/networkInterfaces/{name}");
    let body = |state: &str| json!({"etag": "e1", "properties": {"provisioningState": state}});
    manager.put(&nic("bad-nic"), body("Failed"));
    manager.put(&nic("good-nic"), body("Succeeded"));
    let (api, _audit) = api(&manager).await;
    let reconcile = async |name: &str| {
        api.call("POST", &action(&format!("reconcilefailednic?nicName={name}")), None).await
    };
    assert_eq!(reconcile("bad-nic").await.status, 200);
    let text = "skipping nic 'good-nic' because it is not in a failed provisioning state";
    assert_eq!(error(&reconcile("good-nic").await), (500, text.to_owned()));
    assert_eq!(reconcile("no-nic").await.status, 404);
    let invalid = (400, "The provided nicName 'a/../b1' is invalid.".to_owned());
    assert_eq!(error(&reconcile("a%2F..%2Fb1").await), invalid);
    assert_eq!(manager.changes(), ["PUT bad-nic"]);

    let routes =
        async |query: &str| api.call("GET", &action(&format!("effectiveroutetable{query}")), None).await;
    assert_eq!(routes("?nic=bad-nic").await.json(), json!({"value": ["effectiveroutetable"]}));
    let told = routes("").await;
    assert_eq!(told.refusal(), (400, "InvalidParameter".to_owned(), "nic".to_owned()));
    assert_eq!(error(&told).1, "Network interface name is required");
    let (status, text) = error(&routes("?nic=no-nic").await);
    assert!(status == 404 && text.starts_with("Failed to retrieve effective route table: "), "{text}");
}

#[tokio::test]
async fn resources_are_deleted_inside_of_the_group_only() {
    let manager = Manager::default();
    let balancer = format!("{GROUP}/providers/Microsoft.Network/loadBalancers/lb");
    let front = |name: &str| format!("{balancer}/frontendIPConfigurations/{name}");
    manager.put(
        &balancer,
        json!({"etag": "e1", "properties": {"frontendIPConfigurations": [{"name": "used"}, {"name": "free"}],
            "outboundRules": [{"name": "out", "properties": {"frontendIPConfigurations": [{"id": front("used")}]}}]}}),
    );
    let disk = format!("{GROUP}/providers/Microsoft.Compute/disks/d");
    let storage = format!("{GROUP}/providers/Microsoft.Storage/storageAccounts/a");
    manager.put(&disk, json!({}));
    manager.put(&storage, json!({}));
    let (api, _audit) = api(&manager).await;
    let delete = async |id: &str| {
        let query: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        api.call("POST", &action(&format!("deletemanagedresource?managedResourceID={query}")), None).await
    };
    let outside = disk.replace("managed1", "managed1-2");
    for id in [outside.as_str(), "", "x", &format!("{disk}/../../x"), &format!("{disk}?x=1")] {
        let (status, text) = error(&delete(id).await);
        let sentence = format!("is not within the cluster's managed resource group {GROUP}.");
        assert!(status == 400 && text.ends_with(&sentence), "{id}: {text}");
    }
    let forbidden = (400, format!("deletion of resource {storage} is forbidden"));
    assert_eq!(error(&delete(&storage).await), forbidden);
    let used = (400, "The resource used is used by the rule out. Delete the rule first.".to_owned());
    assert_eq!(error(&delete(&front("used")).await), used);
    assert_eq!(manager.changes(), Vec::<String>::new());
    assert_eq!(delete(&front("free")).await.status, 200);
    assert_eq!(delete(&disk).await.status, 200);
    assert_eq!(manager.changes(), ["PUT lb", "DELETE d"]);
    let gone = (404, format!("The resource '{disk}' could not be found."));
    assert_eq!(error(&delete(&disk).await), gone);
    assert_eq!(delete(&front("free")).await.status, 404);

    let told = api.call("GET", &action("resources"), None).await;
    assert_eq!((told.status.as_u16(), told.header("content-type")), (200, "application/json"));
    let all = told.json();
    let own = all.as_array().unwrap();
    assert!(own.iter().any(|one| one["etag"] == "e1"), "{all}");
}

#[tokio::test]
async fn without_azure_an_action_says_so() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let told = api.call("POST", &action("startvm?vmName=master-0"), None).await;
    assert_eq!(error(&told), (500, "Azure cannot be asked from here".to_owned()));
    let told = api
        .call(
            "POST",
            &action("exec"),
            Some(json!({"namespace": "openshift-etcd", "podName": "p", "container": "c", "command": "id"})),
        )
        .await;
    assert_eq!(error(&told), (500, "clusters cannot be reached from here".to_owned()));
    for etcd in ["etcdrecovery", "etcdcertificaterenew"] {
        let told = api.call("POST", &action(etcd), None).await;
        assert_eq!(error(&told), (500, "clusters cannot be reached from here".to_owned()), "{etcd}");
    }
    let told = api.call("GET", &action("clusterdeployment"), None).await;
    assert_eq!(error(&told), (500, "hive is not enabled".to_owned()));
    let told = api.call("GET", &action("clustersync"), None).await;
    assert_eq!(error(&told), (400, "hive is not enabled".to_owned()));
}
