//! What administrators' tools do in a cluster, on a real API server with nodes of kwok and a kubelet.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, OpenShift, until};

use super::real::{Api, message};

/// A pod of the platform on the node whose kubelet runs commands.
fn pod(name: &str, labels: &Value, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "openshift-etcd", "labels": labels},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.example/main:1"}]}})
}

async fn running(openshift: &OpenShift, name: &str) -> Result<()> {
    until(&format!("{name} runs"), GENEROUS, || async {
        let phase = ["get", "pod", name, "-n", "openshift-etcd", "-o", "jsonpath={.status.phase}"];
        let phase = openshift.admin().ok(&phase).await?;
        ensure!(phase == "Running", "{phase}");
        Ok(())
    })
    .await
}

/// The entry of the end of a request of ours.
async fn ended(api: &Api, resource: &str) -> Result<rp_documents::Entry> {
    until(&format!("the audit log has the end of {resource}"), GENEROUS, || async {
        let all = api.audit.search(&rp_audit::Query::default()).await?.entries;
        let end = |entry: &rp_documents::Entry| {
            entry.resource.ends_with(resource) && entry.phase == rp_documents::Phase::End
        };
        all.into_iter().find(|entry| end(entry)).context("no entry")
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_written_and_deleted_under_the_rules() -> Result<()> {
    let openshift = OpenShift::shared().await?;
    let api = Api::over(openshift).await?;
    let map = |data: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "written", "namespace": "openshift-etcd"}, "data": {"a": data}})
    };
    let write = async |body: &Value| api.send(Method::POST, "kubernetesobjects", &[], Some(body)).await;
    for data in ["1", "2"] {
        let (status, text) = write(&map(data)).await?;
        ensure!((status, text.as_str()) == (200, ""), "{status} {text}");
        let query = [("kind", "ConfigMap"), ("namespace", "openshift-etcd"), ("name", "written")];
        let (_, told) = api.ask(&query).await?;
        ensure!(told["data"]["a"] == data, "{told}");
    }
    let mut stale = map("3");
    stale["metadata"]["resourceVersion"] = json!("1");
    let (status, text) = write(&stale).await?;
    ensure!(status == 409 && text.contains("Conflict"), "{status} {text}");
    let mut secret = map("x");
    secret["kind"] = json!("Secret");
    for (body, status, told) in [
        (secret, 403, "Access to secrets is forbidden."),
        (
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}}),
            403,
            "Write access to RBAC is forbidden.",
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}),
            403,
            "Access to the provided namespace 'default' is forbidden.",
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a/b", "namespace": "openshift-etcd"}}),
            400,
            "The provided name 'a/b' is invalid.",
        ),
        (json!({"kind": "ConfigMap"}), 400, "The request object must include 'apiVersion'."),
    ] {
        let (code, text) = write(&body).await?;
        ensure!((code, message(&text).as_str()) == (status, told), "{body}: {code} {text}");
    }
    let query = |kind, force| {
        [("kind", kind), ("namespace", "openshift-etcd"), ("name", "written"), ("force", force)]
    };
    let (status, text) =
        api.send(Method::DELETE, "kubernetesobjects", &query("ConfigMap", "true"), None).await?;
    let told = "Force deleting groupKind 'ConfigMap' is forbidden.";
    ensure!((status, message(&text).as_str()) == (403, told), "{status} {text}");
    for expected in [200, 404] {
        let (status, text) =
            api.send(Method::DELETE, "kubernetesobjects", &query("configmaps", "false"), None).await?;
        ensure!(status == expected, "{status} {text}");
    }
    let entry = ended(&api, "kubernetesobjects").await?;
    ensure!(entry.verb == "rp-admin.post" || entry.verb == "rp-admin.delete", "{entry:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_and_a_log_are_passed_on_as_they_come() -> Result<()> {
    let openshift = OpenShift::shared().await?;
    openshift.apply(&[pod("shell", &json!({}), "node-1")]).await?;
    running(openshift, "shell").await?;
    let api = Api::over(openshift).await?;
    let body = |command: &str| json!({"namespace": "openshift-etcd", "podName": "shell", "container": "main", "command": command});
    let exec = async |command: &str| api.send(Method::POST, "exec", &[], Some(&body(command))).await;
    let (status, text) = exec("echo one; echo two >&2; echo three").await?;
    let told = "Executing in openshift-etcd/shell/main...\none\nthree\nstderr:\ntwo\n\nDone.\n";
    ensure!((status, text.as_str()) == (200, told), "{status} {text:?}");
    let entry = ended(&api, "exec").await?;
    ensure!(entry.result.word == "ok" && entry.bytes_out == told.len() as u64, "{entry:?}");
    ensure!(entry.command == ["sh", "-c", "echo one; echo two >&2; echo three"], "{entry:?}");
    ensure!(entry.name == "shell/main" && entry.namespace == "openshift-etcd", "{entry:?}");

    let (_, text) = exec("exit 3").await?;
    ensure!(text.contains("Command failed: command terminated with"), "{text:?}");
    let (_, text) = exec("head -c 1100000 /dev/zero | tr '\\0' x").await?;
    ensure!(
        text.len() < 1_049_000 && text.ends_with("\n[stdout truncated at 1 MiB]\nDone.\n"),
        "{}",
        text.len()
    );
    for (what, status, told) in [
        (body(""), 400, "The provided command must not be empty."),
        (
            json!({"namespace": "default", "podName": "web", "container": "web", "command": "id"}),
            403,
            "Access to the provided namespace 'default' is forbidden.",
        ),
        (
            json!({"namespace": "openshift-etcd", "podName": "a/../b", "container": "main", "command": "id"}),
            400,
            "The provided pod name 'a/../b' is invalid.",
        ),
    ] {
        let (code, text) = api.send(Method::POST, "exec", &[], Some(&what)).await?;
        ensure!((code, message(&text).as_str()) == (status, told), "{what}: {code} {text}");
    }
    let gone =
        json!({"namespace": "openshift-etcd", "podName": "nobody", "container": "main", "command": "id"});
    let (status, text) = api.send(Method::POST, "exec", &[], Some(&gone)).await?;
    ensure!(status >= 400 && text.contains("error"), "{status} {text}");

    // A client that goes away ends the request; its end is on the record.
    let waiting = api.begin(Method::POST, "exec", &[], Some(&body("echo begun; sleep 600"))).await?;
    ensure!(waiting.status() == 200);
    drop(waiting);
    until("the end of a client that left is on the record", GENEROUS, || async {
        let all = api.audit.search(&rp_audit::Query::default()).await?.entries;
        ensure!(all.iter().any(|entry| entry.result.word == "gone"), "{:?}", all.last());
        Ok(())
    })
    .await?;

    openshift.plane.write_log("openshift-etcd", "shell", "main", "first\nlast\n")?;
    let query = [("namespace", "openshift-etcd"), ("podname", "shell"), ("container", "main")];
    let answer = api.begin(Method::GET, "kubernetespodlogs", &query, None).await?;
    ensure!(answer.headers()["content-type"] == "text/plain");
    let text = answer.text().await?;
    ensure!(text.contains("first") && text.contains("last"), "{text:?}");
    let query = [("namespace", "openshift-etcd"), ("podname", "nobody"), ("container", "main")];
    let (status, text) = api.send(Method::GET, "kubernetespodlogs", &query, None).await?;
    ensure!(status == 404 && text.contains("pods/nobody"), "{status} {text}");
    let query = [("namespace", "openshift-etcd"), ("podname", "shell"), ("container", "a&follow=true")];
    let (status, text) = api.send(Method::GET, "kubernetespodlogs", &query, None).await?;
    ensure!(
        status == 400 && message(&text) == "The provided container name 'a&follow=true' is invalid.",
        "{text}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_honours_budgets_unless_it_is_forced() -> Result<()> {
    let openshift = OpenShift::start().await?;
    let kubectl = openshift.admin();
    let api = Api::over(&openshift).await?;
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
        "annotations": {"kwok.x-k8s.io/node": "fake"}}})
    };
    openshift.apply(&[node("drained-1"), node("drained-2")]).await?;
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept", "namespace": "openshift-etcd"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"kept": "yes"}}}});
    let kept = json!({"kept": "yes"});
    openshift.apply(&[budget, pod("kept-1", &kept, "drained-1"), pod("kept-2", &kept, "drained-2")]).await?;
    for name in ["kept-1", "kept-2"] {
        running(&openshift, name).await?;
    }
    // Cordoned and not: the object says it.
    for (should, told) in [("true", "true"), ("false", "")] {
        let query = [("vmName", "drained-1"), ("shouldCordon", should)];
        let (status, text) = api.send(Method::POST, "cordonnode", &query, None).await?;
        ensure!(status == 200, "{status} {text}");
        let seen = kubectl.ok(&["get", "node", "drained-1", "-o", "jsonpath={.spec.unschedulable}"]).await?;
        ensure!(seen == told, "{should}: {seen:?}");
    }
    let (status, text) =
        api.send(Method::POST, "cordonnode", &[("vmName", "../x"), ("shouldCordon", "true")], None).await?;
    ensure!(status == 400 && message(&text) == "The provided name '../x' is invalid.", "{status} {text}");

    let forced = [("vmName", "drained-1"), ("force", "true")];
    let (status, text) = api.send(Method::POST, "drainnode", &forced, None).await?;
    ensure!(status == 200, "{status} {text}");
    let gone = kubectl.run(&["get", "pod", "kept-1", "-n", "openshift-etcd"]).await?;
    ensure!(gone.stderr.contains("not found"), "{gone:?}");

    // Nobody counts the budget's pods here, so that it allows no disruption until a person says so.
    let drain = async { api.send(Method::POST, "drainnode", &[("vmName", "drained-2")], None).await };
    let allow = async {
        let refused = |entry: &Value| {
            entry["requestURI"].as_str().is_some_and(|uri| uri.ends_with("/pods/kept-2/eviction"))
                && entry["responseStatus"]["code"] == 429
        };
        openshift.plane.audited("a refused eviction", refused).await?;
        let pod = kubectl.run(&["get", "pod", "kept-2", "-n", "openshift-etcd"]).await?;
        ensure!(pod.status == 0, "the budget was not honoured: {pod:?}");
        let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2,
            "desiredHealthy": 1, "expectedPods": 2}})
        .to_string();
        let patch =
            ["patch", "pdb", "kept", "-n", "openshift-etcd", "--subresource=status", "--type=merge", "-p"];
        kubectl.ok(&[&patch[..], &[status.as_str()]].concat()).await?;
        anyhow::Ok(())
    };
    let (drained, allowed) = tokio::join!(drain, allow);
    allowed?;
    let (status, text) = drained?;
    ensure!(status == 200, "{status} {text}");
    let entry = ended(&api, "drainnode").await?;
    ensure!(entry.query.contains("#before=schedulable&after=cordoned, 1 pods removed"), "{entry:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_certificates_are_approved_once() -> Result<()> {
    let openshift = OpenShift::shared().await?;
    let kubectl = openshift.admin();
    let api = Api::over(openshift).await?;
    let key = rcgen::KeyPair::generate()?;
    let request = rcgen::CertificateParams::new(Vec::new())?.serialize_request(&key)?.pem()?;
    let request = STANDARD.encode(request);
    let csr = |name: &str| {
        json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": name}, "spec": {"request": request, "signerName": "example.org/any",
                "usages": ["client auth"]}})
    };
    openshift.apply(&[csr("csr-one"), csr("csr-two"), csr("csr-denied")]).await?;
    kubectl.ok(&["certificate", "deny", "csr-denied"]).await?;
    let approve = async |name: &str| api.send(Method::POST, "approvecsr", &[("csrName", name)], None).await;
    let condition = async |name: &str| {
        let told = kubectl.ok(&["get", "csr", name, "-o", "json"]).await?;
        anyhow::Ok(serde_json::from_str::<Value>(&told)?["status"]["conditions"].clone())
    };
    for _ in 0..2 {
        let (status, text) = approve("csr-one").await?;
        ensure!((status, text.as_str()) == (200, ""), "{status} {text}");
    }
    let told = condition("csr-one").await?;
    ensure!(told.as_array().map(Vec::len) == Some(1) && told[0]["reason"] == "AROSupportApprove", "{told}");
    ensure!(told[0]["message"] == "This CSR was approved by ARO support personnel.", "{told}");
    let (status, text) = approve("csr-denied").await?;
    let denied = "certificate signing request \"csr-denied\" is already Denied";
    ensure!((status, message(&text).as_str()) == (400, denied), "{status} {text}");
    let (status, text) = approve("csr-none").await?;
    let missing = "certificate signing request 'csr-none' was not found.";
    ensure!((status, message(&text).as_str()) == (400, missing), "{status} {text}");
    let (status, text) = api.send(Method::POST, "approvecsr", &[], None).await?;
    ensure!(status == 200, "{status} {text}");
    ensure!(condition("csr-two").await?[0]["type"] == "Approved");
    ensure!(condition("csr-denied").await?[0]["type"] == "Denied");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_is_shown_and_is_deleted() -> Result<()> {
    let openshift = OpenShift::shared().await?;
    let kubectl = openshift.admin();
    let api = Api::over(openshift).await?;
    let body = json!({"kind": "Job", "metadata": {"name": "repair", "namespace": "openshift-etcd"},
        "spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "main", "image": "registry.example/main:1"}]}}}});
    let run = async { api.send(Method::POST, "runjob", &[], Some(&body)).await };
    // The controller of jobs, which no part of this cluster is.
    let controller = async {
        let name = until("the job is there", GENEROUS, || async {
            let names = ["get", "jobs", "-n", "openshift-etcd", "-o", "jsonpath={.items[*].metadata.name}"];
            let names = kubectl.ok(&names).await?;
            names.split(' ').find(|name| name.starts_with("repair-")).map(str::to_owned).context("none")
        })
        .await?;
        let worker = format!("{name}-pod");
        openshift.apply(&[pod(&worker, &json!({"batch.kubernetes.io/job-name": name}), "node-1")]).await?;
        openshift.plane.write_log("openshift-etcd", &worker, "main", "it is repaired\n")?;
        running(openshift, &worker).await?;
        until("the log is asked for", GENEROUS, || async {
            let asked = openshift.plane.kubelet_requests()?;
            ensure!(asked.iter().any(|line| line.contains(&worker)), "{:?}", asked.last());
            Ok(())
        })
        .await?;
        kubectl.ok(&["delete", "pod", &worker, "-n", "openshift-etcd", "--force"]).await?;
        let done =
            json!({"status": {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z",
            "succeeded": 1, "uncountedTerminatedPods": {}, "conditions": [
                {"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}})
            .to_string();
        let patch =
            ["patch", "job", &name, "-n", "openshift-etcd", "--subresource=status", "--type=merge", "-p"];
        kubectl.ok(&[&patch[..], &[done.as_str()]].concat()).await?;
        anyhow::Ok(name)
    };
    let (told, name) = tokio::join!(run, controller);
    let (name, (status, text)) = (name?, told?);
    ensure!(status == 200, "{status} {text}");
    for line in [
        format!("Creating job {name} in openshift-etcd..."),
        "Waiting for pod...".to_owned(),
        format!("Pod {name}-pod assigned, streaming logs..."),
        "Job succeeded.".to_owned(),
        "Cleanup complete.".to_owned(),
    ] {
        ensure!(text.lines().any(|told| told == line), "{line}: {text}");
    }
    ensure!(text.contains("it is repaired"), "{text}");
    let entry = ended(&api, "runjob").await?;
    ensure!(entry.command == ["registry.example/main:1"] && entry.result.word == "ok", "{entry:?}");
    Ok(())
}
