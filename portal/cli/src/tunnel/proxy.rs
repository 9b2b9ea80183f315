//! Parses proxy requests: SOCKS5 (RFC 1928, CONNECT without authentication) or HTTP CONNECT (RFC 9110 §9.3.6).
//! The first byte decides which. Host names are passed on, never resolved here.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use rp_tunnel::{Destination, OpenError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

const SOCKS: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NONE_FITS: u8 = 0xff;
/// A request's head.
const MOST_HEAD: usize = 8 * 1024;

/// The proxy protocol that the program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyProtocol {
    Socks,
    Http,
}

/// A parsed proxy request.
#[derive(Debug)]
pub(super) enum ProxyRequest {
    Place(ProxyProtocol, Destination),
    /// Nothing to forward: the request was refused and answered already.
    Nothing,
}

/// Reads a proxy request; answers requests that cannot be served.
pub(super) async fn read<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<ProxyRequest> {
    match stream.read_u8().await? {
        SOCKS => socks(stream).await,
        first if first.is_ascii_uppercase() => http(stream, first).await,
        _ => Ok(ProxyRequest::Nothing),
    }
}

async fn socks<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<ProxyRequest> {
    let count = stream.read_u8().await?;
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[SOCKS, NONE_FITS]).await?;
        return Ok(ProxyRequest::Nothing);
    }
    stream.write_all(&[SOCKS, NO_AUTHENTICATION]).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, command, _, kind] = head;
    if version != SOCKS {
        return Ok(ProxyRequest::Nothing);
    }
    let host = match kind {
        1 => {
            let mut ip = [0; 4];
            stream.read_exact(&mut ip).await?;
            Ipv4Addr::from(ip).to_string()
        }
        3 => {
            let length = stream.read_u8().await?;
            let mut name = vec![0; usize::from(length)];
            stream.read_exact(&mut name).await?;
            String::from_utf8(name).unwrap_or_default()
        }
        4 => {
            let mut ip = [0; 16];
            stream.read_exact(&mut ip).await?;
            Ipv6Addr::from(ip).to_string()
        }
        _ => return socks_says(stream, 8).await,
    };
    let port = stream.read_u16().await?;
    if command != 1 {
        return socks_says(stream, 7).await;
    }
    match Destination::new(&host, port) {
        Ok(place) => Ok(ProxyRequest::Place(ProxyProtocol::Socks, place)),
        Err(_) => socks_says(stream, 4).await,
    }
}

/// A reply that ends it (RFC 1928 §6).
async fn socks_says<S: AsyncWrite + Unpin>(stream: &mut S, code: u8) -> io::Result<ProxyRequest> {
    stream.write_all(&[SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    Ok(ProxyRequest::Nothing)
}

async fn http<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, first: u8) -> io::Result<ProxyRequest> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MOST_HEAD {
            return http_says(stream, "431 Request Header Fields Too Large", "The request is too long.")
                .await;
        }
        // One at a time: what follows the head is not ours to read.
        head.push(stream.read_u8().await?);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("CONNECT"), Some(to), Some("HTTP/1.1" | "HTTP/1.0"), None) => match Destination::parse(to) {
            Ok(place) => Ok(ProxyRequest::Place(ProxyProtocol::Http, place)),
            Err(error) => {
                http_says(stream, "400 Bad Request", &format!("{to} cannot be reached: {error}.")).await
            }
        },
        (Some(_), Some(_), Some("HTTP/1.1" | "HTTP/1.0"), None) => {
            http_says(stream, "405 Method Not Allowed", "This is a tunnel for TLS: only CONNECT is served.")
                .await
        }
        _ => http_says(stream, "400 Bad Request", "The request cannot be read.").await,
    }
}

async fn http_says<S: AsyncWrite + Unpin>(
    stream: &mut S,
    status: &str,
    why: &str,
) -> io::Result<ProxyRequest> {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    Ok(ProxyRequest::Nothing)
}

