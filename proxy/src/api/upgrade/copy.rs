//! Copies the bytes of an upgraded stream from one side to the other.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::super::session_recording::{Direction, ErrorStreamReader};
use super::super::session_status::SessionStatus;

/// Copied at a time, each way.
const CHUNK: usize = 32 * 1024;

/// Which end of a copy failed.
#[derive(Debug)]
pub(super) enum CopyError {
    /// The source, or the recording.
    Read(io::Error),
    /// The destination.
    Write(io::Error),
}

impl CopyError {
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Read(error) | Self::Write(error) => error,
        }
    }
}

/// What is done with the bytes of one direction before they go on.
pub(super) struct Leg<'a> {
    count: &'a AtomicU64,
    tap: Option<Direction>,
    opened: Option<ErrorStreamReader>,
}

impl<'a> Leg<'a> {
    /// `count` grows by the bytes that are read.
    pub(super) const fn new(
        count: &'a AtomicU64,
        tap: Option<Direction>,
        opened: Option<ErrorStreamReader>,
    ) -> Self {
        Self { count, tap, opened }
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
        Err(CopyError::Read(error)) => Err(error),
        Err(CopyError::Write(error)) => {
            tracing::debug!(error = %rp_base::chain(&error), "the cluster takes no more input");
            tokio::io::copy(&mut client, &mut tokio::io::sink()).await.map(drop)
        }
    }
}

/// Copies until the source ends, and passes the end on.
pub(super) async fn copy(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    mut leg: Leg<'_>,
    mut status: Option<&mut SessionStatus>,
) -> Result<(), CopyError> {
    let mut buffer = BytesMut::with_capacity(CHUNK);
    loop {
        let read = from.read_buf(&mut buffer).await.map_err(CopyError::Read)?;
        if read == 0 {
            return to.shutdown().await.map_err(CopyError::Write);
        }
        leg.count.fetch_add(read as u64, Ordering::Relaxed);
        if leg.is_read() {
            let mut bytes = buffer.split().freeze();
            leg.read(&bytes).await.map_err(CopyError::Read)?;
            write(to, &mut bytes, status.as_deref_mut()).await.map_err(CopyError::Write)?;
        } else {
            write(to, &mut buffer, status.as_deref_mut()).await.map_err(CopyError::Write)?;
        }
        if buffer.capacity() == 0 {
            buffer.reserve(CHUNK);
        }
        to.flush().await.map_err(CopyError::Write)?;
    }
}

/// Writes all bytes. `status` learns of each piece when it is written, so that it is right whenever this is dropped.
async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &mut impl Buf,
    status: Option<&mut SessionStatus>,
) -> io::Result<()> {
    let Some(status) = status else { return to.write_all_buf(bytes).await };
    while bytes.has_remaining() {
        let written = to.write(bytes.chunk()).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        status.passed(&bytes.chunk()[..written]);
        bytes.advance(written);
    }
    Ok(())
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
        let mut up = std::pin::pin!(copy_to_cluster(client_read, cluster, Leg::new(&count, None, None)));
        // Twice what the pipe holds: it is read.
        tokio::select! {
            ended = &mut up => panic!("ended with the cluster: {ended:?}"),
            sent = client.write_all(&[7; 128]) => sent.expect("the client is read"),
        }
        drop(client);
        up.await.expect("the client's end is the end");
    }

    #[tokio::test]
    async fn a_client_that_breaks_off_ends_the_stream() {
        let reset = Err::<Bytes, _>(io::Error::from(io::ErrorKind::ConnectionReset));
        let client = tokio_util::io::StreamReader::new(futures_util::stream::iter([reset]));
        let (cluster, _open) = tokio::io::duplex(64);
        let count = AtomicU64::new(0);
        let ended = copy_to_cluster(client, cluster, Leg::new(&count, None, None)).await;
        assert_eq!(ended.expect_err("an error").kind(), io::ErrorKind::ConnectionReset);
    }
}
