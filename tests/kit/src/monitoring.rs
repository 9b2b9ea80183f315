//! A real Prometheus, twice, and a real Alertmanager, as the pods that OpenShift has them in.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{ControlPlane, Folder, GENEROUS, Process, free_port, part, until};

/// `prometheus-k8s-0`, `prometheus-k8s-1` and `alertmanager-main-0` of `openshift-monitoring`: they run on this
/// machine, scrape each other, and are reached through the cluster's port-forward.
#[derive(Debug)]
pub struct Monitoring {
    folder: Folder,
    ports: [u16; 2],
    replicas: Mutex<[Option<Process>; 2]>,
    alertmanager_port: u16,
    _alertmanager: Process,
}

const NAMESPACE: &str = "openshift-monitoring";

/// Rules whose alerts fire at once, stay pending, and are to be silenced.
const RULES: &str = r#"
groups:
- name: story
  rules:
  - alert: Watchdog
    expr: vector(1)
    labels: {severity: none}
    annotations: {summary: Always firing}
  - alert: StoryFires
    expr: up{job="prometheus"} == 1
    labels: {severity: critical}
    annotations: {summary: "{{ $labels.instance }} is up", runbook_url: "https://runbooks.example/StoryFires"}
  - alert: StoryWaits
    expr: vector(1)
    for: 10h
    labels: {severity: warning}
  - record: job:up:sum
    expr: sum by (job) (up)
"#;

impl Monitoring {
    /// Starts them and makes their pods.
    ///
    /// # Errors
    /// A part is missing or does not come up.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        let folder = Folder::new("monitoring")?;
        let ports = [free_port()?, free_port()?];
        let alertmanager_port = free_port()?;
        folder.write("rules.yaml", RULES)?;
        folder.write("alertmanager.yaml", "route: {receiver: none}\nreceivers: [{name: none}]\n")?;
        folder.write("prometheus.yaml", configuration(ports, alertmanager_port))?;
        let alertmanager =
            Process::start(&folder, "alertmanager", &mut alertmanager(&folder, alertmanager_port)?)?;
        let monitoring = Self {
            folder,
            ports,
            replicas: Mutex::new([None, None]),
            alertmanager_port,
            _alertmanager: alertmanager,
        };
        for replica in 0..2 {
            monitoring.go(replica).await?;
        }
        monitoring.pods(plane).await?;
        let up = || async {
            let answer = monitoring.ask(0, "query?query=count(up)").await?;
            ensure!(answer["data"]["result"][0]["value"][1] == "3", "{answer}");
            Ok(())
        };
        until("Prometheus has scraped all three", GENEROUS, up).await?;
        Ok(monitoring)
    }

    /// Starts a replica, again when it was stopped.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn go(&self, replica: usize) -> Result<()> {
        let port = self.ports[replica];
        let name = format!("prometheus-{replica}");
        let process = Process::start(&self.folder, &name, &mut prometheus(&self.folder, &name, port)?)?;
        let ready = || async move {
            let answer = reqwest::get(format!("http://127.0.0.1:{port}/-/ready")).await?;
            ensure!(answer.status().is_success(), "{}", answer.status());
            Ok(())
        };
        process.ready(GENEROUS, ready).await?;
        self.replicas.lock()[replica] = Some(process);
        Ok(())
    }

    /// Ends a replica at once.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn stop(&self, replica: usize) -> Result<()> {
        let process = self.replicas.lock()[replica].take();
        process.context("it does not run")?.kill()
    }

    /// Asks a replica directly, past everything of ours: `query?query=up`.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn ask(&self, replica: usize, tail: &str) -> Result<Value> {
        Ok(reqwest::get(format!("{}/api/v1/{tail}", self.url(replica))).await?.json().await?)
    }

    /// `http://127.0.0.1:PORT` of a replica.
    pub fn url(&self, replica: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[replica])
    }

    /// Silences an alert by its name.
    ///
    /// # Errors
    /// Alertmanager refuses.
    pub async fn silence(&self, alert: &str, comment: &str) -> Result<()> {
        let silence = json!({
            "matchers": [{ "name": "alertname", "value": alert, "isRegex": false, "isEqual": true }],
            "startsAt": "2020-01-01T00:00:00Z", "endsAt": "2099-01-01T00:00:00Z",
            "createdBy": "story", "comment": comment,
        });
        let url = format!("http://127.0.0.1:{}/api/v2/silences", self.alertmanager_port);
        let client = reqwest::Client::builder().timeout(Duration::from_secs(30)).build()?;
        let made = client.post(url).json(&silence).send().await?;
        ensure!(made.status().is_success(), "{}", made.text().await?);
        Ok(())
    }

    async fn pods(&self, plane: &ControlPlane) -> Result<()> {
        let admin = plane.admin()?;
        let pods = [
            ("prometheus-k8s-0", "prometheus", 9090, self.ports[0]),
            ("prometheus-k8s-1", "prometheus", 9090, self.ports[1]),
            ("alertmanager-main-0", "alertmanager", 9093, self.alertmanager_port),
        ];
        let mut items =
            vec![json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } })];
        for (name, label, port, there) in pods {
            let ports = plane.pod_folder(NAMESPACE, name).join("ports");
            std::fs::create_dir_all(&ports)?;
            std::fs::write(ports.join(port.to_string()), there.to_string())?;
            items.push(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "app.kubernetes.io/name": label } },
                "spec": { "nodeName": "node-1", "containers": [{
                    "name": label, "image": label, "ports": [{ "name": "web", "containerPort": port }] }] },
            }));
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
        admin.with_input(list.as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
        let wait = ["wait", "-n", NAMESPACE, "--for=condition=Ready", "pod", "--all", "--timeout=5s"];
        until("the pods of monitoring are ready", GENEROUS, || admin.ok(&wait)).await?;
        Ok(())
    }
}

fn configuration(ports: [u16; 2], alertmanager: u16) -> String {
    let target = |port: u16| format!("127.0.0.1:{port}");
    json!({
        "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
        "rule_files": ["rules.yaml"],
        "alerting": { "alertmanagers": [{ "static_configs": [{ "targets": [target(alertmanager)] }] }] },
        "scrape_configs": [
            { "job_name": "prometheus", "static_configs": [{ "targets": [target(ports[0]), target(ports[1])] }] },
            { "job_name": "alertmanager", "static_configs": [{ "targets": [target(alertmanager)] }] },
        ],
    })
    .to_string()
}

fn prometheus(folder: &Folder, name: &str, port: u16) -> Result<Command> {
    let mut command = Command::new(part("prometheus")?);
    let data: PathBuf = folder.path().join(name);
    command.current_dir(folder.path()).arg("--config.file=prometheus.yaml");
    command.arg(format!("--storage.tsdb.path={}", data.display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    command.arg("--rules.alert.resend-delay=2s");
    Ok(command)
}

fn alertmanager(folder: &Folder, port: u16) -> Result<Command> {
    let mut command = Command::new(part("alertmanager")?);
    command
        .current_dir(folder.path())
        .args(["--config.file=alertmanager.yaml", "--storage.path=alertmanager"]);
    command.arg(format!("--web.listen-address=127.0.0.1:{port}")).arg("--cluster.listen-address=");
    Ok(command)
}
