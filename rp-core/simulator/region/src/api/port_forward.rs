//! Port-forward over WebSocket (`v4.channel.k8s.io`): channel 0 is data, channel 1 an error. What listens in
//! pods here are the simulated Prometheus, Alertmanager and routers.

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
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::Call;
use super::exec::{handshake, switch};
use super::path::Resource;
use super::status::Failure;
use crate::ingress::{Routers, is_router};
use crate::prometheus::{MonitoringService, serve};

const DATA: u8 = 0;
const ERROR: u8 = 1;
const IDLE: Duration = Duration::from_mins(10);
const PIECE: usize = 32 * 1024;

/// `…/pods/{name}/portforward?ports=N`.
pub(super) fn answer(
    call: &Call<'_>,
    mut request: Request<Incoming>,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let kind = objects::find("", "v1", "pods").ok_or_else(Failure::no_path)?;
    let name = at.name.clone().unwrap_or_default();
    let namespace = at.namespace.clone().unwrap_or_default();
    let pod = call.find(kind, Some(&namespace), &name)?;
    let port = call.query.all("ports").next().and_then(|port| port.parse::<u16>().ok());
    let port = port.ok_or_else(|| Failure::bad("one port is needed"))?;
    let (accept, protocol) = handshake(&call.headers).ok_or_else(|| {
        Failure::bad("Upgrade request required: the simulated region forwards ports over WebSocket (v4)")
    })?;
    let listens = pod["status"]["containerStatuses"][0]["ready"] == true;
    let listener = match MonitoringService::at_port(&namespace, &name, port) {
        Some(served) => Some(Listener::Monitoring(served)),
        None => is_router(&namespace, &name, port).then(|| Listener::Router(Arc::clone(&call.api.routers))),
    };
    let forward = Forward {
        port,
        listener: listener.filter(|_| listens),
        cluster: call.view.cluster.clone(),
        clock: call.api.clock.clone(),
        fleet: Arc::clone(&call.api.fleet),
        stop: call.api.stop.clone(),
    };
    Ok(switch(&mut request, (accept, protocol), "port-forward", |upgraded| forward.run(upgraded)))
}

/// What listens in a pod.
enum Listener {
    Monitoring(MonitoringService),
    Router(Arc<Routers>),
}

struct Forward {
    port: u16,
    listener: Option<Listener>,
    cluster: rp_simulator::fleet::Cluster,
    clock: rp_base::SharedClock,
    fleet: Arc<rp_simulator::fleet::Fleet>,
    stop: CancellationToken,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

impl Forward {
    async fn run(self, upgraded: Upgraded) -> Result<(), Error> {
        let config = WebSocketConfig::default().max_message_size(Some(1 << 20)).max_frame_size(Some(1 << 20));
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        for channel in [DATA, ERROR] {
            let [low, high] = self.port.to_le_bytes();
            socket.send(Message::Binary(Bytes::from(vec![channel, low, high]))).await?;
        }
        let Some(listener) = self.listener else {
            let why = format!("dial tcp4 127.0.0.1:{}: connect: connection refused", self.port);
            let mut message = BytesMut::with_capacity(why.len() + 1);
            message.put_u8(ERROR);
            message.put_slice(why.as_bytes());
            socket.send(Message::Binary(message.freeze())).await?;
            return socket.close(None).await;
        };
        let (near, far) = tokio::io::duplex(64 * 1024);
        let server = tokio::spawn(async move {
            match listener {
                Listener::Monitoring(served) => {
                    serve(served, self.cluster, (self.fleet, self.clock), far).await;
                }
                Listener::Router(routers) => routers.serve(self.cluster, self.clock, far).await,
            }
        });
        let carried = tokio::select! {
            carried = carry(&mut socket, near) => carried,
            () = self.stop.cancelled() => Ok(()),
        };
        server.abort();
        carried
    }
}

/// Both ways, until one side ends.
async fn carry(socket: &mut Socket, mut stream: DuplexStream) -> Result<(), Error> {
    let mut piece = vec![0; PIECE];
    loop {
        tokio::select! {
            message = tokio::time::timeout(IDLE, socket.next()) => match message {
                Ok(Some(Ok(Message::Binary(data)))) if data.first() == Some(&DATA) => {
                    if stream.write_all(&data[1..]).await.is_err() {
                        return socket.close(None).await;
                    }
                }
                Ok(Some(Ok(Message::Close(_))) | None) | Err(_) => return Ok(()),
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => return Err(error),
            },
            read = stream.read(&mut piece) => match read {
                Ok(0) | Err(_) => return socket.close(None).await,
                Ok(length) => {
                    let mut message = BytesMut::with_capacity(length + 1);
                    message.put_u8(DATA);
                    message.put_slice(&piece[..length]);
                    socket.send(Message::Binary(message.freeze())).await?;
                }
            },
        }
    }
}
