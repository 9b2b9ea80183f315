//! `aro proxy connect` and `aro proxy tunnel`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::Args;
use ipnet::IpNet;
use proxy::connect::{self, ConnectOptions};
use proxy::tls_forwarder::{self, TunnelOptions};
use rp_core::files::{read, read_secret};
use rp_core::reload;
use rp_net::Credential;
use rp_net::listen::Stop;
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls, certificates, client_config};
use rp_runtime::{Lifecycle, WATCH_PERIOD, Watch};
use rustls::pki_types::ServerName;
use tokio::net::TcpListener;

#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// Where to listen, TLS
    #[arg(long, default_value = "0.0.0.0:8443")]
    pub listen: SocketAddr,
    /// Where to answer health checks, plain HTTP
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub health: SocketAddr,
    /// PEM certificate of the listener
    #[arg(long, alias = "certFile", default_value = "secrets/proxy.pem")]
    pub cert_file: PathBuf,
    /// PEM key of the listener
    #[arg(long, alias = "keyFile", default_value = "secrets/proxy.key")]
    pub key_file: PathBuf,
    /// PEM certificate of the one client
    #[arg(long, alias = "clientCertFile", default_value = "secrets/proxy-client.pem")]
    pub client_cert_file: PathBuf,
    /// Where tunnels may end
    #[arg(long, default_value = "10.0.0.0/8")]
    pub subnet: IpNet,
    /// Ports beside 443, 6443 and 2200 to 2202
    #[arg(long = "port", value_name = "PORT")]
    pub more_ports: Vec<u16>,
}

#[derive(Debug, Args)]
pub struct TunnelArgs {
    /// Loopback address to listen on
    #[arg(long, default_value = "127.0.0.1:8443")]
    pub listen: SocketAddr,
    /// Remote listener, `host:port`
    #[arg(long)]
    pub to: String,
    /// Name in its certificate, when it is not the host
    #[arg(long)]
    pub server_name: Option<String>,
    /// PEM certificates that may have signed it
    #[arg(long)]
    pub ca_file: PathBuf,
    /// PEM client certificate
    #[arg(long)]
    pub cert_file: PathBuf,
    /// PEM client key
    #[arg(long)]
    pub key_file: PathBuf,
}

/// Serves CONNECT until the process is asked to end.
///
/// # Errors
/// A certificate cannot be used or an address cannot be bound.
pub async fn connect(args: ConnectArgs, life: &Lifecycle) -> anyhow::Result<()> {
    let client = certificates(&read(&args.client_cert_file)?, "--client-cert-file")?.swap_remove(0);
    let files = ServerFiles { certificate: args.cert_file, key: args.key_file };
    let watch = Watch::new(vec![files.certificate.clone(), files.key.clone()]);
    let tls = ServerTls::load(files, &[b"http/1.1"], ClientAuth::Exactly(client))?;
    let bind = |address| async move {
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
    };
    let (tcp, health) = (bind(args.listen).await?, bind(args.health).await?);
    let served = Arc::clone(&tls);
    reload::follow(life, watch, WATCH_PERIOD, move || reload::certificate(&served))?;
    tracing::info!(listen = %args.listen, subnet = %args.subnet, "serving CONNECT");
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let options = ConnectOptions { subnet: args.subnet, more_ports: args.more_ports };
    tokio::join!(connect::serve(tcp, tls, options, stop.clone()), connect::serve_health(health, stop));
    Ok(())
}

/// Carries connections until the process is asked to end.
///
/// # Errors
/// A certificate cannot be used, or the address cannot be bound or is not loopback.
pub async fn tunnel(args: TunnelArgs, life: &Lifecycle) -> anyhow::Result<()> {
    let credential =
        Credential::Certificate { chain_pem: read(&args.cert_file)?, key_pem: read_secret(&args.key_file)? };
    let tls = client_config(&read(&args.ca_file)?, Some(&credential), &[])?;
    let host = args.to.rsplit_once(':').map(|(host, _)| host.to_owned());
    let name = args.server_name.or(host).ok_or_else(|| anyhow!("--to must be host:port"))?;
    let server_name = ServerName::try_from(name).map_err(|_| anyhow!("--server-name is no server name"))?;
    let tcp =
        TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    tracing::info!(listen = %args.listen, to = %args.to, "tunnel open");
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    tls_forwarder::serve(tcp, TunnelOptions { to: args.to, server_name, tls: Arc::new(tls) }, stop).await?;
    Ok(())
}
