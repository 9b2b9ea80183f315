//! `aro serve` as it is shipped: a foreign OpenID provider, no simulator, no built-in accounts.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{
    Authority, ControlPlane, Folder, GENEROUS, Kubectl, Process, Provider, Session, binary, browser,
    free_port,
};

const SECRET: &str = "a client secret of at least thirty-two characters";

/// `aro serve` on a real provider.
struct Served {
    folder: Folder,
    authority: Authority,
    url: String,
    proxy_url: String,
    issuer: String,
    aro: Process,
    _provider: Provider,
}

impl Served {
    async fn start() -> Result<Self> {
        let folder = Folder::new("serve")?;
        let authority = Authority::new("serve")?;
        folder.write("ca.pem", authority.pem())?;
        authority.server(&["localhost", "127.0.0.1"])?.write(folder.path(), "server")?;
        folder.write("server.key", std::fs::read(folder.path().join("server.key"))?)?;
        let port = free_port()?;
        let (url, proxy_url) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
        let provider = Provider::start(&folder, &provider_config(&url)).await?;
        folder.write("client-secret", SECRET)?;
        folder.write("aro.toml", settings(port, free_port()?, &url, &proxy_url, &provider.issuer))?;
        let mut command = Command::new(binary("aro")?);
        command.args(["serve", "--config", "aro.toml"]).current_dir(folder.path());
        let aro = Process::start(&folder, "aro", &mut command)?;
        let stranger = Session::open(authority.pem(), &url, None)?;
        aro.ready(GENEROUS, || async { stranger.get("/healthz/ready").await?.ok() }).await?;
        let issuer = provider.issuer.clone();
        Ok(Self { folder, authority, url, proxy_url, issuer, aro, _provider: provider })
    }
}

fn provider_config(portal: &str) -> Value {
    let account = |login: &str, groups: &[&str]| {
        json!({ "login": login, "password": format!("password of {login}"), "name": login, "groups": groups,
                "claims": { "oid": login, "email": login } })
    };
    // More groups than fit into a token, as Microsoft's provider says it.
    let overage = json!({ "login": "many@example.test", "password": "password of many@example.test", "name": "Many",
        "claims": { "oid": "many", "_claim_names": { "groups": "src1" },
                    "_claim_sources": { "src1": { "endpoint": "https://graph.example.test/" } } } });
    json!({
        "tls": { "cert": "server.crt", "key": "server.key" },
        "clients": [{
            "client_id": "aro", "client_secret": SECRET, "token_endpoint_auth_method": "client_secret_basic",
            "redirect_uris": [format!("{portal}/callback")],
            "post_logout_redirect_uris": [portal, format!("{portal}/"), format!("{portal}/signed-out")],
        }],
        "accounts": [
            account("alice@example.test", &["team-sre", "team-admin"]),
            account("eve@example.test", &["team-other"]),
            overage,
        ],
    })
}

fn settings(port: u16, admin: u16, portal: &str, proxy: &str, issuer: &str) -> String {
    format!(
        r#"
[listen]
portal = "127.0.0.1:{port}"
admin = "127.0.0.1:{admin}"
[portal]
url = "{portal}"
[proxy]
url = "{proxy}"
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
client_secret_file = "client-secret"
scopes = ["openid", "profile", "groups"]
ca_file = "ca.pem"
[imports]
allow = ["127.0.0.0/8"]
[roles]
sre = ["team-sre"]
admin = ["team-admin"]
"#
    )
}

fn input(served: &Served, login: &str, more: &Value) -> Value {
    let mut input = json!({
        "url": served.url, "account": login, "password": format!("password of {login}"), "provider": served.issuer,
    });
    if let (Some(all), Some(more)) = (input.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    input
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_provider_signs_people_in_and_out() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let served = Served::start().await?;
    let kubeconfig = std::fs::read_to_string(plane.service_kubeconfig()?)?;
    let import = json!({ "name": "real", "kubeconfig": kubeconfig, "as_groups": ["system:masters"] });
    let more = json!({ "import": import, "cluster": "real", "reason": "taken by way of a real provider" });
    let seen = browser(&served.folder, "main-job", &input(&served, "alice@example.test", &more)).await;
    let seen = seen.with_context(|| served.aro.tail())?;
    ensure!(seen["errors"] == json!([]) && seen["violations"] == json!([]), "{seen}");
    ensure!(seen["after_sign_out"] == 401 && seen["asked_again"] == true, "{seen}");
    let file = std::path::Path::new(seen["file"].as_str().context("a file")?);
    let kubectl = Kubectl::new(&served.folder, file)?;
    let whoami: Value = serde_json::from_str(&kubectl.ok(&["auth", "whoami", "-o", "json"]).await?)?;
    ensure!(whoami["status"]["userInfo"]["username"] == "alice@example.test", "{whoami}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_come_in_is_told_why() -> Result<()> {
    let served = Served::start().await?;
    for (login, word) in [("eve@example.test", "team-sre"), ("many@example.test", "groups")] {
        let seen = browser(&served.folder, "no-group", &input(&served, login, &json!({}))).await;
        let seen = seen.with_context(|| served.aro.tail())?;
        let text = seen["text"].as_str().unwrap_or_default();
        ensure!(text.contains(word), "{login}: {text}");
        ensure!(seen["info"] == 401 || seen["info"] == 403, "{login}: {}", seen["info"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_read_again_on_hangup() -> Result<()> {
    let served = Served::start().await?;
    let before = Session::open(served.authority.pem(), &served.url, None)?;
    before.get("/healthz/ready").await?.ok()?;
    let other = Authority::new("the next authority")?;
    let pair = other.server(&["localhost", "127.0.0.1"])?;
    served.folder.write("server.key", &pair.key)?;
    served.folder.write("server.crt", &pair.certificate)?;
    served.aro.signal("HUP")?;
    tests_kit::until("the new certificate is served", GENEROUS, || async {
        Session::open(other.pem(), &served.proxy_url, None)?.get("/healthz/ready").await?.ok()
    })
    .await?;
    Ok(())
}
