//! The chart on a real API server: every form of it is accepted there with the kinds that other projects define, its pods
//! are what the strictest of Kubernetes' security standards allows, and a release is installed, upgraded and taken back.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{ControlPlane, GENEROUS, Kubectl, part, until, workspace};

const VALUES: [&str; 3] = ["small", "cnpg", "openshift"];
/// Refuses pods that may do more than `restricted`.
const NAMESPACE: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"aro",
    "labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}"#;

struct Site {
    plane: ControlPlane,
    kubectl: Kubectl,
    kubeconfig: PathBuf,
}

impl Site {
    async fn start() -> Result<Self> {
        let plane = ControlPlane::start().await?;
        let (kubectl, kubeconfig) = (plane.admin()?, plane.admin_kubeconfig()?);
        let kinds = part("chart-crds")?.display().to_string();
        kubectl.ok(&["apply", "--server-side", "-f", &kinds]).await?;
        let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=5s"];
        until("the kinds are served", GENEROUS, || kubectl.ok(&wait)).await?;
        kubectl.with_input(NAMESPACE.as_bytes(), &["create", "-f", "-"]).await?.ok()?;
        Ok(Self { plane, kubectl, kubeconfig })
    }

    /// What helm prints; refusals are errors with what it said.
    async fn helm(&self, args: &[&str]) -> Result<String> {
        let mut command = tokio::process::Command::new(part("helm")?);
        let home = self.plane.folder().path().join("helm");
        command.args(args).args(["--namespace", "aro"]).current_dir(workspace()).kill_on_drop(true);
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", &home);
        for (name, folder) in
            [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")]
        {
            command.env(name, home.join(folder));
        }
        for proxy in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
            command.env_remove(proxy);
        }
        let output =
            tokio::time::timeout(GENEROUS, command.output()).await.context("helm does not end")??;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "helm {}: {said}", args.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// `install`, `upgrade` or `template` of the chart with the values of `ci/NAME.yaml`.
    async fn release(&self, verb: &str, name: &str, more: &[&str]) -> Result<String> {
        let values = format!("deploy/helm/aro/ci/{name}.yaml");
        self.helm(&[&[verb, "aro", "deploy/helm/aro", "--values", &values], more].concat()).await
    }

    async fn objects(&self, kind: &str) -> Result<Vec<Value>> {
        let list = self.kubectl.ok(&["--namespace=aro", "get", kind, "-o", "json"]).await?;
        let mut list: Value = serde_json::from_str(&list)?;
        serde_json::from_value(list["items"].take()).context(kind.to_owned())
    }

    /// The images of all deployments, each once, and the settings.
    async fn state(&self) -> Result<(Vec<String>, String)> {
        let deployments = self.objects("deployments").await?;
        let image = |object: &Value| {
            Some(object["spec"]["template"]["spec"]["containers"][0]["image"].as_str()?.to_owned())
        };
        let mut images: Vec<String> = deployments.iter().filter_map(image).collect();
        images.sort();
        images.dedup();
        let settings = self.kubectl.ok(&[
            "--namespace=aro",
            "get",
            "configmap",
            "aro",
            "-o",
            "jsonpath={.data.aro\\.toml}",
        ]);
        Ok((images, settings.await?))
    }
}

/// A pod as the controller of a deployment would make it, on the node of the control plane.
fn pod(deployment: &Value) -> Value {
    let template = &deployment["spec"]["template"];
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"] });
    pod["metadata"]["name"] =
        json!(format!("{}-1", deployment["metadata"]["name"].as_str().unwrap_or_default()));
    pod["metadata"]["namespace"] = json!("aro");
    pod["spec"]["nodeName"] = json!("node-1");
    pod
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_api_server_takes_every_form_of_the_chart_strictly() -> Result<()> {
    let site = Site::start().await?;
    for name in VALUES {
        let text = site.release("template", name, &[]).await?;
        let strictly =
            ["create", "--namespace=aro", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"];
        let taken = site.kubectl.with_input(text.as_bytes(), &strictly).await?.ok();
        let taken = taken.with_context(|| name.to_owned())?;
        let mut objects = Vec::new();
        for part in serde_json::Deserializer::from_str(&taken).into_iter::<Value>() {
            let part = part?;
            match part["items"].as_array() {
                Some(items) => objects.extend(items.clone()),
                None => objects.push(part),
            }
        }
        let deployments: Vec<_> = objects.iter().filter(|object| object["kind"] == "Deployment").collect();
        ensure!(deployments.len() >= 3, "{name}: {} deployments", deployments.len());
        for deployment in deployments {
            let pod = pod(deployment).to_string();
            let made =
                site.kubectl.with_input(pod.as_bytes(), &["create", "--dry-run=server", "-f", "-"]).await?;
            made.ok().with_context(|| format!("{name}: {pod}"))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_taken_back_and_removed() -> Result<()> {
    let site = Site::start().await?;
    site.release("install", "small", &["--set", "image.tag=one"]).await?;
    let deployments = site.objects("deployments").await?;
    ensure!(deployments.len() == 3, "{} deployments", deployments.len());
    for deployment in &deployments {
        site.kubectl
            .with_input(pod(deployment).to_string().as_bytes(), &["create", "-f", "-"])
            .await?
            .ok()?;
    }
    site.kubectl
        .ok(&["--namespace=aro", "wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s"])
        .await?;
    let first = site.state().await?;
    ensure!(first.0 == ["aro.example/aro:one"], "{:?}", first.0);

    site.release("upgrade", "small", &["--set", "image.tag=two", "--set", "settings.limits.idle=5m"]).await?;
    let second = site.state().await?;
    ensure!(second.0 == ["aro.example/aro:two"], "{:?}", second.0);
    ensure!(second.1.contains("idle = \"5m\""), "{}", second.1);
    let checksum = |objects: &[Value]| {
        objects[0]["spec"]["template"]["metadata"]["annotations"]["checksum/config"].clone()
    };
    let upgraded = site.objects("deployments").await?;
    ensure!(checksum(&upgraded) != checksum(&deployments), "pods would keep the settings of before");

    // A mistake changes nothing.
    let refused = site.release("upgrade", "small", &["--set", "settings.limits.idel=5m"]).await;
    ensure!(refused.is_err_and(|error| format!("{error:#}").contains("'idel' not allowed")));
    ensure!(site.state().await? == second);

    site.helm(&["rollback", "aro", "1"]).await?;
    ensure!(site.state().await? == first);

    // The data base outlives the release that made it.
    site.release("upgrade", "cnpg", &[]).await?;
    let deployments = site.objects("deployments").await?;
    ensure!(deployments.len() == 5, "{} deployments", deployments.len());
    // Scaling is switched on, and nothing is scaled down by that.
    let few = deployments
        .iter()
        .filter(|object| object["metadata"]["name"] != "aro-rp" && object["spec"]["replicas"] != 2);
    ensure!(few.count() == 0, "a deployment has fewer pods than before");
    site.helm(&["uninstall", "aro"]).await?;
    ensure!(site.objects("deployments").await?.is_empty());
    ensure!(site.objects("clusters.postgresql.cnpg.io").await?.len() == 1);
    Ok(())
}
