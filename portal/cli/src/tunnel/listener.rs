//! The local listener of a tunnel.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::link::Link;
use super::proxy::{ProxyRequest, read};
use crate::CliError;

/// Time limit for a program to send its proxy request.
const SAID_WITHIN: Duration = Duration::from_secs(10);

/// Listens on this machine only.
#[derive(Debug)]
pub(crate) struct LocalListener {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl LocalListener {
    /// Port 0: any that is free.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, CliError> {
        if !address.ip().is_loopback() {
            return Err(CliError::Usage(format!(
                "{address} is not an address of this machine alone: anyone who reaches it would use your access"
            )));
        }
        let failed = |cause| CliError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Carries connections, for ever.
    pub(crate) async fn serve(self, link: Arc<Link>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(carry(stream, Arc::clone(&link)));
                }
                // Possibly out of file descriptors; try again shortly.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// Forwards one connection. Errors are reported to the program in its own proxy protocol.
async fn carry(mut near: TcpStream, link: Arc<Link>) {
    let _ = near.set_nodelay(true);
    let wanted = tokio::time::timeout(SAID_WITHIN, read(&mut near)).await;
    let Ok(Ok(ProxyRequest::Place(speech, place))) = wanted else {
        let _ = near.shutdown().await;
        return;
    };
    let mut far = match link.open(&place).await {
        Ok(far) => far,
        Err(error) => {
            link.refused(&place, &error);
            let _ = speech.refuses(&mut near, &error).await;
            let _ = near.shutdown().await;
            return;
        }
    };
    if speech.agrees(&mut near).await.is_ok() {
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    }
}
