//! Copies the bytes of an upgraded stream from one side to the other.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::super::pings::PingReader;
use super::super::session_recording::{Direction, ErrorStreamReader};
use super::super::session_status::SessionStatus;

/// Copied at a time, each way.
const CHUNK: usize = 32 * 1024;

/// What of a copy failed.
#[derive(Debug)]
enum CopyError {
    /// The source.
    Read(io::Error),
    /// The recording, which is required.
    Record(io::Error),
    /// The destination.
    Write(io::Error),
}

/// How the cluster's side ended.
#[derive(Debug)]
pub(super) enum ClusterEnd {
    Closed,
    BrokeOff,
}

/// What is done with the bytes of one direction before they go on.
pub(super) struct Leg<'a> {
    count: &'a AtomicU64,
    tap: Option<Direction>,
    opened: Option<ErrorStreamReader>,
    pings: Option<PingReader>,
}

impl<'a> Leg<'a> {
    /// `count` grows by the bytes that are read.
    pub(super) const fn new(count: &'a AtomicU64, tap: Option<Direction>) -> Self {
        Self { count, tap, opened: None, pings: None }
    }

    /// What of the client's bytes must be known to tell it things in the cluster's place.
    pub(super) fn reading_for(mut self, status: Option<&SessionStatus>) -> Self {
        self.opened = status.and_then(SessionStatus::client_reader);
        self.pings = status.and_then(SessionStatus::ping_reader);
        self
    }

    const fn is_read(&self) -> bool {
        self.tap.is_some() || self.opened.is_some()
    }

