//! Streams to ports of pods (`contract/portal.md` §13.4).

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::Portforwarder;
use kube::client::Client;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// A byte stream to one port of a pod; dropping it ends the forwarding.
///
/// Over WebSocket the remote end of stream is not signalled: read by the protocol's own framing,
/// never to the end of the stream. A message on the remote error channel (e.g. nothing listens on the port)
/// becomes the error of the next read that would block.
pub struct PortForward {
    stream: DuplexStream,
    forwarder: Portforwarder,
    error: Option<Pin<Box<dyn Future<Output = Option<String>> + Send>>>,
}

/// Longest remote error message that is kept, characters.
const MOST_MESSAGE: usize = 500;

impl fmt::Debug for PortForward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortForward").finish_non_exhaustive()
    }
}

impl Drop for PortForward {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

/// Opens a stream to `port` of a pod.
///
/// # Errors
/// The cluster refuses, or cannot be reached: see [`crate::connect::dial_error`].
pub async fn port_forward(
    client: &Client,
    namespace: &str,
    pod: &str,
    port: u16,
) -> Result<PortForward, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut forwarder = pods.portforward(pod, &[port]).await?;
    let stream = forwarder.take_stream(port).ok_or_else(|| {
        forwarder.abort();
        kube::Error::Service("the port was not opened".into())
    })?;
    let error = forwarder.take_error(port).map(|error| Box::pin(error) as Pin<Box<_>>);
    Ok(PortForward { stream, forwarder, error })
}

impl PortForward {
    /// The remote error message, once there is one; an end without a message is no error.
    fn poll_error(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let Some(error) = &mut self.error else { return Poll::Pending };
        match error.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(said) => {
                self.error = None;
                said.map_or(Poll::Pending, |said| {
                    Poll::Ready(io::Error::other(rp_base::text::clean(&said, MOST_MESSAGE)))
                })
            }
        }
    }
}

impl AsyncRead for PortForward {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Pending => self.poll_error(cx).map(Err),
            ready => ready,
        }
    }
}

impl AsyncWrite for PortForward {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
