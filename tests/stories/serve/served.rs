//! `aro serve` as it is shipped, on a foreign OpenID provider: no simulator, no built-in accounts.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{
    Authority, Folder, GENEROUS, Process, Provider, Session, browser, free_port, part, shipped_binary,
};

/// The client id of an application that gets tokens of its own.
pub(crate) const APPLICATION: &str = "deployer-app";
pub(crate) const SECRET: &str = "a client secret of at least thirty-two characters";

/// Settings beyond the usual.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExtraSettings {
    /// Lines of `[oidc]`; `ISSUER` stands for the provider.
    pub(crate) oidc: &'static str,
    /// Whole sections.
    pub(crate) sections: &'static str,
}

/// `aro serve` and its provider.
pub(super) struct Served {
    pub(super) folder: Folder,
    pub(super) authority: Authority,
    pub(super) url: String,
    pub(super) proxy_url: String,
    pub(super) admin_url: String,
    pub(super) issuer: String,
    pub(super) aro: Process,
    provider: Option<Provider>,
    provider_config: Value,
}

impl Served {
    /// Both run, a shared secret between them.
    pub(super) async fn start() -> Result<Self> {
        let mut served = Self::prepare(SECRET_FILE, &secret_client()).await?;
        served.provider_comes().await?;
        served.ready().await?;
        Ok(served)
    }

    /// As [`Self::start`], with more settings.
    pub(super) async fn start_with(more: ExtraSettings) -> Result<Self> {
        let mut served = Self::prepare_with(SECRET_FILE, &secret_client(), more).await?;
        served.provider_comes().await?;
        served.ready().await?;
        Ok(served)
    }

    /// As [`Self::start`], but aro signs its requests to the provider (`private_key_jwt`).
    pub(super) async fn start_with_key() -> Result<Self> {
        let mut served = Self::prepare(KEY_FILES, &json!({})).await?;
        let jwk = public_key(&served.folder).await?;
        let client = &mut served.provider_config["clients"][0];
        client["token_endpoint_auth_method"] = "private_key_jwt".into();
        client["token_endpoint_auth_signing_alg"] = "RS256".into();
        client["jwks"] = json!({ "keys": [jwk] });
        served.provider_comes().await?;
        served.ready().await?;
        Ok(served)
    }

    /// aro runs, its provider does not answer yet.
    pub(super) async fn start_without_provider() -> Result<Self> {
        let served = Self::prepare(SECRET_FILE, &secret_client()).await?;
        served.ready().await?;
        Ok(served)
    }

    async fn prepare(credential: &str, client: &Value) -> Result<Self> {
        Self::prepare_with(credential, client, ExtraSettings::default()).await
    }

    async fn prepare_with(credential: &str, client: &Value, more: ExtraSettings) -> Result<Self> {
        let folder = Folder::new("serve")?;
        let authority = Authority::new("serve")?;
        folder.write("ca.pem", authority.pem())?;
        write_server(&folder, &authority)?;
        let pair = authority.rsa_client("aro")?;
        folder.write("client.key", &pair.key)?;
        folder.write("client.crt", &pair.certificate)?;
        folder.write("client-secret", SECRET)?;
        let (port, admin, provider) = (free_port()?, free_port()?, free_port()?);
        let (url, proxy_url) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
        let issuer = format!("https://localhost:{provider}");
        let credential = format!("{credential}\n{}", more.oidc.replace("ISSUER", &issuer));
        let text = settings(port, admin, &issuer, &credential) + more.sections;
        folder.write("aro.toml", text)?;
        let aro = serve(&folder, "aro")?;
        let (provider_config, admin_url) =
            (provider_config(&url, provider, client), format!("http://127.0.0.1:{admin}"));
        Ok(Self {
            folder,
            authority,
            url,
            proxy_url,
            admin_url,
            issuer,
            aro,
            provider: None,
            provider_config,
        })
    }

    /// Waits until aro answers.
    pub(super) async fn ready(&self) -> Result<()> {
        let stranger = self.stranger()?;
        self.aro.ready(GENEROUS, || async { stranger.get("/healthz/ready").await?.ok() }).await?;
        Ok(())
    }

    /// Starts the provider, each time with fresh signing keys and without its sessions.
    pub(super) async fn provider_comes(&mut self) -> Result<()> {
        self.provider_goes();
        // Its log holds the address: an old one would be read as its readiness.
        let _ = std::fs::remove_file(self.folder.path().join("oidc-provider.log"));
        self.provider = Some(Provider::start(&self.folder, &self.provider_config).await?);
        Ok(())
    }

    /// Ends the provider.
    pub(super) fn provider_goes(&mut self) {
        self.provider = None;
    }

    /// A client without a session.
    pub(super) fn stranger(&self) -> Result<Session> {
        Session::open(self.authority.pem(), &self.url, None)
    }

