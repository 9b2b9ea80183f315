//! A console and its OAuth server on real nginx, two plain services beside them, and an `aro-dev` that imports all.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::path::PathBuf;
use std::process::{Command as StdCommand, Stdio};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests_kit::{
    Aro, AroOptions, Authority, Folder, GENEROUS, Output, Process, Session, binary, free_port, part, until,
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

pub(crate) const CONSOLE: &str = "console.apps.harbor.test";
pub(crate) const OAUTH: &str = "oauth.apps.harbor.test";
const PLACES: [&str; 4] = [
    "console.apps.harbor.test:443",
    "oauth.apps.harbor.test:443",
    "count.harbor.test:7",
    "noise.harbor.test:9",
];
const BIG: usize = 64 << 20;

/// Everything that the stories of tunnels share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) aro: Aro,
    pub(crate) folder: Folder,
    pub(crate) cluster: String,
    pub(crate) console_port: u16,
    pub(crate) big: Vec<u8>,
    ca: PathBuf,
    cookie: PathBuf,
    nginx: Process,
}

impl Site {
    /// The one of this test process.
    pub(crate) async fn get() -> Result<&'static Self> {
        static SITE: OnceCell<Site> = OnceCell::const_new();
        SITE.get_or_try_init(Self::start).await
    }

    async fn start() -> Result<Self> {
        let folder = Folder::new("tunnel")?;
        let authority = Authority::new("ingress of harbor")?;
        let ca = folder.write("ingress-ca.pem", authority.pem())?;
        let big: Vec<u8> = (0..BIG).map(|n| (n ^ (n >> 9) ^ (n >> 17)) as u8).collect();
        let (console_port, oauth_port) = (free_port()?, free_port()?);
        let nginx = nginx(&folder, &authority, console_port, oauth_port, &big).await?;
        let (count, noise) = (counter()?, noise()?);

        let env = ["SIGN_IN", "ISSUE", "STREAMS"]
            .map(|rate| (format!("ARO_LIMITS__{rate}_PER_MINUTE"), "0".to_owned()));
        let aro = Aro::start(AroOptions { clusters: 2, env: env.to_vec(), ..AroOptions::default() }).await?;
        let at = [console_port, oauth_port, count, noise];
        let destinations: Vec<String> =
            PLACES.iter().zip(at).map(|(place, at)| format!("{place}=127.0.0.1:{at}")).collect();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("https://127.0.0.1:{}", free_port()?),
                "certificate-authority-data": STANDARD.encode(authority.pem())}}],
            "users": [{"name": "u", "user": {"token": "none"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        let body = json!({
            "name": "tunnelled", "kubeconfig": kubeconfig.to_string(),
            "tunnel": {"destinations": destinations, "console": format!("https://{CONSOLE}/"), "ca": authority.pem()},
        });
        let imported = aro.session("admin").await?.post("/api/v1/imports", &body).await?.ok()?.json()?;
        let cluster = imported["resourceId"].as_str().context("a resource id")?.to_owned();
        let session = aro.session("elevated").await?;
        until("the imported cluster is known", GENEROUS, || async {
            session.get(&cluster).await?.ok().map(drop)
        })
        .await?;
        session.elevate("write").await?;
        let cookie = session.cookie().context("a cookie")?;
        let cookie = folder.write("elevated.cookie", cookie)?;
        Ok(Self { aro, folder, cluster, console_port, big, ca, cookie, nginx })
    }

    /// A session of the person whose tunnels these are.
    pub(crate) async fn session(&self) -> Result<Session> {
        self.aro.session("elevated").await
    }

    /// curl that trusts the ingress.
    pub(crate) async fn curl(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(part("curl")?);
        command.args(["-sS", "--max-time", "120", "--cacert"]).arg(&self.ca).args(arguments);
        command.env("no_proxy", "").env_remove("https_proxy").env_remove("HTTPS_PROXY");
        output(command).await
    }

    /// `aro` with a folder of its own for what it keeps.
    pub(crate) fn aro_command(&self, arguments: &[&str], home: &str) -> Result<Command> {
        let config = self.folder.path().join(format!("config-{}", home.replace(' ', "-")));
        let mut command = Command::new(binary("aro")?);
        let end = arguments.iter().position(|&word| word == "--").unwrap_or(arguments.len());
        let (own, others) = arguments.split_at(end);
        command.args(own).arg("--portal").arg(&self.aro.dev.url).arg("--ca-file").arg(&self.aro.dev.ca_file);
        command.arg("--session-cookie-file").arg(&self.cookie).arg("--config-dir").arg(config).args(others);
        command.env("HOME", self.folder.path()).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(command)
    }

    /// `aro` that ends by itself.
    pub(crate) async fn aro_ends(&self, arguments: &[&str], home: &str) -> Result<Output> {
        output(self.aro_command(arguments, home)?).await
    }

    /// What the web servers were asked for.
    pub(crate) fn asked(&self) -> String {
        let _ = self.nginx.exited();
        std::fs::read_to_string(self.folder.path().join("access.log")).unwrap_or_default()
    }
}

async fn output(mut command: Command) -> Result<Output> {
    command.kill_on_drop(true);
    let output = tokio::time::timeout(GENEROUS * 2, command.output()).await.context("it does not end")??;
    Ok(Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// A running `aro tunnel`.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) address: SocketAddr,
    pub(crate) grant: String,
    home: String,
    child: Child,
    // Its notes: read at its end, so the pipe must be drained meanwhile.
    notes: tokio::task::JoinHandle<String>,
}

impl Local {
    /// With an access of its own.
    pub(crate) async fn start(site: &Site, reason: &str, more: &[&str]) -> Result<Self> {
        let all: Vec<&str> = PLACES.iter().flat_map(|place| ["--to", place]).collect();
        let base = ["tunnel", "tunnelled", "-o", "json", "--reason", reason];
        Self::run(site, &[&base[..], &all, more].concat(), reason).await
    }

    /// To another cluster's places.
    pub(crate) async fn to_places(site: &Site, cluster: &str, reason: &str, places: &[&str]) -> Result<Self> {
        let base = ["tunnel", cluster, "-o", "json", "--reason", reason];
        Self::run(site, &[&base[..], places].concat(), reason).await
    }

    /// The same once more, from the same home and without a reason.
    pub(crate) async fn again(first: &Self, site: &Site) -> Result<Self> {
        Self::run(site, &["tunnel", "tunnelled", "-o", "json", "--to", PLACES[0]], &first.home).await
    }

    async fn run(site: &Site, arguments: &[&str], home: &str) -> Result<Self> {
        let mut child = site.aro_command(arguments, home)?.spawn()?;
        let mut notes = child.stderr.take().context("standard error")?;
        let notes = tokio::spawn(async move {
            let mut said = String::new();
            let _ = notes.read_to_string(&mut said).await;
            said
        });
        let mut lines = BufReader::new(child.stdout.take().context("standard output")?).lines();
        let mut text = String::new();
        let told: Result<Value> = tokio::time::timeout(GENEROUS, async {
            while let Some(line) = lines.next_line().await? {
                text.push_str(&line);
                if let Ok(told) = serde_json::from_str(&text) {
                    return Ok(told);
                }
            }
            anyhow::bail!("it ended: {text}")
        })
        .await
        .context("aro tunnel says nothing")?;
        let told = match told {
            Ok(told) => told,
            Err(error) => anyhow::bail!("{error:#}: {}", notes.await?),
        };
        let text = |name: &str| told[name].as_str().map(str::to_owned).with_context(|| told.to_string());
        Ok(Self {
            address: text("address")?.parse()?,
            grant: text("grant")?,
            home: home.to_owned(),
            child,
            notes,
        })
    }

    /// A file of the console.
    pub(crate) async fn fetch(&self, site: &Site, name: &str) -> Result<Vec<u8>> {
        let file = site.folder.path().join(format!("{}-{name}", self.grant));
        let proxy = format!("socks5h://{}", self.address);
        let url = format!("https://{CONSOLE}/{name}");
        site.curl(&["-f", "--proxy", &proxy, "-o", &file.to_string_lossy(), &url]).await?.ok()?;
        Ok(std::fs::read(file)?)
    }

    /// A stream of bytes to a place, by CONNECT.
    pub(crate) async fn connect(&self, place: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n").as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(tokio::time::timeout(GENEROUS, stream.read_u8()).await.context("no answer")??);
        }
        let head = String::from_utf8(head)?;
        ensure!(head.starts_with("HTTP/1.1 200 "), "{place}: {head}");
        Ok(stream)
    }

    /// Waits until it ends by itself; gives its notes.
    pub(crate) async fn ends(&mut self) -> Result<String> {
        let status = tokio::time::timeout(GENEROUS, self.child.wait()).await.context("it goes on")??;
        let said = (&mut self.notes).await?;
        ensure!(!status.success(), "{said}");
        Ok(said)
    }
}

async fn nginx(
    folder: &Folder,
    authority: &Authority,
    console: u16,
    oauth: u16,
    big: &[u8],
) -> Result<Process> {
    let (certificate, key) = authority.server(&[CONSOLE, OAUTH])?.write(folder.path(), "ingress")?;
    let pages = folder.path().join("pages");
    std::fs::create_dir_all(&pages)?;
    std::fs::write(pages.join("big"), big)?;
    // The script says whether it runs where the cookie of the sign-in is.
    let script = "fetch('/seen?' + (document.cookie.includes('session=') ? 'signed-in' : 'stranger'))";
    std::fs::write(
        pages.join("index.html"),
        format!("<h1>Overview of harbor</h1><script>{script}</script>"),
    )?;
    let root = folder.path().display();
    let tls = format!("ssl_certificate {}; ssl_certificate_key {};", certificate.display(), key.display());
    let config = format!(
        "daemon off; master_process off; pid {root}/nginx.pid; error_log {root}/error.log;
events {{ worker_connections 512; }}
http {{
  log_format asked '$host $request_uri $status $http_user_agent';
  access_log {root}/access.log asked;
  client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3;
  uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
  server {{
    listen 127.0.0.1:{console} ssl; server_name {CONSOLE}; {tls} root {root}/pages;
    location = / {{
      if ($http_cookie !~ session=) {{ return 302 https://{OAUTH}/authorize; }}
      try_files /index.html =404;
    }}
    location = /callback {{ add_header Set-Cookie 'session=yes; Path=/; Secure' always; return 302 https://{CONSOLE}/; }}
    location = /seen {{ return 204; }}
  }}
  server {{
    listen 127.0.0.1:{oauth} ssl; server_name {OAUTH}; {tls}
    location = /authorize {{ return 302 https://{CONSOLE}/callback?code=1; }}
  }}
}}
"
    );
    let file = folder.write("nginx.conf", config)?;
    let mut command = StdCommand::new(part("nginx")?);
    command.arg("-e").arg(folder.path().join("error.log")).arg("-c").arg(file);
    let process = Process::start(folder, "nginx", &mut command)?;
    process.ready(GENEROUS, || async { Ok(TcpStream::connect(("127.0.0.1", oauth)).await?) }).await?;
    Ok(process)
}

/// Says how many bytes came, once the other side has ended.
fn counter() -> Result<u16> {
    serve(|mut stream| {
        let mut all = Vec::new();
        if stream.read_to_end(&mut all).is_ok() {
            let _ = stream.write_all(format!("{} bytes", all.len()).as_bytes());
        }
    })
}

/// Sends for ever.
fn noise() -> Result<u16> {
    serve(|mut stream| while stream.write_all(&[7; 16 * 1024]).is_ok() {})
}

/// On threads: the runtime of the test that started the site ends with that test, the site does not.
fn serve(each: fn(StdStream)) -> Result<u16> {
    let listener = StdListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || each(stream));
        }
    });
    Ok(port)
}
