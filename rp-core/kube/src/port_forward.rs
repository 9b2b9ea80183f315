//! Streams to ports of pods (`spec/portal.md` §13.4).

use std::fmt;
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
/// Over WebSocket the far side's end of stream is not signalled: read by the protocol's own framing,
/// never to the end of the stream.
pub struct PortForward {
    stream: DuplexStream,
    forwarder: Portforwarder,
}

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
    Ok(PortForward { stream, forwarder })
}

impl AsyncRead for PortForward {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
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
