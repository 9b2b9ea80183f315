//! An API server in memory: objects by path, lists by the path above, as much of the protocol as the steps use.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use http::{Method, Request, Response};
use parking_lot::Mutex;
use rp_kube::{ExecError, ExecOutput, ExecRequest, KubeBody, KubeClient};
use rp_net::Target;
use serde_json::{Value, json};

use crate::environment::ClusterClients;
use crate::errors::StepError;
use crate::kube_api::merge_into;

/// The objects of one cluster; clones share them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Api(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    /// The next request is answered so.
    fail: Option<u16>,
    writes: Vec<String>,
    target: Option<Arc<Target>>,
    /// Controllers of the cluster do nothing.
    idle: bool,
    /// Members of etcd, by their ids.
    members: BTreeMap<u64, String>,
    /// Commands in containers, and what the next one ends with.
    commands: Vec<String>,
    fail_command: Option<String>,
    break_command: bool,
}

const OPERATORS: [&str; 6] =
    ["kube-apiserver", "kube-scheduler", "kube-controller-manager", "console", "ingress", "authentication"];

impl Api {
    pub(crate) fn put(&self, path: &str, object: Value) {
        let mut state = self.0.lock();
        state.put(path, object);
        state.writes.clear();
    }

    pub(crate) fn remove(&self, path: &str) {
        self.0.lock().objects.remove(path);
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.0.lock().objects.get(path).cloned()
    }

    pub(crate) fn fail(&self, status: Option<u16>) {
        self.0.lock().fail = status;
    }

    /// Nobody in the cluster does anything about what is written.
    pub(crate) fn idle(&self, idle: bool) {
        self.0.lock().idle = idle;
    }

    /// Has etcd of a member of each node.
    pub(crate) fn put_members(&self, names: &[&str]) {
        self.0.lock().members = (1..).zip(names.iter().map(|&name| name.to_owned())).collect();
    }

    /// Names of the members of etcd.
    pub(crate) fn members(&self) -> Vec<String> {
        self.0.lock().members.values().cloned().collect()
    }

    /// The next command fails with that sentence.
    pub(crate) fn fail_command(&self, told: &str) {
        self.0.lock().fail_command = Some(told.to_owned());
    }

    /// The connection of the next command breaks after it has run.
    pub(crate) fn break_command(&self) {
        self.0.lock().break_command = true;
    }

    /// Commands that ran, as `POD: COMMAND`.
    pub(crate) fn take_commands(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().commands)
    }

    pub(crate) fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().writes)
    }

    pub(crate) fn target(&self) -> Option<Arc<Target>> {
        self.0.lock().target.clone()
    }

    /// A pod on a node; `is_blocked`: a budget lets nobody evict it.
    pub(crate) fn put_pod(&self, name: &str, node: &str, is_blocked: bool) {
        let pod = json!({"metadata": {"name": name, "namespace": "apps", "uid": name}, "spec": {"nodeName": node},
            "status": {"phase": "Running"}, "isBlocked": is_blocked});
        self.put(&format!("/api/v1/namespaces/apps/pods/{name}"), pod);
    }

    /// A cluster that came up.
    pub(crate) fn is_up(&self) {
        let conditions = |available: &str| {
            json!([{"type": "Degraded", "status": "False"}, {"type": "Progressing", "status": "False"},
                {"type": "Available", "status": available}])
        };
        for name in OPERATORS {
            let path = format!("/apis/config.openshift.io/v1/clusteroperators/{name}");
            self.put(
                &path,
                json!({"metadata": {"name": name}, "status": {"conditions": conditions("True")}}),
            );
        }
        let config = "/apis/config.openshift.io/v1";
        self.put(
            &format!("{config}/clusterversions/version"),
            json!({"metadata": {"name": "version"}, "spec": {"channel": "stable-4.17", "clusterID": "kept"},
                "status": {"desired": {"version": "4.17.27"}, "conditions": conditions("True"),
                    "history": [{"state": "Completed", "version": "4.17.27"}]}}),
        );
        self.put(
            &format!("{config}/networks/cluster"),
            json!({"metadata": {"name": "cluster"}, "status": {"networkType": "OVNKubernetes"}}),
        );
        let operator = "/apis/operator.openshift.io/v1";
        for path in [
            format!("{config}/operatorhubs/cluster"),
            format!("{config}/apiservers/cluster"),
            format!("{operator}/consoles/cluster"),
            format!("{operator}/namespaces/openshift-ingress-operator/ingresscontrollers/default"),
            format!("{operator}/clustercsidrivers/file.csi.azure.com"),
        ] {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            self.put(&path, json!({"metadata": {"name": name}, "spec": {}}));
        }
        self.put(
            "/api/v1/namespaces/openshift-ingress/services/router-default",
            json!({"metadata": {"name": "router-default"}, "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}}),
        );
        let bootstrap = json!({"metadata": {"name": "bootstrap"}, "data": {"status": "complete"}});
        self.put("/api/v1/namespaces/kube-system/configmaps/bootstrap", bootstrap);
        for at in 0..3 {
            let name = format!("worker-{at}");
            self.put(
                &format!(
                    "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines/{name}"
                ),
                json!({"metadata": {"name": name,
                    "labels": {"machine.openshift.io/cluster-api-machine-role": "worker"}},
                    "status": {"phase": "Running"}}),
            );
            self.put(
                &format!("/api/v1/nodes/{name}"),
                json!({"metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": ""}},
                    "status": {"conditions": [{"type": "MemoryPressure", "status": "False"},
                        {"type": "Ready", "status": "True"}]}}),
            );
        }
    }
}

