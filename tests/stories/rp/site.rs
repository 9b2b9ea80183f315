//! `aro rp` in a folder of the test: its certificates, its store, its callers.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use rp_base::Secret;
use rp_net::Credential;
use rp_net::tls::client_config;
use serde_json::{Value, json};
use tests_kit::{
    Answer, Authority, Folder, GENEROUS, Pair, Process, binary, cluster_body, earlier_binary, free_port,
    until,
};

pub(super) const SUB: &str = "00000000-0000-0000-0000-00000000a001";
pub(super) const VERSION: &str = "2025-07-25";
pub(super) const SQLITE: &str = "path = \"aro.db\"";
pub(super) const ARM: &str = "arm.test";
pub(super) const ADMIN: &str = "admin.test";

/// Folder and authorities of any number of processes.
pub(super) struct Site {
    pub(super) folder: Folder,
    /// Further lines of `[azure]`.
    pub(super) azure: String,
    server: Authority,
    pub(super) arm: Authority,
    pub(super) admin: Authority,
}

/// One `aro rp`.
pub(super) struct Rp {
    pub(super) url: String,
    pub(super) process: Process,
    ca_pem: String,
    pub(super) arm: Caller,
    pub(super) admin: Caller,
}

/// A caller: anonymous, or with a client certificate.
#[derive(Debug, Clone)]
pub(super) struct Caller(reqwest::Client);

impl Site {
    pub(super) fn new() -> Result<Self> {
        let site = Self {
            folder: Folder::new("rp")?,
            azure: String::new(),
            server: Authority::new("servers")?,
            arm: Authority::new("arm callers")?,
            admin: Authority::new("admin callers")?,
        };
        site.certificate()?;
        site.folder.write("arm-ca.pem", site.arm.pem())?;
        site.folder.write("admin-ca.pem", site.admin.pem())?;
        Ok(site)
    }

    /// Another certificate of the listener.
    pub(super) fn certificate(&self) -> Result<()> {
        let pair = self.server.server(&["localhost", "127.0.0.1"])?;
        self.folder.write("rp.key", &pair.key)?;
        self.folder.write("rp.crt", &pair.certificate)?;
        Ok(())
    }

    /// Callers by the authorities of the test.
    pub(super) fn named() -> String {
        format!("arm_ca_file = \"arm-ca.pem\"\narm_common_name = \"{ARM}\"\n")
    }

    /// A process that is ready, on the store, with these lines of `[rp]`.
    pub(super) async fn run(&self, name: &str, store: &str, callers: &str) -> Result<Rp> {
        let rp = self.begin(name, store, callers)?;
        self.ready(&rp).await?;
        Ok(rp)
    }

    /// As [`Self::run`]; it may not be ready.
    pub(super) fn begin(&self, name: &str, store: &str, callers: &str) -> Result<Rp> {
        let (port, observe) = (free_port()?, free_port()?);
        let azure = &self.azure;
        let audit = if store == SQLITE { "path = \"audit.db\"\n" } else { "" };
        let text = format!(
            "[listen]\nadmin = \"127.0.0.1:{observe}\"\n[store]\n{store}\n[keys]\nkeyring_file = \"keyring.json\"\n\
             [audit]\n{audit}checkpoint_key_file = \"{name}-checkpoint.key\"\n[azure]\nregion = \"eastus\"\n{azure}\
             [rp]\nlisten = \"127.0.0.1:{port}\"\ncert_file = \"rp.crt\"\nkey_file = \"rp.key\"\n\
             domain = \"eastus.aroapp.io\"\nready_delay = \"1ms\"\nread_time = \"2s\"\n\
             admin_ca_file = \"admin-ca.pem\"\nadmin_common_name = \"{ADMIN}\"\n{callers}"
        );
        self.folder.write(&format!("{name}.toml"), text)?;
        let ca_pem = self.server.pem().to_owned();
        let (arm, admin) = (self.arm.client(ARM, &[])?, self.admin.client(ADMIN, &[])?);
        Ok(Rp {
            url: format!("https://localhost:{port}"),
            process: self.process(name)?,
            arm: Caller::new(&ca_pem, Some(&arm))?,
            admin: Caller::new(&ca_pem, Some(&admin))?,
            ca_pem,
        })
    }

