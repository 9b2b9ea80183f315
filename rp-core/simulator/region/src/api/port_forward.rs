//! Port-forward: by WebSocket (`v4.channel.k8s.io`: channel 2N is data of the Nth port, 2N + 1 its errors), by SPDY
//! (`portforward.k8s.io`), and by SPDY inside of a WebSocket (`SPDY/3.1+portforward.k8s.io`, KEP-4006). What listens in
//! pods here are the simulated Prometheus, Alertmanager and routers.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rp_simulator::body::Body;
use rp_simulator::objects;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::Call;
use super::path::Resource;
use super::remote_streams::{handshake, socket, switch, websocket_headers};
use super::spdy::{self, SpdyOutput, SpdyStream};
use super::status::Failure;
use crate::ingress::{Routers, is_router};
use crate::prometheus::{MonitoringService, serve};

/// What the log calls it.
const WHAT: &str = "port-forward";
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
const PROTOCOLS: [&str; 3] = [TUNNEL, "v4.channel.k8s.io", "v5.channel.k8s.io"];
const IDLE: Duration = Duration::from_mins(10);
/// The longest connection by SPDY.
const LONGEST: Duration = Duration::from_hours(1);
const PIECE: usize = 32 * 1024;
/// Ports of one request.
const MOST_PORTS: usize = 8;
/// Streams of errors that wait for their stream of data.
const MOST_WAITING: usize = 64;
/// Connections at once by SPDY. The reader of frames counts only streams whose client has not ended its side.
const MOST_CONNECTIONS: usize = 128;
/// Pieces that wait.
const QUEUE: usize = 16;

/// `…/pods/{name}/portforward`, with `?ports=N` for channels of a WebSocket.
pub(super) fn answer(
    call: &Call<'_>,
    mut request: Request<Incoming>,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let kind = objects::find("", "v1", "pods").ok_or_else(Failure::no_path)?;
    let name = at.name.clone().unwrap_or_default();
    let namespace = at.namespace.clone().unwrap_or_default();
    let pod = call.find(kind, Some(&namespace), &name)?;
    let ready = pod["status"]["containerStatuses"][0]["ready"] == true;
    let forward = Forward {
        namespace,
        pod: name,
        ready,
        cluster: call.view.cluster.clone(),
        clock: call.api.clock.clone(),
        fleet: Arc::clone(&call.api.fleet),
        routers: Arc::clone(&call.api.routers),
        stop: call.api.stop.clone(),
    };
    if let Some(headers) = spdy::handshake(&call.headers, "portforward.k8s.io") {
        let serve = |upgraded| async move { forward.spdy(TokioIo::new(upgraded)).await };
        return Ok(switch(&mut request, headers, WHAT, serve));
    }
    let accepted = handshake(&call.headers, &PROTOCOLS).ok_or_else(|| {
        Failure::bad(
            "Upgrade request required: SPDY/3.1 (portforward.k8s.io) or WebSocket (v4.channel.k8s.io, \
             SPDY/3.1+portforward.k8s.io)",
        )
    })?;
    let tunnel = accepted.1 == TUNNEL;
    let headers = websocket_headers(accepted);
    if tunnel {
        return Ok(switch(&mut request, headers, WHAT, |upgraded| forward.tunnel(upgraded)));
    }
    let ports = call.query.all("ports").flat_map(|ports| ports.split(','));
    let ports: Result<Vec<u16>, _> = ports.take(MOST_PORTS + 1).map(str::parse).collect();
    let ports = ports.ok().filter(|ports| (1..=MOST_PORTS).contains(&ports.len()));
    let ports = ports.ok_or_else(|| Failure::bad("one to eight ports are needed"))?;
    Ok(switch(&mut request, headers, WHAT, |upgraded| forward.channels(upgraded, ports)))
}

struct Forward {
    namespace: String,
    pod: String,
    ready: bool,
    cluster: rp_simulator::fleet::Cluster,
    clock: rp_base::SharedClock,
    fleet: Arc<rp_simulator::fleet::Fleet>,
    routers: Arc<Routers>,
    stop: CancellationToken,
}