#[async_trait]
impl ClusterClients for Api {
    async fn exec(&self, _: &KubeClient, command: ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
        self.0.lock().exec(&command)
    }

    fn client(&self, target: Arc<Target>) -> Result<KubeClient, StepError> {
        self.0.lock().target = Some(target);
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<KubeBody>| {
            let api = api.clone();
            async move { Ok::<_, Infallible>(api.answer(request).await) }
        });
        Ok(KubeClient::new(service, "default"))
    }
}

impl Api {
    async fn answer(&self, request: Request<KubeBody>) -> Response<KubeBody> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect_bytes().await.unwrap_or_default();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if let Some(pod) = parts.uri.path().strip_suffix("/log") {
            let log = self.get(pod).map(|pod| pod["log"].as_str().unwrap_or_default().to_owned());
            return Response::new(KubeBody::from(log.unwrap_or_default().into_bytes()));
        }
        let (status, answer) = self.0.lock().handle(&parts.method, &parts.uri, &body);
        let answer = if status < 400 { answer } else { refusal(status) };
        let mut response = Response::new(KubeBody::from(answer.to_string().into_bytes()));
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
        response
    }
}

fn refusal(status: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Told", "message": "told", "code": status})
}

impl State {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = Value::from(self.version.to_string());
        self.writes.push(path.to_owned());
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn handle(&mut self, method: &Method, uri: &http::Uri, body: &Value) -> (u16, Value) {
        if let Some(status) = self.fail.take() {
            return (status, Value::Null);
        }
        let path = uri.path();
        let there = self.objects.get(path).cloned();
        match (method.as_str(), there) {
            ("GET", Some(object)) => (200, object),
            ("GET", None) => self.list(path, uri.query().unwrap_or_default()),
            ("POST", _) if path.ends_with("/eviction") => self.evict(path.trim_end_matches("/eviction")),
            ("POST", _) => {
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{path}/{name}");
                if self.objects.contains_key(&path) {
                    (409, Value::Null)
                } else {
                    let made = self.put(&path, body.clone());
                    self.run_pod(&path);
                    (201, made)
                }
            }
            ("PUT", Some(found)) => {
                let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
                let is_old = version(body) != version(&found);
                if is_old { (409, Value::Null) } else { (200, self.put(path, body.clone())) }
            }
            ("PATCH", found) => {
                let is_new = found.is_none();
                let mut object = found.unwrap_or_default();
                if merge_into(&mut object, body) || is_new {
                    object = self.put(path, object);
                    self.react(path);
                }
                (200, object)
            }
            ("DELETE", Some(_)) => {
                self.objects.remove(path);
                self.writes.push(path.to_owned());
                (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
            }
            _ => (404, Value::Null),
        }
    }

    /// What the controllers of a cluster do about a written object: kinds are served, deployments have their pods.
    fn react(&mut self, path: &str) {
        let Some(object) = self.objects.get_mut(path).filter(|_| !self.idle) else { return };
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        if path.contains("/customresourcedefinitions/") {
            object["status"] = json!({"conditions": [{"type": "NamesAccepted", "status": "True"},
                {"type": "Established", "status": "True"}]});
        }
        if path.contains("/deployments/") {
            let generation = object["metadata"]["generation"].as_u64().unwrap_or(0) + 1;
            object["metadata"]["generation"] = json!(generation);
            object["status"] = json!({"observedGeneration": generation, "replicas": 1, "updatedReplicas": 1,
                "availableReplicas": 1});
            let pod = format!(
                "{}-pod",
                path.replace("/apis/apps/v1/", "/api/v1/").replace("/deployments/", "/pods/")
            );
            let template = &object["spec"]["template"];
            let mut made = json!({"metadata": template["metadata"], "spec": template["spec"], "status": {"phase": "Running"}});
            made["metadata"]["name"] = json!(pod.rsplit('/').next());
            self.objects.insert(pod, made);
        }
    }

    /// A pod that ends by itself has ended at once, well, unless its controllers are idle.
    fn run_pod(&mut self, path: &str) {
        let Some(pod) = self.objects.get_mut(path).filter(|_| !self.idle && path.contains("/pods/")) else {
            return;
        };
        if pod["spec"]["restartPolicy"] == "Never" {
            pod["status"] = json!({"phase": "Succeeded"});
            pod["log"] = json!("moved\n");
            // With the manifest of a pod goes the pod.
            let member = pod["spec"]["nodeName"].as_str().map(|node| format!("etcd-{node}"));
            self.objects.retain(|path, _| path.rsplit('/').next() != member.as_deref());
        }
    }

    /// What `etcdctl member` does.
    fn exec(&mut self, request: &ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
        self.commands.push(format!("{}: {}", request.pod, request.command.join(" ")));
        if let Some(told) = self.fail_command.take() {
            return Ok(ExecOutput { out: Vec::new(), err: told.into_bytes(), good: false });
        }
        let id = request.command.last().and_then(|id| u64::from_str_radix(id, 16).ok());
        if let Some(id) = id {
            self.members.remove(&id);
        }
        let members: Vec<_> = self.members.iter().map(|(id, name)| json!({"ID": id, "name": name})).collect();
        if std::mem::take(&mut self.break_command) {
            return Err(ExecError::Broken(std::io::ErrorKind::ConnectionReset.into()));
        }
        Ok(ExecOutput {
            out: json!({ "members": members }).to_string().into_bytes(),
            err: Vec::new(),
            good: true,
        })
    }

    fn evict(&mut self, pod: &str) -> (u16, Value) {
        match self.objects.get(pod) {
            Some(found) if found["isBlocked"] == true => (429, Value::Null),
            Some(_) => {
                self.objects.remove(pod);
                (201, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
            }
            None => (404, Value::Null),
        }
    }

    /// Only what asks for a list gets one: an object that is not there is not an empty list.
    fn list(&self, path: &str, query: &str) -> (u16, Value) {
        if let Some(node) =
            query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector=spec.nodeName%3D"))
        {
            let pods = self.objects.iter().filter(|(path, _)| path.contains("/pods/")).map(|(_, pod)| pod);
            let items: Vec<&Value> = pods.filter(|pod| pod["spec"]["nodeName"] == node).collect();
            return (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}));
        }
        let Some(selector) = query.split('&').find_map(|pair| pair.strip_prefix("labelSelector=")) else {
            return (404, Value::Null);
        };
        let selector = selector.replace("%3D", "=").replace("%2F", "/");
        let (key, value) =
            selector.split_once('=').map_or((selector.as_str(), None), |(key, value)| (key, Some(value)));
        let is_wanted = |object: &Value| {
            let label = object["metadata"]["labels"].get(key).and_then(Value::as_str);
            key.is_empty() || label.is_some_and(|label| value.is_none_or(|value| value == label))
        };
        let items: Vec<&Value> = self
            .objects
            .iter()
            .filter(|(found, object)| {
                found.strip_prefix(path).is_some_and(|rest| rest.starts_with('/') && !rest[1..].contains('/'))
                    && is_wanted(object)
            })
            .map(|(_, object)| object)
            .collect();
        (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}))
    }
}
