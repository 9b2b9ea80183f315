//! The peers and the far side that they share: one worker each, certificates checked, access logs on.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tests_kit::{GENEROUS, Process, free_port, part};

use crate::ours::Certificates;

/// The object that is read: not a config map, whose text is searched.
pub(crate) const OBJECT: &str = "/api/v1/namespaces/default/services/x";
/// Its size, bytes.
const SIZE: usize = 4300;

/// A program that listens.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
}

impl Peer {
    async fn start(
        certificates: &Certificates,
        name: &str,
        command: &mut Command,
        port: u16,
    ) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let process = Process::start(&certificates.folder, name, command)?;
        process.ready(GENEROUS, || async { Ok(tokio::net::TcpStream::connect(address).await?) }).await?;
        Ok(Self { address, process })
    }
}

/// An API server's stand-in: nginx that answers with one object over HTTP/2 and HTTP/1.1.
pub(crate) async fn api_server(certificates: &Certificates) -> Result<Peer> {
    let port = free_port()?;
    let body = certificates.folder.write("object.json", object())?;
    let server = format!(
        "access_log off;
         http2_max_concurrent_streams 250;
         open_file_cache max=10;
         server {{
           listen 127.0.0.1:{port} ssl http2;
           location = {OBJECT} {{ default_type application/json; alias {body}; }}
           location = /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {{
             default_type application/json; return 201 '{{\"status\":{{\"allowed\":true}}}}'; }}
         }}",
        body = body.display(),
    );
    nginx(certificates, "far", &server, port).await
}

/// A Service of `SIZE` bytes.
fn object() -> String {
    let make = |data: &str| {
        json!({ "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "x", "namespace": "default", "annotations": { "x": data } } })
        .to_string()
    };
    let rest = SIZE - make("").len();
    make(&"0123456789abcdef".repeat(rest / 16 + 1)[..rest])
}

/// nginx as a proxy with kept connections.
pub(crate) async fn nginx_proxy(certificates: &Certificates, far: SocketAddr) -> Result<Peer> {
    let port = free_port()?;
    let log = certificates.folder.path().join("nginx-access.log");
    let server = format!(
        "access_log {log};
         upstream far {{ server {far}; keepalive 64; keepalive_requests 100000000; }}
         server {{
           listen 127.0.0.1:{port} ssl http2;
           location / {{
             proxy_pass https://far;
             proxy_http_version 1.1;
             proxy_set_header Connection \"\";
             proxy_ssl_verify on;
             proxy_ssl_trusted_certificate {ca};
             proxy_ssl_name localhost;
             proxy_ssl_server_name on;
             proxy_ssl_protocols TLSv1.2 TLSv1.3;
           }}
         }}",
        log = log.display(),
        ca = certificates.ca,
    );
    nginx(certificates, "nginx", &server, port).await
}

async fn nginx(certificates: &Certificates, name: &str, http: &str, port: u16) -> Result<Peer> {
    let folder = certificates.folder.path().display();
    let config = format!(
        "daemon off; user root; worker_processes 1; worker_rlimit_nofile 16384;
         pid {folder}/{name}.pid; error_log stderr;
         events {{ worker_connections 8192; }}
         http {{
           client_body_temp_path {folder}/{name}-body; proxy_temp_path {folder}/{name}-proxy;
           fastcgi_temp_path {folder}/{name}-f; uwsgi_temp_path {folder}/{name}-u; scgi_temp_path {folder}/{name}-s;
           ssl_certificate {cert}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
           keepalive_requests 100000000; keepalive_timeout 600;
           {http}
         }}",
        cert = certificates.cert,
        key = certificates.key,
    );
    let file = certificates.folder.write(&format!("{name}.conf"), config)?;
    let mut command = Command::new(part("nginx")?);
    command.arg("-e").arg("stderr").arg("-c").arg(file);
    Peer::start(certificates, name, &mut command, port).await
}

/// HAProxy between HTTP on both legs, or between bytes.
pub(crate) async fn haproxy(certificates: &Certificates, far: SocketAddr, bytes: bool) -> Result<Peer> {
    let port = free_port()?;
    let (mode, log, name) =
        if bytes { ("tcp", "tcplog", "haproxy-tcp") } else { ("http", "httplog", "haproxy") };
    let (alpn, reuse) = if bytes { ("", "") } else { ("alpn h2,http/1.1", "http-reuse always") };
    let config = format!(
        "global
  nbthread 1
  maxconn 4000
  log stdout format raw local0 info
defaults
  mode {mode}
  log global
  option {log}
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  {reuse}
frontend front
  bind 127.0.0.1:{port} ssl crt {bundle} {alpn}
  default_backend far
backend far
  server far {far} ssl verify required ca-file {ca} sni str(localhost)
",
        bundle = certificates.bundle,
        ca = certificates.ca,
    );
    let file = certificates.folder.write(&format!("{name}.cfg"), config)?;
    let mut command = Command::new(part("haproxy")?);
    command.arg("-db").arg("-f").arg(file);
    Peer::start(certificates, name, &mut command, port).await
}

/// Go's `httputil.ReverseProxy` as it is; or with HTTP/1.1 on both sides, buffers that are used again, and a line of log for
/// each request.
pub(crate) async fn go(certificates: &Certificates, far: SocketAddr, tuned: bool) -> Result<Peer> {
    let mut command = Command::new(part("reverseproxy")?);
    command.args(["--listen", "127.0.0.1:0", "--cert", &certificates.cert, "--key", &certificates.key]);
    command.args(["--upstream", &format!("https://{far}"), "--upstream-ca", &certificates.ca]);
    let name = if tuned { "go-tuned" } else { "go" };
    if tuned {
        let log = certificates.folder.path().join("go-access.log");
        command.args(["--http2=false", "--keep-buffers", "--access-log"]).arg(log);
    }
    command.env("GOMAXPROCS", "1");
    let process = Process::start(&certificates.folder, name, &mut command)?;
    let address = listening(&process).await?;
    Ok(Peer { address, process })
}

/// The address that a program prints as `{"listen": …}` on its first line.
pub(crate) async fn listening(process: &Process) -> Result<SocketAddr> {
    let look = || async {
        let log = process.log();
        let line = log.lines().find(|line| line.starts_with('{')).context("no line yet")?;
        let said: Value = serde_json::from_str(line)?;
        Ok(said["listen"].as_str().context("listen")?.parse()?)
    };
    process.ready(GENEROUS, look).await
}
