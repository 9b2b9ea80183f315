//! A plain listener on this machine whose connections go to a remote TLS listener with a client certificate.
//!
//! For tools that cannot show a client certificate themselves (`contract/systems.md` TL-02): loopback only.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rp_base::chain;
use rp_net::listen::Stop;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_util::task::TaskTracker;

const CONNECT_WITHIN: Duration = Duration::from_secs(30);
const MOST: usize = 1024;

/// Where connections go.
#[derive(Debug, Clone)]
pub struct TunnelOptions {
    /// `host:port` of the remote listener.
    pub to: String,
    pub server_name: ServerName<'static>,
    /// Trust and client certificate.
    pub tls: Arc<ClientConfig>,
}

/// A listener that others can reach would lend them the certificate.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not a loopback address: everybody who reaches the tunnel acts with its certificate")]
pub struct NotLoopback(pub SocketAddr);

/// Carries connections until stopped.
///
/// # Errors
/// The listener is not on a loopback address.
pub async fn serve(tcp: TcpListener, options: TunnelOptions, stop: Stop) -> Result<(), NotLoopback> {
    if let Ok(address) = tcp.local_addr()
        && !address.ip().is_loopback()
    {
        return Err(NotLoopback(address));
    }
    let (tasks, slots) = (TaskTracker::new(), Arc::new(Semaphore::new(MOST)));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let accepted = tokio::select! {
            () = stop.stop.cancelled() => break,
            accepted = tcp.accept() => accepted,
        };
        let Ok((client, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (options, cut) = (options.clone(), stop.cut.clone());
        tasks.spawn(async move {
            tokio::select! {
                ended = carry(client, &options) => if let Err(error) = ended {
                    tracing::warn!(to = %options.to, error = %chain(&error), "tunnel broke off");
                },
                () = cut.cancelled() => {}
            }
            drop(slot);
        });
    }
    tasks.close();
    tasks.wait().await;
    Ok(())
}

async fn carry(mut client: TcpStream, options: &TunnelOptions) -> std::io::Result<()> {
    let remote = async {
        let tcp = TcpStream::connect(&options.to).await?;
        tcp.set_nodelay(true)?;
        TlsConnector::from(Arc::clone(&options.tls)).connect(options.server_name.clone(), tcp).await
    };
    let mut remote = tokio::time::timeout(CONNECT_WITHIN, remote)
        .await
        .map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??;
    client.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut client, &mut remote).await.map(drop)
}
