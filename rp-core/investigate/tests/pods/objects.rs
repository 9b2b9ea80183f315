//! What an investigation creates, and what its credential opens.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_operator_objects::{Change, rbac};
use serde_json::{Value, json};
use tests_kit::{ControlPlane, Kubectl};

use crate::sandbox::{CLUSTER, Sandbox, read};

/// What a shell, a program's options, YAML or Kubernetes' own expansion of variables would take for something else.
const HOSTILE: &str = "--config=/x $(HOME) $$(id) `id` \"; rm -rf / #' {{ .Values }} : [a]";

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_data_in_a_pod_without_rights() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let mut sandbox = Sandbox::new(plane, "objects").await?;
    let configuration =
        plane.folder().write("holmes.yaml", "toolsets: {kubernetes/core: {enabled: true}}\n")?;
    sandbox.pods.settings.investigate_config_file = Some(configuration);
    let (mut investigation, pod) = sandbox.begin(HOSTILE).await?;
    let id = pod.strip_prefix("holmes-investigate-").context("the pod's name")?;
    ensure!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    let [secret, map, found] = one_of_each(&sandbox).await?;
    ensure!(secret["metadata"]["name"] == format!("holmes-kubeconfig-{id}"), "{secret}");
    ensure!(map["metadata"]["name"] == format!("holmes-config-{id}"), "{map}");
    ensure!(map["data"]["question"] == HOSTILE, "{map}");
    ensure!(map["data"]["config.yaml"] == "toolsets: {kubernetes/core: {enabled: true}}\n", "{map}");
    for object in [&secret, &map, &found] {
        ensure!(object["metadata"]["annotations"]["aro.openshift.io/cluster"] == CLUSTER, "{object}");
    }
    let spec = &found["spec"];
    // The question stands nowhere in the pod: no shell, no option and no variable can take it.
    ensure!(!spec.to_string().contains("rm -rf"), "{spec}");
    ensure!(spec["serviceAccountName"] == "holmes-investigator", "{spec}");
    ensure!(found["metadata"]["labels"]["azure.workload.identity/use"] == "true", "{found}");
    for (at, wanted) in [
        (
            "/containers/0/args",
            json!([
                "ask",
                "--no-interactive",
                "--no-echo",
                "--config=/etc/investigation/input/config.yaml",
                "--prompt-file=/etc/investigation/input/question"
            ]),
        ),
        ("/automountServiceAccountToken", json!(false)),
        ("/activeDeadlineSeconds", json!(600)),
        ("/restartPolicy", json!("Never")),
        ("/hostAliases", json!([{"ip": "127.9.9.9", "hostnames": ["api-int.asked.example"]}])),
        ("/securityContext/runAsNonRoot", json!(true)),
        ("/securityContext/runAsUser", json!(1000)),
        ("/securityContext/seccompProfile", json!({"type": "RuntimeDefault"})),
        ("/containers/0/securityContext/capabilities", json!({"drop": ["ALL"]})),
        ("/containers/0/securityContext/readOnlyRootFilesystem", json!(true)),
        ("/containers/0/securityContext/allowPrivilegeEscalation", json!(false)),
        ("/containers/0/resources/requests", json!({"cpu": "100m", "memory": "256Mi"})),
        ("/containers/0/resources/limits", json!({"cpu": "1", "memory": "2Gi"})),
    ] {
        ensure!(spec.pointer(at) == Some(&wanted), "{at}: {spec}");
    }
    sandbox.print(&pod, "well\n")?;
    ensure!(investigation.next().await?.as_deref() == Some(&b"well\n"[..]));
    sandbox.end(&pod, "Succeeded", "").await?;
    ensure!(read(&mut *investigation).await?.is_empty());
    investigation.end().await?;
    investigation.close().await?;
    sandbox.is_empty().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credential_reads_no_secrets_and_ends_within_the_hour() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let sandbox = Sandbox::new(plane, "credential").await?;
    // What the operator keeps in every cluster.
    let roles: Vec<Value> = rbac::plan().changes.iter().map(object).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": roles}).to_string();
    sandbox.kubectl.with_input(list.as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    let (investigation, _) = sandbox.begin("who am I?").await?;
    let [secret, ..] = one_of_each(&sandbox).await?;
    let kubeconfig = STANDARD.decode(secret["data"]["kubeconfig"].as_str().context("a kubeconfig")?)?;
    let file: Value = serde_json::from_slice(&kubeconfig)?;
    let path = plane.folder().write("diagnostics.kubeconfig", &kubeconfig)?;
    let pod = Kubectl::new(plane.folder(), &path)?;
    // As the host alias does in the pod.
    let server = ["--server", &plane.url(), "--tls-server-name", "127.0.0.1"].map(str::to_owned);
    let run = async |args: &[&str]| {
        let args: Vec<&str> = server.iter().map(String::as_str).chain(args.iter().copied()).collect();
        pod.run(&args).await
    };
    run(&["get", "pods", "-A"]).await?.ok()?;
    run(&["get", "nodes"]).await?.ok()?;
    run(&["logs", "web", "-n", "default"]).await?.ok()?;
    for refused in [
        &["get", "secrets", "-A"][..],
        &["get", "secret", "-n", "credential", secret["metadata"]["name"].as_str().unwrap_or_default()],
        &["delete", "pod", "web", "-n", "default"],
        &["create", "configmap", "x", "-n", "default"],
        &["exec", "web", "-n", "default", "--", "id"],
        &["create", "token", "default", "-n", "default"],
        &["get", "nodes", "--as", "system:admin"],
    ] {
        let told = run(refused).await?.refused()?;
        ensure!(
            told.contains("forbidden") && told.contains("\"system:aro-diagnostics\""),
            "{refused:?}: {told}"
        );
    }
    let certificate =
        file["users"][0]["user"]["client-certificate-data"].as_str().context("a certificate")?;
    let path = plane.folder().write("diagnostics.crt", STANDARD.decode(certificate)?)?;
    let openssl = std::process::Command::new(tests_kit::part("openssl")?)
        .args(["x509", "-noout", "-subject", "-checkend", "3700", "-in"])
        .arg(path)
        .output()?;
    let told = String::from_utf8_lossy(&openssl.stdout);
    ensure!(
        told.contains("CN = system:aro-diagnostics") || told.contains("CN=system:aro-diagnostics"),
        "{told}"
    );
    ensure!(!told.contains("O =") && told.contains("Certificate will expire"), "{told}");
    investigation.close().await?;
    sandbox.is_empty().await
}

/// The object that a change writes.
fn object(change: &Change) -> Value {
    match change {
        Change::Apply(object) => object.clone(),
        _ => Value::Null,
    }
}

/// The secret, the config map and the pod.
async fn one_of_each(sandbox: &Sandbox<'_>) -> Result<[Value; 3]> {
    let mut all = Vec::new();
    for kind in ["secrets", "configmaps", "pods"] {
        let mut found = sandbox.all(kind).await?;
        ensure!(found.len() == 1, "{kind}: {}", found.len());
        all.append(&mut found);
    }
    all.try_into().ok().context("three objects")
}