    /// A browser's script, signed in as `login`; its findings are held to no errors of the page.
    pub(super) async fn browse(&self, script: &str, login: &str, more: &Value) -> Result<Value> {
        let mut input = json!({
            "url": self.url, "account": login, "password": password(login), "provider": self.issuer,
        });
        if let (Some(all), Some(more)) = (input.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        let seen = browser(&self.folder, script, &input).await.with_context(|| self.aro.tail())?;
        ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
        Ok(seen)
    }
}

/// `aro serve` in a folder with `aro.toml`; its log is `NAME.log`.
pub(super) fn serve(folder: &Folder, name: &str) -> Result<Process> {
    let mut command = Command::new(shipped_binary()?);
    command.args(["serve", "--config", "aro.toml"]).current_dir(folder.path());
    Process::start(folder, name, &mut command)
}

/// A certificate for both host names as `server.crt` and `server.key`.
pub(crate) fn write_server(folder: &Folder, authority: &Authority) -> Result<()> {
    let pair = authority.server(&["localhost", "127.0.0.1"])?;
    folder.write("server.key", &pair.key)?;
    folder.write("server.crt", &pair.certificate)?;
    Ok(())
}

pub(crate) fn password(login: &str) -> String {
    format!("password of {login}")
}

/// The public half of `client.crt` as a JWK, named by the certificate's thumbprint.
async fn public_key(folder: &Folder) -> Result<Value> {
    let script = "const { X509Certificate, createHash } = require('node:crypto');
        const cert = new X509Certificate(require('node:fs').readFileSync('client.crt'));
        const kid = createHash('sha256').update(cert.raw).digest('base64url');
        console.log(JSON.stringify({ ...cert.publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }));";
    let mut node = tokio::process::Command::new(part("node")?);
    let output = node.args(["-e", script]).current_dir(folder.path()).output().await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn secret_client() -> Value {
    json!({ "client_secret": SECRET, "token_endpoint_auth_method": "client_secret_basic" })
}

pub(crate) fn provider_config(portal: &str, port: u16, client: &Value) -> Value {
    let account = |login: &str, groups: &[&str]| {
        json!({ "login": login, "password": password(login), "name": login, "groups": groups,
                "claims": { "oid": login, "email": login } })
    };
    // More groups than fit into a token, as Microsoft's provider says it.
    let overage = json!({ "login": "many@example.test", "password": password("many@example.test"), "name": "Many",
        "claims": { "oid": "many", "_claim_names": { "groups": "src1" },
                    "_claim_sources": { "src1": { "endpoint": "https://graph.example.test/" } } } });
    let mut registered = json!({
        "client_id": "aro",
        "redirect_uris": [format!("{portal}/callback")],
        "post_logout_redirect_uris": [portal, format!("{portal}/")],
        "backchannel_logout_uri": format!("{portal}/backchannel-logout"),
        "backchannel_logout_session_required": true,
        "require_auth_time": true,
    });
    if let (Some(all), Some(more)) = (registered.as_object_mut(), client.as_object()) {
        all.extend(more.clone());
    }
    let application = json!({ "client_id": APPLICATION, "client_secret": SECRET, "redirect_uris": [],
        "token_endpoint_auth_method": "client_secret_post", "grant_types": ["client_credentials"], "response_types": [] });
    json!({
        "port": port,
        "tls": { "cert": "server.crt", "key": "server.key" },
        "ca": "ca.pem",
        "control": Provider::CONTROL,
        "listed": ["team-other", "team-sre"],
        "clients": [registered, application],
        "accounts": [
            account("alice@example.test", &["team-sre", "team-admin", "team-auditor"]),
            account("eve@example.test", &["team-other"]),
            overage,
        ],
    })
}

const SECRET_FILE: &str = r#"client_secret_file = "client-secret""#;
const KEY_FILES: &str = "client_key_file = \"client.key\"\nclient_cert_file = \"client.crt\"";

fn settings(port: u16, admin: u16, issuer: &str, credential: &str) -> String {
    format!(
        r#"
[listen]
portal = "127.0.0.1:{port}"
admin = "127.0.0.1:{admin}"
[portal]
url = "https://localhost:{port}"
[proxy]
url = "https://127.0.0.1:{port}"
[tls]
cert_file = "server.crt"
key_file = "server.key"
ca_file = "ca.pem"
[store]
path = "aro.db"
[keys]
keyring_file = "keyring.json"
[oidc]
issuer = "{issuer}"
client_id = "aro"
{credential}
scopes = ["openid", "profile", "groups", "offline_access"]
ca_file = "ca.pem"
[imports]
allow = ["127.0.0.0/8"]
[roles]
sre = ["team-sre"]
admin = ["team-admin"]
auditor = ["team-auditor"]
"#
    )
}
