//! What a person does with objects of a cluster, on a real kube-apiserver: nodes, certificate signing requests, pods and
//! workloads, by JSON, by form and by `aro`.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, Aro, AroOptions, GENEROUS, OpenShift, Session, shown, until};

use crate::maintenance::{command_line, refused};

const NAMESPACE: &str = "openshift-etcd";
/// What a browser sends for a page.
const PAGE: [(&str, &str); 2] = [("accept", "text/html"), ("sec-fetch-mode", "navigate")];
const WHY: &str = "INC-1234 the disk of the node fails";

struct World {
    aro: Aro,
    openshift: OpenShift,
    cluster: String,
    person: Session,
}

impl World {
    async fn start() -> Result<Self> {
        let openshift = OpenShift::start().await?;
        let aro = Aro::start(AroOptions { clusters: 3, ..AroOptions::default() }).await?;
        let service = openshift.plane.service_kubeconfig()?;
        let cluster = aro.import_and_wait(&service, "acted", &["system:masters"]).await?;
        let person = aro.session("elevated").await?;
        Ok(Self { aro, openshift, cluster: cluster.to_lowercase(), person })
    }

    async fn act(&self, place: &str, body: &Value) -> Result<Answer> {
        let path = format!("/api/v1/clusters{}/{place}", self.cluster);
        self.person.change(Method::POST, &path, Some(body)).await
    }

    async fn done(&self, place: &str, body: &Value) -> Result<Value> {
        self.act(place, body).await?.ok().with_context(|| format!("{place} {body}"))?.json()
    }

    /// A page, as a browser asks for it.
    async fn page(&self, path: &str) -> Result<Answer> {
        self.person.send(Method::GET, path, &PAGE, None).await
    }

    async fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.openshift.admin().ok(args).await
    }

    async fn unschedulable(&self, node: &str) -> Result<String> {
        self.kubectl(&["get", "node", node, "-o", "jsonpath={.spec.unschedulable}"]).await
    }

    async fn is_there(&self, pod: &str) -> Result<bool> {
        let found = self.openshift.admin().run(&["get", "pod", pod, "-n", NAMESPACE]).await?;
        ensure!(found.status == 0 || found.stderr.contains("not found"), "{found:?}");
        Ok(found.status == 0)
    }

    async fn running(&self, pod: &str) -> Result<()> {
        let phase = ["get", "pod", pod, "-n", NAMESPACE, "-o", "jsonpath={.status.phase}"];
        until(&format!("{pod} runs"), GENEROUS, || async {
            let phase = self.kubectl(&phase).await?;
            ensure!(phase == "Running", "{phase}");
            Ok(())
        })
        .await
    }

    /// The entry of the end of an action.
    async fn ended(&self, verb: &str, name: &str) -> Result<Value> {
        let auditor = self.aro.session("auditor").await?;
        until(&format!("{verb} of {name} has ended on the record"), GENEROUS, || async {
            let entries = auditor.audit(name).await?;
            let is_it =
                |entry: &&Value| entry["verb"] == verb && entry["phase"] == "end" && entry["reason"] == WHY;
            entries.iter().find(is_it).cloned().with_context(|| format!("{entries:?}"))
        })
        .await
    }
}

fn pod(name: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"kept": "yes"}},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.example/main:1"}]}})
}

/// Two nodes with a pod each, which a budget holds.
async fn nodes(world: &World) -> Result<()> {
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}}})
    };
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept", "namespace": NAMESPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"kept": "yes"}}}});
    world.openshift.apply(&[node("drained-1"), node("drained-2"), budget]).await?;
    world.openshift.apply(&[pod("kept-1", "drained-1"), pod("kept-2", "drained-2")]).await?;
    world.running("kept-1").await?;
    world.running("kept-2").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_acts_on_a_real_cluster_with_an_elevation_and_on_the_record() -> Result<()> {
    let world = World::start().await?;
    let told = check(&world).await;
    world.aro.explain(told)
}

async fn check(world: &World) -> Result<()> {
    nodes(world).await?;
    not_allowed(world).await?;
    world.person.elevate("write").await?;
    cordoned(world).await?;
    blocked(world).await?;
    drained(world).await?;
    workloads(world).await?;
    pods(world).await?;
    certificates(world).await?;
    on_the_record(world).await?;
    by_form(world).await
}