impl ProxyProtocol {
    /// The place is reached.
    pub(super) async fn agrees<S: AsyncWrite + Unpin>(self, stream: &mut S) -> io::Result<()> {
        match self {
            Self::Socks => stream.write_all(&[SOCKS, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await,
            Self::Http => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await,
        }
    }

    /// It is not.
    pub(super) async fn refuses<S: AsyncWrite + Unpin>(
        self,
        stream: &mut S,
        error: &OpenError,
    ) -> io::Result<()> {
        let code = match error {
            OpenError::Refused { code, .. } => code.as_str(),
            OpenError::Closed | OpenError::TooMany => "",
        };
        match self {
            Self::Socks => {
                let reply = match code {
                    "not_granted" => 2,
                    "place_away" | "no_router" | "cluster_away" => 4,
                    "slow" => 6,
                    _ => 1,
                };
                socks_says(stream, reply).await.map(drop)
            }
            Self::Http => {
                let status = match code {
                    "not_granted" | "bad_place" => "403 Forbidden",
                    "slow" => "504 Gateway Timeout",
                    _ => "502 Bad Gateway",
                };
                http_says(stream, status, &error.to_string()).await.map(drop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// What it wants, and what it was told meanwhile.
    fn run_read(said: &[u8]) -> (Option<(ProxyProtocol, String)>, Vec<u8>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut near, mut far) = tokio::io::duplex(64 * 1024);
            far.write_all(said).await.unwrap();
            far.shutdown().await.unwrap();
            let wanted = match read(&mut near).await {
                Ok(ProxyRequest::Place(speech, place)) => Some((speech, place.to_string())),
                Ok(ProxyRequest::Nothing) | Err(_) => None,
            };
            drop(near);
            let mut told = Vec::new();
            far.read_to_end(&mut told).await.unwrap();
            (wanted, told)
        })
    }

    #[test]
    fn socks_passes_names_on() {
        let mut said = vec![5, 2, 2, 0, 5, 1, 0, 3, 12];
        said.extend(b"Console.Test\x01\xbb");
        let (wanted, told) = run_read(&said);
        assert_eq!(wanted, Some((ProxyProtocol::Socks, "console.test:443".to_owned())));
        assert_eq!(told, [5, 0]);
        let (wanted, _) = run_read(&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80]);
        assert_eq!(wanted, Some((ProxyProtocol::Socks, "127.0.0.1:80".to_owned())));
        let mut six = vec![5, 1, 0, 5, 1, 0, 4];
        six.extend([0; 15]);
        six.extend([1, 0, 80]);
        assert_eq!(run_read(&six).0, Some((ProxyProtocol::Socks, "[::1]:80".to_owned())));
    }

    #[test]
    fn socks_refuses_what_it_does_not_serve() {
        assert_eq!(run_read(&[5, 1, 2]), (None, vec![5, 0xff]), "a password");
        let bind = run_read(&[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80]).1;
        assert_eq!((bind[0], bind[3]), (5, 7), "BIND");
        assert_eq!(run_read(&[5, 1, 0, 5, 1, 0, 9]).1[3], 8, "another kind of address");
        assert_eq!(run_read(&[5, 1, 0, 5, 1, 0, 3, 1, b'/', 0, 80]).1[3], 4, "no name");
        assert_eq!(run_read(&[4, 1, 0, 80, 127, 0, 0, 1, 0]), (None, Vec::new()), "SOCKS4");
    }

    #[test]
    fn connect_is_the_only_method() {
        let (wanted, told) = run_read(b"CONNECT console.test:443 HTTP/1.1\r\nHost: other.test\r\n\r\n");
        assert_eq!((wanted, told), (Some((ProxyProtocol::Http, "console.test:443".to_owned())), Vec::new()));
        for (said, status) in [
            (&b"GET http://a.test/ HTTP/1.1\r\n\r\n"[..], "405"),
            (b"CONNECT a.test HTTP/1.1\r\n\r\n", "400"),
            (b"CONNECT a.test:443\r\n\r\n", "400"),
            (b"CONNECT a.test:443 HTTP/1.1 x\r\n\r\n", "400"),
        ] {
            let (wanted, told) = run_read(said);
            let told = String::from_utf8(told).unwrap();
            assert!(wanted.is_none() && told.starts_with(&format!("HTTP/1.1 {status} ")), "{told}");
        }
        let mut long = b"CONNECT a.test:443 HTTP/1.1\r\nX: ".to_vec();
        long.extend(vec![b'a'; 10_000]);
        assert!(run_read(&long).1.starts_with(b"HTTP/1.1 431 "));
    }

    proptest! {
        #[test]
        fn never_panics(said in vec(any::<u8>(), 0..300), way in 0usize..3) {
            let start: &[u8] = [&b""[..], &[5, 1, 0, 5, 1, 0, 3], b"CONNECT "][way];
            run_read(&[start, &said].concat());
        }
    }
}