    fn process(&self, name: &str) -> Result<Process> {
        // In the soak one of two is of the version before.
        let program = if name == "two" { earlier_binary("aro")? } else { binary("aro")? };
        let mut command = Command::new(program);
        command.args(["rp", "--config", &format!("{name}.toml")]).current_dir(self.folder.path());
        Process::start(&self.folder, name, &mut command)
    }

    /// Starts it again where it was.
    pub(super) async fn again(&self, name: &str, mut rp: Rp) -> Result<Rp> {
        rp.process.kill()?;
        rp.process = self.process(name)?;
        self.ready(&rp).await?;
        Ok(rp)
    }

    pub(super) async fn ready(&self, rp: &Rp) -> Result<()> {
        let stranger = rp.stranger()?;
        rp.process
            .ready(std::time::Duration::from_secs(180), || async {
                rp.send(&stranger, Method::GET, "/healthz/ready", &[], None).await?.ok()
            })
            .await?;
        Ok(())
    }
}

impl Caller {
    pub(super) fn new(ca_pem: &str, pair: Option<&Pair>) -> Result<Self> {
        let credential = pair.map(|pair| Credential::Certificate {
            chain_pem: pair.certificate.clone(),
            key_pem: Secret::new(pair.key.clone()),
        });
        let tls = client_config(ca_pem, credential.as_ref(), &[b"h2", b"http/1.1"])?;
        let http = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().timeout(GENEROUS);
        Ok(Self(http.build()?))
    }
}

impl Rp {
    /// Without a certificate.
    pub(super) fn stranger(&self) -> Result<Caller> {
        Caller::new(&self.ca_pem, None)
    }

    /// With this one.
    pub(super) fn with(&self, pair: &Pair) -> Result<Caller> {
        Caller::new(&self.ca_pem, Some(pair))
    }

    pub(super) async fn send(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answer> {
        let mut request = caller.0.request(method, format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let answer = request.send().await.with_context(|| path.to_owned())?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Answer { status, headers, text: answer.text().await? })
    }

    /// As ARM.
    pub(super) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let referer = format!("https://management.azure.com{path}");
        self.send(&self.arm, method, path, &[("referer", &referer)], body.map(Value::to_string)).await
    }

    /// Registers the subscription, and offers a version to install.
    pub(super) async fn prepare(&self) -> Result<()> {
        let body = json!({"state": "Registered", "properties": {"tenantId": SUB}});
        let told =
            self.call(Method::PUT, &format!("/subscriptions/{SUB}?api-version=2.0"), Some(&body)).await?;
        ensure!(matches!(told.status, 200 | 201), "{told:?}");
        let body = json!({"properties": {"version": "4.17.27", "openShiftPullspec": "o", "installerPullspec": "i",
            "enabled": true, "default": true, "osImage": {"sku": "aro_417", "version": "417.94.20250101"}}});
        let path = "/admin/versions?api-version=admin";
        let told = self.send(&self.admin, Method::PUT, path, &[], Some(body.to_string())).await?;
        ensure!(matches!(told.status, 200 | 201), "{told:?}");
        self.offers().await
    }

    /// Waits until a version can be installed.
    pub(super) async fn offers(&self) -> Result<()> {
        let path = format!(
            "/subscriptions/{SUB}/providers/microsoft.redhatopenshift/locations/eastus/openshiftversions?api-version={VERSION}"
        );
        until("a version is offered", GENEROUS, || async {
            let told = self.call(Method::GET, &path, None).await?.ok()?.json()?;
            ensure!(told["value"].as_array().is_some_and(|list| !list.is_empty()), "{told}");
            Ok(())
        })
        .await
    }
}

/// The path of a cluster.
pub(super) fn path(name: &str) -> String {
    format!(
        "/subscriptions/{SUB}/resourceGroups/App-RG/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}?api-version={VERSION}"
    )
}

/// A body that makes a cluster; `n` keeps what must be its own apart.
pub(super) fn wanted(n: usize) -> Value {
    let mut body = cluster_body(SUB, n as u64);
    let profile = &mut body["properties"]["clusterProfile"];
    profile["pullSecret"] = json!("");
    profile["version"] = json!("4.17.27");
    profile["resourceGroupId"] = json!(format!("/subscriptions/{SUB}/resourceGroups/managed-{n}"));
    body
}