async fn not_allowed(world: &World) -> Result<()> {
    let (place, body) = ("nodes/drained-1/cordon", json!({ "reason": WHY }));
    refused(&world.act(place, &body).await?, 403, "elevation_needed")?;
    let sre = world.aro.session("sre").await?;
    let path = format!("/api/v1/clusters{}/{place}", world.cluster);
    refused(&sre.change(Method::POST, &path, Some(&body)).await?, 403, "role_missing")?;
    let dialog = world.page(&format!("{}/act?do=cordon&name=drained-1", world.cluster)).await?;
    let way = ["Elevate first", "/elevate?", "rights=write", "do%3Dcordon"];
    ensure!(
        dialog.status == 403 && way.iter().all(|part| dialog.text.contains(part)),
        "{}",
        shown(&dialog.text)
    );
    ensure!(world.unschedulable("drained-1").await?.is_empty(), "it was cordoned");
    Ok(())
}

async fn cordoned(world: &World) -> Result<()> {
    refused(&world.act("nodes/drained-1/cordon", &json!({ "reason": "no" })).await?, 422, "invalid")?;
    let tried = world.done("nodes/drained-1/cordon", &json!({ "dryRun": true })).await?;
    ensure!(tried["after"] == "cordoned" && tried["dryRun"] == true, "{tried}");
    ensure!(world.unschedulable("drained-1").await?.is_empty(), "a dry run cordoned it");
    let cordon = ["node", "cordon", &world.cluster, "drained-1", "--reason", WHY, "-o", "json"];
    let told: Value = serde_json::from_str(&command_line(&world.aro, &world.person, &cordon).await?)?;
    ensure!(told["before"] == "schedulable" && told["after"] == "cordoned", "{told}");
    ensure!(world.unschedulable("drained-1").await? == "true");
    let again = world.done("nodes/drained-1/cordon", &json!({ "reason": WHY })).await?;
    ensure!(again["changed"] == false, "{again}");
    world.done("nodes/drained-1/uncordon", &json!({ "reason": WHY })).await?;
    ensure!(world.unschedulable("drained-1").await?.is_empty());
    let gone = world.act("nodes/no-such-node/cordon", &json!({ "reason": WHY })).await?;
    refused(&gone, 404, "not_there")?;
    ensure!(gone.json()?["side"] == "cluster", "{gone:?}");
    Ok(())
}

/// A budget that allows nothing stops a drain, which says so and changes nothing more than the node.
async fn blocked(world: &World) -> Result<()> {
    let tried = world.done("nodes/drained-1/drain", &json!({ "dryRun": true })).await?;
    let left = &tried["drain"]["left"][0];
    ensure!(left["name"] == "kept-1" && left["state"] == "blocked" && left["controller"] == "", "{tried}");
    let forced = world.done("nodes/drained-1/drain", &json!({ "dryRun": true, "force": true })).await?;
    ensure!(forced["drain"]["left"][0]["state"] == "movable", "{forced}");
    ensure!(world.is_there("kept-1").await?, "a dry run deleted it");
    ensure!(world.unschedulable("drained-1").await?.is_empty(), "a dry run cordoned it");
    let told = world.done("nodes/drained-1/drain", &json!({ "reason": WHY, "waitSeconds": 1 })).await?;
    let (drain, left) = (&told["drain"], &told["drain"]["left"][0]);
    ensure!(drain["done"] == false && drain["moved"] == json!([]) && left["state"] == "blocked", "{told}");
    ensure!(left["why"].as_str().is_some_and(|why| why.contains("disruption budget")), "{told}");
    ensure!(world.is_there("kept-1").await? && world.unschedulable("drained-1").await? == "true");
    refused(
        &world.act("nodes/drained-1/drain", &json!({ "reason": WHY, "waitSeconds": 99 })).await?,
        422,
        "invalid",
    )
}