impl Forward {
    /// Connects to what listens at a port; the listener ends when the stream is dropped.
    fn open(&self, port: u16) -> Result<DuplexStream, String> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let monitoring = MonitoringService::at_port(&self.namespace, &self.pod, port);
        let (cluster, clock) = (self.cluster.clone(), self.clock.clone());
        if let Some(served) = monitoring.filter(|_| self.ready) {
            let fleet = Arc::clone(&self.fleet);
            tokio::spawn(async move { serve(served, cluster, (fleet, clock), far).await });
            return Ok(near);
        }
        if self.ready && is_router(&self.namespace, &self.pod, port) {
            let routers = Arc::clone(&self.routers);
            tokio::spawn(async move { routers.serve(cluster, clock, far).await });
            return Ok(near);
        }
        Err(format!("dial tcp4 127.0.0.1:{port}: connect: connection refused"))
    }

    /// Connections as channels of a WebSocket.
    async fn channels(self, upgraded: Upgraded, ports: Vec<u16>) -> Result<(), Error> {
        let (mut sink, mut stream) = socket(upgraded).await.split();
        let (messages, mut queue) = mpsc::channel(QUEUE);
        let mut tasks = JoinSet::new();
        let mut writers = Vec::new();
        for (channel, port) in (0_u8..).step_by(2).zip(ports) {
            for channel in [channel, channel + 1] {
                sink.send(on_channel(channel, &port.to_le_bytes())).await?;
            }
            match self.open(port) {
                Ok(near) => {
                    let (read, write) = tokio::io::split(near);
                    tasks.spawn(send_all(read, channel, messages.clone()));
                    writers.push(Some(write));
                }
                Err(why) => {
                    writers.push(None);
                    sink.send(on_channel(channel + 1, why.as_bytes())).await?;
                }
            }
        }
        drop(messages);
        let writing = async {
            while let Some(message) = queue.recv().await {
                sink.send(message).await?;
            }
            sink.send(Message::Close(None)).await
        };
        let reading = async {
            while let Ok(Some(message)) = tokio::time::timeout(IDLE, stream.next()).await {
                let data = match message? {
                    Message::Binary(data) => data,
                    Message::Close(_) => break,
                    _ => continue,
                };
                let Some((&channel, data)) = data.split_first() else { continue };
                let writer = writers.get_mut(usize::from(channel / 2)).filter(|_| channel % 2 == 0);
                if let Some(Some(writer)) = writer
                    && writer.write_all(data).await.is_err()
                {
                    break;
                }
            }
            Ok::<(), Error>(())
        };
        tokio::select! {
            written = writing => written,
            read = reading => read,
            () = self.stop.cancelled() => Ok(()),
        }
    }

    /// SPDY whose bytes are in messages of a WebSocket.
    async fn tunnel(self, upgraded: Upgraded) -> Result<(), Error> {
        let (mut sink, mut stream) = socket(upgraded).await.split();
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (mut read, mut write) = tokio::io::split(near);
        let sending = async {
            let mut piece = vec![0; PIECE];
            loop {
                match read.read(&mut piece).await {
                    Ok(0) | Err(_) => return sink.send(Message::Close(None)).await,
                    Ok(length) => {
                        sink.send(Message::Binary(Bytes::copy_from_slice(&piece[..length]))).await?;
                    }
                }
            }
        };
        let receiving = async {
            while let Some(message) = stream.next().await {
                match message? {
                    Message::Binary(data) => write.write_all(&data).await.map_err(Error::Io)?,
                    Message::Close(_) => break,
                    _ => {}
                }
            }
            Ok::<(), Error>(())
        };
        tokio::select! {
            served = self.spdy(far) => served.map_err(Error::Io),
            sent = sending => sent,
            received = receiving => received,
        }
    }

    /// Connections as pairs of streams, which have a request id in common.
    async fn spdy<S: AsyncRead + AsyncWrite + Unpin>(self, stream: S) -> io::Result<()> {
        let (opened_sender, mut opened) = mpsc::channel(QUEUE);
        let accepting = async {
            let mut waiting: HashMap<String, SpdyOutput> = HashMap::new();
            let mut tasks = JoinSet::new();
            loop {
                let stream: SpdyStream = tokio::select! {
                    stream = opened.recv() => match stream {
                        Some(stream) => stream,
                        None => return,
                    },
                    Some(_) = tasks.join_next() => continue,
                };
                let request = stream.header("requestid").unwrap_or_default().to_owned();
                let kind = stream.header("streamtype").map(str::to_owned);
                match kind.as_deref() {
                    Some("error") if waiting.len() < MOST_WAITING => {
                        waiting.insert(request, stream.output);
                    }
                    Some("data") if tasks.len() < MOST_CONNECTIONS => {
                        let port = stream.header("port").and_then(|port| port.parse().ok());
                        let to = port.ok_or_else(|| "the stream names no port".to_owned());
                        let to = to.and_then(|port| self.open(port));
                        tasks.spawn(connect(stream, waiting.remove(&request), to));
                    }
                    _ => return,
                }
            }
        };
        tokio::select! {
            served = spdy::serve(stream, opened_sender) => served,
            () = accepting => Ok(()),
            () = self.stop.cancelled() => Ok(()),
        }
    }
}

/// One connection by SPDY, both ways; then its errors end.
async fn connect(mut stream: SpdyStream, errors: Option<SpdyOutput>, to: Result<DuplexStream, String>) {
    match to {
        Ok(near) => {
            let (mut read, mut write) = tokio::io::split(near);
            let output = stream.output.clone();
            let sending = async {
                let mut piece = vec![0; PIECE];
                while let Ok(length @ 1..) = read.read(&mut piece).await {
                    if output.send(&piece[..length]).await.is_err() {
                        break;
                    }
                }
            };
            let receiving = async {
                while let Ok(Some(data)) = tokio::time::timeout(IDLE, stream.input.recv()).await {
                    if write.write_all(&data).await.is_err() {
                        break;
                    }
                }
                // The listener sees the end, and what it still has to say is sent.
                let _ = write.shutdown().await;
                std::future::pending::<()>().await;
            };
            let both = async {
                tokio::select! {
                    () = sending => {}
                    () = receiving => {}
                }
            };
            let _ = tokio::time::timeout(LONGEST, both).await;
        }
        Err(why) => {
            if let Some(errors) = &errors {
                let _ = errors.send(why.as_bytes()).await;
            }
        }
    }
    let _ = stream.output.end().await;
    if let Some(errors) = errors {
        let _ = errors.end().await;
    }
}

fn on_channel(channel: u8, data: &[u8]) -> Message {
    let mut message = BytesMut::with_capacity(data.len() + 1);
    message.put_u8(channel);
    message.put_slice(data);
    Message::Binary(message.freeze())
}

/// What a connection says, as messages of its channel.
async fn send_all(mut read: ReadHalf<DuplexStream>, channel: u8, messages: mpsc::Sender<Message>) {
    let mut piece = vec![0; PIECE];
    while let Ok(length @ 1..) = read.read(&mut piece).await {
        if messages.send(on_channel(channel, &piece[..length])).await.is_err() {
            return;
        }
    }
}
