//! A TCP relay between two parts, which can be cut or slowed down.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes that are passed on at a time.
const PIECE: usize = 16 * 1024;

/// What the network is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Open,
    /// Open connections end, and new ones end at once.
    Cut,
    /// Each piece of bytes, each way, waits so long.
    Slow(Duration),
}

/// Passes connections to one port on to another.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    network: watch::Sender<Network>,
    accepting: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Relay {
    /// Listens on a free port of 127.0.0.1 and passes on to `target` there.
    ///
    /// # Errors
    /// There is no port.
    pub(crate) async fn start(target: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (network, seen) = watch::channel(Network::Open);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // What breaks off here is seen by both ends.
                tokio::spawn(passed(client, target, seen.clone()));
            }
        });
        Ok(Self { address, network, accepting })
    }

    /// Makes the network so, for open connections too.
    pub(crate) fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

async fn passed(client: TcpStream, target: u16, network: watch::Receiver<Network>) -> Result<()> {
    if *network.borrow() == Network::Cut {
        client.set_zero_linger()?;
        return Ok(());
    }
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::try_join!(piped(from_client, to_server, network.clone()), piped(from_server, to_client, network))?;
    Ok(())
}

/// One direction, to its end or to the cut.
async fn piped(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut network: watch::Receiver<Network>,
) -> Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read?,
            () = cut(&mut network) => bail!("the network was cut"),
        };
        if read == 0 {
            return Ok(to.shutdown().await?);
        }
        let now = *network.borrow();
        if let Network::Slow(time) = now {
            tokio::time::sleep(time).await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// Waits until the network is cut, or the relay is gone.
async fn cut(network: &mut watch::Receiver<Network>) {
    let _ = network.wait_for(|network| *network == Network::Cut).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo() -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        Ok(port)
    }

    async fn answered(stream: &mut TcpStream, text: &[u8]) -> Result<()> {
        stream.write_all(text).await?;
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).await?;
        anyhow::ensure!(back == text, "{back:?}");
        Ok(())
    }

    #[tokio::test]
    async fn it_passes_bytes_slowly_too_and_cuts_what_is_open() -> Result<()> {
        let relay = Relay::start(echo().await?).await?;
        let mut stream = TcpStream::connect(relay.address).await?;
        answered(&mut stream, b"hello").await?;
        relay.set(Network::Slow(Duration::from_millis(5)));
        answered(&mut stream, b"slowly").await?;
        relay.set(Network::Cut);
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{read:?}");
        let mut refused = TcpStream::connect(relay.address).await?;
        assert!(answered(&mut refused, b"nobody").await.is_err());
        relay.set(Network::Open);
        let mut again = TcpStream::connect(relay.address).await?;
        answered(&mut again, b"again").await
    }
}