async fn drained(world: &World) -> Result<()> {
    // Nobody counts the budget's pods here: a person says that one may go.
    let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2,
        "desiredHealthy": 1, "expectedPods": 2}})
    .to_string();
    let patch = ["patch", "pdb", "kept", "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p"];
    world.kubectl(&[&patch[..], &[status.as_str()]].concat()).await?;
    let drain = ["node", "drain", &world.cluster, "drained-1", "--reason", WHY, "-o", "json"];
    let told: Value = serde_json::from_str(&command_line(&world.aro, &world.person, &drain).await?)?;
    ensure!(
        told["drain"]["done"] == true && told["drain"]["moved"] == json!(["openshift-etcd/kept-1"]),
        "{told}"
    );
    ensure!(!world.is_there("kept-1").await?);
    // The budget is used up; force does not ask it.
    let held = world.done("nodes/drained-2/drain", &json!({ "reason": WHY, "waitSeconds": 0 })).await?;
    ensure!(held["drain"]["done"] == false && world.is_there("kept-2").await?, "{held}");
    let forced = world
        .done("nodes/drained-2/drain", &json!({ "reason": WHY, "force": true, "waitSeconds": 15 }))
        .await?;
    ensure!(forced["drain"]["moved"] == json!(["openshift-etcd/kept-2"]), "{forced}");
    until("the pod is gone", GENEROUS, || async {
        ensure!(!world.is_there("kept-2").await?);
        Ok(())
    })
    .await
}

async fn workloads(world: &World) -> Result<()> {
    let template = json!({"metadata": {"labels": {"app": "w"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}});
    let workload = |kind: &str, namespace: &str, more: Value| {
        let mut spec = json!({"selector": {"matchLabels": {"app": "w"}}, "template": template});
        if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            spec.extend(more.clone());
        }
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": namespace}, "spec": spec})
    };
    let all = [
        workload("Deployment", NAMESPACE, json!({"replicas": 2})),
        workload("DaemonSet", NAMESPACE, json!({})),
        workload("Deployment", "default", json!({"replicas": 2})),
    ];
    world.openshift.apply(&all).await?;
    let restart = ["workload", "restart", &world.cluster, "deployment", NAMESPACE, "web", "--reason", WHY];
    command_line(&world.aro, &world.person, &restart).await?;
    let annotation = "jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}";
    let seen = world.kubectl(&["get", "deployment", "web", "-n", NAMESPACE, "-o", annotation]).await?;
    ensure!(seen.ends_with('Z'), "{seen:?}");
    world.done(&format!("workloads/daemonset/{NAMESPACE}/web/restart"), &json!({ "reason": WHY })).await?;

    let place = format!("workloads/deployment/{NAMESPACE}/web/scale");
    let scale = |from: u32, replicas: u32| json!({ "reason": WHY, "from": from, "replicas": replicas });
    refused(&world.act(&place, &scale(7, 3)).await?, 409, "conflict")?;
    refused(&world.act(&place, &scale(2, 5_000)).await?, 422, "invalid")?;
    let told = world.done(&place, &scale(2, 3)).await?;
    ensure!(told["before"] == "2 replicas" && told["after"] == "3 replicas", "{told}");
    let seen = world
        .kubectl(&["get", "deployment", "web", "-n", NAMESPACE, "-o", "jsonpath={.spec.replicas}"])
        .await?;
    ensure!(seen == "3", "{seen}");
    let whole = format!("workloads/daemonset/{NAMESPACE}/web/scale");
    refused(&world.act(&whole, &json!({ "reason": WHY, "replicas": 1 })).await?, 422, "invalid")?;
    let customers = "workloads/deployment/default/web/restart";
    refused(&world.act(customers, &json!({ "reason": WHY })).await?, 403, "protected")
}

async fn pods(world: &World) -> Result<()> {
    world.openshift.apply(&[pod("extra", "node-1")]).await?;
    world.running("extra").await?;
    let place = format!("pods/{NAMESPACE}/extra/delete");
    world.done(&place, &json!({ "dryRun": true })).await?;
    ensure!(world.is_there("extra").await?, "a dry run deleted it");
    world.done(&place, &json!({ "reason": WHY, "force": true })).await?;
    ensure!(!world.is_there("extra").await?);
    refused(&world.act("pods/default/any/delete", &json!({ "reason": WHY })).await?, 403, "protected")?;
    refused(&world.act(&place, &json!({ "reason": WHY })).await?, 404, "not_there")
}

