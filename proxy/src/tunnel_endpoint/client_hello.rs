//! The first words of a TLS client: which name it asks for.
//!
//! All routes of an ingress are behind one door, so a place of a cluster of ours is a name and nothing else. The name
//! that the client asks for must be the one that the access was compared with; a client that speaks no TLS asks for
//! none. Encrypted hellos change nothing: the router reads the outer name, as we do.

use std::io;
use std::time::Duration;

use rp_base::text::visible;
use rp_tunnel::Destination;
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;

/// Until the hello is whole.
const WITHIN: Duration = Duration::from_secs(30);
/// Of a hello, with what came behind it, bytes.
const MOST: usize = 64 * 1024;
const CHUNK: usize = 4096;

/// Why a connection is not carried on.
#[derive(Debug, thiserror::Error)]
pub(super) enum HelloError {
    #[error("the client speaks no TLS")]
    NoTls,
    #[error("the client asks for no name inside its TLS")]
    NoName,
    #[error("the client asks for {0} inside its TLS")]
    OtherName(String),
    #[error("the client said nothing")]
    Silent,
    #[error("the connection broke off")]
    Broke(#[source] io::Error),
}

/// Reads the hello and gives all that was read, to be passed on; empty when the client ended without a word.
pub(super) async fn read(
    near: &mut (impl AsyncRead + Unpin),
    place: &Destination,
) -> Result<Vec<u8>, HelloError> {
    timeout(WITHIN, hello(near, place)).await.unwrap_or(Err(HelloError::Silent))
}

async fn hello(near: &mut (impl AsyncRead + Unpin), place: &Destination) -> Result<Vec<u8>, HelloError> {
    let (mut read, mut acceptor) = (Vec::with_capacity(CHUNK), Acceptor::default());
    loop {
        let before = read.len();
        if near.read_buf(&mut read).await.map_err(HelloError::Broke)? == 0 {
            return if read.is_empty() { Ok(read) } else { Err(HelloError::NoTls) };
        }
        let mut fresh = read.get(before..).unwrap_or_default();
        while !fresh.is_empty() {
            if acceptor.read_tls(&mut fresh).map_err(|_| HelloError::NoTls)? == 0 {
                return Err(HelloError::NoTls);
            }
            match acceptor.accept() {
                Ok(Some(accepted)) => {
                    return named(accepted.client_hello().server_name(), place).map(|()| read);
                }
                Ok(None) => {}
                Err(_) => return Err(HelloError::NoTls),
            }
        }
        if read.len() > MOST {
            return Err(HelloError::NoTls);
        }
    }
}

fn named(name: Option<&str>, place: &Destination) -> Result<(), HelloError> {
    let name = name.ok_or(HelloError::NoName)?;
    if name.trim_end_matches('.').eq_ignore_ascii_case(place.host()) {
        return Ok(());
    }
    Err(HelloError::OtherName(visible(name.as_bytes(), 253)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls_pki_types::ServerName;
    use tokio::io::AsyncWriteExt as _;
    use tokio_rustls::TlsConnector;

    use super::*;

    const HOST: &str = "console.apps.harbor.example";

    fn place() -> Destination {
        Destination::new(HOST, 443).unwrap()
    }

    /// A TLS ClientHello.
    async fn said_by(name: &'static str, sni: bool) -> Vec<u8> {
        let ca = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let mut config = rp_net::tls::client_config(&ca.cert.pem(), None, &[b"h2"]).unwrap();
        config.enable_sni = sni;
        let (near, mut far) = tokio::io::duplex(64 * 1024);
        let name = ServerName::try_from(name).unwrap();
        let shaking =
            tokio::spawn(
                async move { TlsConnector::from(Arc::new(config)).connect(name, near).await.map(drop) },
            );
        let mut said = Vec::new();
        while said.len() < 5 || said.len() < 5 + usize::from(u16::from_be_bytes([said[3], said[4]])) {
            far.read_buf(&mut said).await.unwrap();
        }
        drop(far);
        let _ = shaking.await;
        said
    }

    async fn told(pieces: &[&[u8]]) -> Result<Vec<u8>, String> {
        let (mut near, mut far) = tokio::io::duplex(64 * 1024);
        let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        tokio::spawn(async move {
            for piece in pieces {
                far.write_all(&piece).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        read(&mut near, &place()).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn the_name_of_the_place_passes_in_any_pieces() {
        let hello = said_by(HOST, true).await;
        assert_eq!(told(&[&hello]).await.unwrap(), hello);
        let (begin, end) = hello.split_at(7);
        assert_eq!(told(&[begin, end]).await.unwrap(), hello);
        let bytes: Vec<&[u8]> = hello.chunks(1).collect();
        assert_eq!(told(&bytes).await.unwrap(), hello);
        assert_eq!(told(&[]).await.unwrap(), b"", "opened for later, and not used");
    }

    #[tokio::test]
    async fn another_name_or_none_does_not() {
        let other = said_by("secret.apps.harbor.example", true).await;
        assert_eq!(
            told(&[&other]).await.unwrap_err(),
            "the client asks for secret.apps.harbor.example inside its TLS"
        );
        let none = said_by(HOST, false).await;
        assert_eq!(told(&[&none]).await.unwrap_err(), "the client asks for no name inside its TLS");
        let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
        for rubbish in [request.as_bytes(), b"SSH-2.0-x\r\n", &[0x16, 3, 1, 0, 2, 9, 9][..], &other[..20]] {
            assert_eq!(told(&[rubbish]).await.unwrap_err(), "the client speaks no TLS");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_is_not_waited_for() {
        let (mut near, _far) = tokio::io::duplex(64);
        assert!(matches!(read(&mut near, &place()).await, Err(HelloError::Silent)));
    }
}