    async fn read(&mut self, bytes: &Bytes) -> io::Result<()> {
        if let Some(opened) = &mut self.opened {
            opened.pass(bytes);
        }
        match &mut self.tap {
            Some(tap) => tap.pass(bytes).await.map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

/// Copies what the client sends. A cluster that has closed its side takes nothing more, while its last output may still
/// be on its way to a client that reads slowly, or wait for the recording: what the client sends after that is
/// dropped, and only the client's own end ends this direction.
///
/// # Errors
/// The client broke off, or the recording is required and failed.
pub(super) async fn copy_to_cluster(
    mut client: impl AsyncRead + Unpin,
    mut cluster: impl AsyncWrite + Unpin,
    leg: Leg<'_>,
) -> io::Result<()> {
    match copy(&mut client, &mut cluster, leg, None).await {
        Ok(()) => Ok(()),
        Err(CopyError::Read(error) | CopyError::Record(error)) => Err(error),
        Err(CopyError::Write(error)) => {
            tracing::debug!(error = %rp_base::chain(&error), "the cluster takes no more input");
            tokio::io::copy(&mut client, &mut tokio::io::sink()).await.map(drop)
        }
    }
}

/// Copies what the cluster sends; gives how its side ended. One that breaks off ends this direction as one that closes: the
/// protocols inside know what is missing. Output may still be on its way to the client, and what the client sends meanwhile
/// is to be read: a connection that is closed with input unread is reset, which drops the output.
///
/// # Errors
/// The client takes no more, or the recording is required and failed.
pub(super) async fn copy_to_client(
    cluster: impl AsyncRead + Unpin,
    client: &mut (impl AsyncWrite + Unpin),
    leg: Leg<'_>,
    status: Option<&mut SessionStatus>,
) -> io::Result<ClusterEnd> {
    match copy(cluster, client, leg, status).await {
        Ok(()) => Ok(ClusterEnd::Closed),
        Err(CopyError::Write(error) | CopyError::Record(error)) => Err(error),
        Err(CopyError::Read(error)) => {
            tracing::debug!(error = %rp_base::chain(&error), "the cluster broke off");
            client.shutdown().await.map(|()| ClusterEnd::BrokeOff)
        }
    }
}

/// Copies until the source ends, and passes the end on.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    mut leg: Leg<'_>,
    mut status: Option<&mut SessionStatus>,
) -> Result<(), CopyError> {
    let mut buffer = BytesMut::with_capacity(CHUNK);
    loop {
        let read = match &mut status {
            None => from.read_buf(&mut buffer).await,
            Some(status) => tokio::select! {
                read = from.read_buf(&mut buffer) => read,
                () = status.pong_due() => {
                    write_pong(to, status).await.map_err(CopyError::Write)?;
                    to.flush().await.map_err(CopyError::Write)?;
                    continue;
                }
            },
        };
        let read = read.map_err(CopyError::Read)?;
        if read == 0 {
            return to.shutdown().await.map_err(CopyError::Write);
        }
        leg.count.fetch_add(read as u64, Ordering::Relaxed);
        // Until it is flushed: much of it may wait in buffers of TLS.
        if let Some(status) = &status {
            status.set_writing(true);
        }
        if leg.pings.as_mut().is_some_and(|pings| pings.answers(&buffer)) {
            buffer.clear();
        } else if leg.is_read() {
            let mut bytes = buffer.split().freeze();
            leg.read(&bytes).await.map_err(CopyError::Record)?;
            write(to, &mut bytes, status.as_deref_mut()).await.map_err(CopyError::Write)?;
        } else {
            write(to, &mut buffer, status.as_deref_mut()).await.map_err(CopyError::Write)?;
        }
        if buffer.capacity() == 0 {
            buffer.reserve(CHUNK);
        }
        to.flush().await.map_err(CopyError::Write)?;
        if let Some(status) = &status {
            status.set_writing(false);
        }
    }
}

/// Writes all bytes, and the answer to a ping where a frame ends. `status` learns of each piece when it is written, so that
/// it is right whenever this is dropped.
async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &mut impl Buf,
    status: Option<&mut SessionStatus>,
) -> io::Result<()> {
    let Some(status) = status else { return to.write_all_buf(bytes).await };
    while bytes.has_remaining() {
        let next = status.before_pong(bytes.chunk());
        if next == 0 {
            write_pong(to, status).await?;
            continue;
        }
        let written = write_some(to, &bytes.chunk()[..next], status).await?;
        status.output_passed(written);
        bytes.advance(written);
    }
    Ok(())
}

/// Writes the answer to a ping, if one is due here.
async fn write_pong(to: &mut (impl AsyncWrite + Unpin), status: &mut SessionStatus) -> io::Result<()> {
    let pong = status.take_pong().unwrap_or_default();
    let mut rest = &pong[..];
    while !rest.is_empty() {
        let written = write_some(to, rest, status).await?;
        rest = &rest[written..];
    }
    Ok(())
}

async fn write_some(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    status: &mut SessionStatus,
) -> io::Result<usize> {
    let written = to.write(bytes).await?;
    if written == 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    status.passed(&bytes[..written]);
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cluster has closed its side; its client goes on sending for a while, and the direction lasts as long as it.
    #[tokio::test]
    async fn a_cluster_that_takes_no_more_does_not_end_the_stream() {
        let (mut client, client_read) = tokio::io::duplex(64);
        let (cluster, gone) = tokio::io::duplex(64);
        drop(gone);
        let count = AtomicU64::new(0);
        let mut up = std::pin::pin!(copy_to_cluster(client_read, cluster, Leg::new(&count, None)));
        // Twice what the pipe holds: it is read.
        tokio::select! {
            ended = &mut up => panic!("ended with the cluster: {ended:?}"),
            sent = client.write_all(&[7; 128]) => sent.expect("the client is read"),
        }
        drop(client);
        up.await.expect("the client's end is the end");
    }

    /// A client's ping, with the payload `n` under a mask of zeros.
    const PING: [u8; 7] = [0x89, 0x81, 0, 0, 0, 0, b'n'];
    const PONG: [u8; 3] = [0x8a, 1, b'n'];

    fn web_socket() -> SessionStatus {
        let mut agreed = http::HeaderMap::new();
        agreed.insert("sec-websocket-protocol", http::HeaderValue::from_static("v5.channel.k8s.io"));
        SessionStatus::agreed(&agreed).expect("a protocol with a status")
    }

    /// The cluster has sent one message in two pieces and closed, the client takes nothing and sends a ping: it gets the
    /// message whole and the answer behind it, and the cluster gets nothing.
    #[tokio::test]
    async fn a_ping_is_answered_between_the_frames_of_output_that_waits() {
        let mut status = web_socket();
        let (mut client, server) = tokio::io::duplex(16);
        let (client_read, mut client_write) = tokio::io::split(server);
        let (mut cluster, cluster_read) = tokio::io::duplex(4096);
        let (mut seen, cluster_write) = tokio::io::duplex(4096);
        let (up_count, down_count) = (AtomicU64::new(0), AtomicU64::new(0));
        let up = Leg::new(&up_count, None).reading_for(Some(&status));
        let relay = async {
            let up = copy_to_cluster(client_read, cluster_write, up);
            let down = copy_to_client(
                cluster_read,
                &mut client_write,
                Leg::new(&down_count, None),
                Some(&mut status),
            );
            tokio::join!(up, down)
        };
        let message = [&[0x82, 100][..], &[b'x'; 100]].concat();
        let person = async {
            cluster.write_all(&message[..50]).await.expect("room");
            client.write_all(&PING).await.expect("it is read");
            tokio::task::yield_now().await;
            cluster.write_all(&message[50..]).await.expect("room");
            let mut got = vec![0; message.len() + PONG.len()];
            client.read_exact(&mut got).await.expect("all of it");
            drop(cluster);
            drop(client);
            got
        };
        let ((up, down), got) = tokio::join!(relay, person);
        up.expect("the client's end");
        down.expect("the cluster's end");
        assert_eq!(got, [&message[..], &PONG].concat());
        let mut sent = Vec::new();
        seen.read_to_end(&mut sent).await.expect("the end");
        assert_eq!(sent, b"", "the cluster was asked nothing");
    }

    #[tokio::test]
    async fn a_ping_of_a_quiet_session_asks_the_cluster() {
        let status = web_socket();
        let count = AtomicU64::new(0);
        let mut sent = io::Cursor::new(Vec::new());
        let up = Leg::new(&count, None).reading_for(Some(&status));
        // One at a time.
        let (mut client, read) = tokio::io::duplex(PING.len());
        let person = async {
            for _ in 0..3 {
                client.write_all(&PING).await.expect("it is read");
            }
            drop(client);
        };
        let (up, ()) = tokio::join!(copy_to_cluster(read, &mut sent, up), person);
        up.expect("the client's end");
        assert_eq!(sent.into_inner(), [PING, PING].concat(), "the first is answered");
    }

    #[tokio::test]
    async fn a_client_that_breaks_off_ends_the_stream() {
        let reset = Err::<Bytes, _>(io::Error::from(io::ErrorKind::ConnectionReset));
        let client = tokio_util::io::StreamReader::new(futures_util::stream::iter([reset]));
        let (cluster, _open) = tokio::io::duplex(64);
        let count = AtomicU64::new(0);
        let ended = copy_to_cluster(client, cluster, Leg::new(&count, None)).await;
        assert_eq!(ended.expect_err("an error").kind(), io::ErrorKind::ConnectionReset);
    }
}