async fn certificates(world: &World) -> Result<()> {
    let key = rcgen::KeyPair::generate()?;
    let request = rcgen::CertificateParams::new(Vec::new())?.serialize_request(&key)?.pem()?;
    let csr = |name: &str| {
        json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": name}, "spec": {"request": STANDARD.encode(&request),
                "signerName": "example.org/any", "usages": ["client auth"]}})
    };
    world.openshift.apply(&[csr("csr-good"), csr("csr-bad")]).await?;
    refused(&world.act("csrs/csr-good/approve", &json!({ "reason": WHY })).await?, 403, "elevation_needed")?;
    world.person.elevate("admin").await?;
    let told = world.done("csrs/csr-good/approve", &json!({ "reason": WHY })).await?;
    ensure!(told["before"] == "pending" && told["after"] == "Approved", "{told}");
    refused(&world.act("csrs/csr-good/deny", &json!({ "reason": WHY })).await?, 409, "conflict")?;
    let deny = ["csr", "deny", &world.cluster, "csr-bad", "--reason", WHY];
    command_line(&world.aro, &world.person, &deny).await?;
    for (name, state) in [("csr-good", "Approved"), ("csr-bad", "Denied")] {
        let seen =
            world.kubectl(&["get", "csr", name, "-o", "jsonpath={.status.conditions[*].type}"]).await?;
        ensure!(seen == state, "{name}: {seen}");
    }
    Ok(())
}

/// Our log has who, why, before and after; the cluster's own has the person and our request.
async fn on_the_record(world: &World) -> Result<()> {
    for (verb, name, change) in [
        ("node.cordon", "drained-1", "before=schedulable&after=cordoned"),
        ("node.drain", "drained-1", "after=cordoned, 1 pod asked to leave, 0 pods left"),
        ("workload.scale", "web", "before=2 replicas&after=3 replicas"),
        ("csr.approve", "csr-good", "before=pending&after=Approved"),
    ] {
        let auditor = world.aro.session("auditor").await?;
        world.ended(verb, name).await?;
        let entries = auditor.audit(name).await?;
        let says = |entry: &Value| {
            entry["verb"] == verb && entry["query"].as_str().is_some_and(|query| query.contains(change))
        };
        ensure!(entries.iter().any(says), "{verb} without {change}: {entries:?}");
    }
    let patched = |entry: &Value| {
        entry["verb"] == "patch"
            && entry["objectRef"]["name"] == "drained-1"
            && entry["impersonatedUser"]["username"].is_string()
    };
    world.openshift.plane.audited("the person who cordoned a node", patched).await?;
    Ok(())
}

/// The dialogs of the pages, without scripts.
async fn by_form(world: &World) -> Result<()> {
    let path = format!("{}/act", world.cluster);
    let dialog = world.page(&format!("{path}?do=drain&name=drained-1")).await?.ok()?.text;
    for part in ["Drain drained-1?", "No pod on the node is moved", "aro node drain"] {
        ensure!(dialog.contains(part), "{part}: {}", shown(&dialog));
    }
    let token = dialog.split("name=\"csrf_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = token.with_context(|| shown(&dialog))?;
    let post = async |fields: &[(&str, &str)]| {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("csrf_token", token).extend_pairs(fields);
        let more = [("origin", world.person.base()), ("content-type", "application/x-www-form-urlencoded")];
        let headers = [&PAGE[..], &more[..]].concat();
        world.person.send(Method::POST, &path, &headers, Some(form.finish())).await
    };
    let drained = post(&[("do", "drain"), ("name", "drained-1"), ("how", "evict"), ("why", WHY)]).await?;
    ensure!(drained.status == 200 && drained.text.contains("Drained drained-1"), "{}", shown(&drained.text));
    let short = post(&[("do", "uncordon"), ("name", "drained-1"), ("why", "no")]).await?;
    ensure!(short.status == 422 && short.text.contains("d-why-e"), "{}", short.status);
    let done = post(&[("do", "uncordon"), ("name", "drained-1"), ("why", WHY)]).await?;
    ensure!(done.status == 303 && world.unschedulable("drained-1").await?.is_empty(), "{done:?}");
    Ok(())
}
