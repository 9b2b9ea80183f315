//! What stands behind a tunnel: it greets every client and sends back what comes.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The first bytes on every connection.
pub(crate) const GREETING: &str = "hello from the destination";

/// A listener on 127.0.0.1; it ends with this.
#[derive(Debug)]
pub(crate) struct TunnelTarget {
    pub(crate) address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Drop for TunnelTarget {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TunnelTarget {
    /// # Errors
    /// There is no port.
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    to.write_all(GREETING.as_bytes()).await?;
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        Ok(Self { address, accepting })
    }
}
