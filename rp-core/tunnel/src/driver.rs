//! Moves messages between streams and the wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::lane::{Lane, TunnelStream};
use crate::mux::{DisconnectReason, Hub, Keepalive, Opener, StreamRequest, StreamRequests};
use crate::{Frame, MOST_STREAMS};

/// Data frames that wait for the wire.
const DATA_QUEUE: usize = 32;
/// Control frames that may wait to be sent; a peer that causes more does not read.
const CONTROL_QUEUE: usize = 4096;
/// Frames written before a flush.
const AT_ONCE: usize = 64;

/// Moves messages; run it.
#[derive(Debug)]
pub struct Driver {
    hub: Arc<Hub>,
    control: mpsc::UnboundedReceiver<Frame>,
    data: mpsc::Receiver<Frame>,
    /// Set on a server only: clients get no stream requests.
    asks: Option<mpsc::Sender<StreamRequest>>,
    keepalive: Keepalive,
}

/// The client's end of a connection.
pub fn client(keepalive: Keepalive) -> (Opener, Driver) {
    let driver = driver(None, keepalive);
    (Opener(Arc::clone(&driver.hub)), driver)
}

/// The server's end of a connection.
pub fn server(keepalive: Keepalive) -> (StreamRequests, Driver) {
    let (asks, asked) = mpsc::channel(MOST_STREAMS);
    let driver = driver(Some(asks), keepalive);
    (StreamRequests { hub: Arc::clone(&driver.hub), asked }, driver)
}

fn driver(asks: Option<mpsc::Sender<StreamRequest>>, keepalive: Keepalive) -> Driver {
    let (control_in, control) = mpsc::unbounded_channel();
    let (data_in, data) = mpsc::channel(DATA_QUEUE);
    let hub = Hub {
        lanes: Mutex::default(),
        control: control_in,
        waiting: AtomicUsize::new(0),
        data: data_in,
        closed: CancellationToken::new(),
        leaving: CancellationToken::new(),
        bye: Mutex::default(),
    };
    Driver { hub: Arc::new(hub), control, data, asks, keepalive }
}

/// However the driver ends, its streams do.
struct CloseOnDrop(Arc<Hub>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close("the tunnel broke off");
    }
}

impl Driver {
    /// Moves messages until the connection is over; then every stream is.
    pub async fn run<E: std::fmt::Display>(
        self,
        incoming: impl Stream<Item = Result<Bytes, E>> + Unpin,
        outgoing: impl Sink<Bytes, Error = E> + Unpin,
    ) -> DisconnectReason {
        let Self { hub, control, data, asks, keepalive } = self;
        let _closing = CloseOnDrop(Arc::clone(&hub));
        tokio::select! {
            over = read(&hub, asks.as_ref(), incoming, keepalive.patience) => over,
            over = write(&hub, control, data, outgoing, keepalive.every) => over,
        }
    }
}

async fn read<E: std::fmt::Display>(
    hub: &Arc<Hub>,
    asks: Option<&mpsc::Sender<StreamRequest>>,
    mut incoming: impl Stream<Item = Result<Bytes, E>> + Unpin,
    patience: Duration,
) -> DisconnectReason {
    loop {
        let message = match timeout(patience, incoming.next()).await {
            Err(_) => return DisconnectReason::Silent,
            Ok(None) => return DisconnectReason::Closed,
            Ok(Some(Err(error))) => return DisconnectReason::Broken(error.to_string()),
            Ok(Some(Ok(message))) => message,
        };
        let taken =
            Frame::decode(message).map_err(DisconnectReason::from).and_then(|frame| take(hub, asks, frame));
        if let Err(over) = taken {
            return over;
        }
        if hub.waiting.load(Ordering::Relaxed) > CONTROL_QUEUE {
            return DisconnectReason::Rules("it asks and does not read");
        }
    }
}

fn take(
    hub: &Arc<Hub>,
    asks: Option<&mpsc::Sender<StreamRequest>>,
    frame: Frame,
) -> Result<(), DisconnectReason> {
    match frame {
        Frame::Open { stream, host, port } => {
            let asks = asks.ok_or(DisconnectReason::Rules("only clients open streams"))?;
            open(hub, asks, stream, host, port)
        }
        Frame::Opened { stream } => answered(hub, asks, stream, Ok(())),
        Frame::Refused { stream, code, reason } => answered(hub, asks, stream, Err((code, reason))),
        Frame::Data { stream, bytes } => match hub.lane(stream)? {
            Some(lane) => Ok(lane.received(&bytes)?),
            None => Ok(()),
        },
        Frame::Window { stream, bytes } => match hub.lane(stream)? {
            Some(lane) => Ok(lane.credited(bytes)?),
            None => Ok(()),
        },
        Frame::End { stream } => {
            if let Some(lane) = hub.lane(stream)? {
                lane.they_end();
            }
            Ok(())
        }
        Frame::Reset { stream, reason } => {
            if let Some(lane) = hub.lane(stream)? {
                lane.reset(&reason);
            }
            Ok(())
        }
        Frame::Ping { token } => {
            hub.control(Frame::Pong { token });
            Ok(())
        }
        Frame::Pong { .. } => Ok(()),
        Frame::Bye { reason } => {
            *hub.bye.lock() = Some(reason);
            hub.leaving.cancel();
            Ok(())
        }
    }
}

fn open(
    hub: &Arc<Hub>,
    asks: &mpsc::Sender<StreamRequest>,
    id: u32,
    host: String,
    port: u16,
) -> Result<(), DisconnectReason> {
    let lane = {
        let mut lanes = hub.lanes.lock();
        if id <= lanes.highest {
            return Err(DisconnectReason::Rules("the number of a stream comes again"));
        }
        lanes.highest = id;
        (lanes.open.len() < MOST_STREAMS).then(|| {
            let lane = Lane::new(id, None);
            lanes.open.insert(id, Arc::clone(&lane));
            lane
        })
    };
    let Some(lane) = lane else {
        let reason = format!("{MOST_STREAMS} streams are open already.");
        hub.control(Frame::Refused { stream: id, code: "too_many".to_owned(), reason });
        return Ok(());
    };
    let asked =
        StreamRequest { host, port, stream: TunnelStream::new(lane, Arc::clone(hub)), hub: Arc::clone(hub) };
    // There are never more of them than streams, unless those that ended still stand in the queue.
    if let Err(error) = asks.try_send(asked) {
        let (mpsc::error::TrySendError::Full(asked) | mpsc::error::TrySendError::Closed(asked)) = error;
        asked.refuse("busy", "The tunnel is busy; try again.");
    }
    Ok(())
}

fn answered(
    hub: &Hub,
    asks: Option<&mpsc::Sender<StreamRequest>>,
    id: u32,
    answer: Result<(), (String, String)>,
) -> Result<(), DisconnectReason> {
    if asks.is_some() {
        return Err(DisconnectReason::Rules("only servers answer"));
    }
    if let Some(lane) = hub.lane(id)? {
        lane.answered(answer);
    }
    Ok(())
}

async fn write<E: std::fmt::Display>(
    hub: &Hub,
    mut control: mpsc::UnboundedReceiver<Frame>,
    mut data: mpsc::Receiver<Frame>,
    mut outgoing: impl Sink<Bytes, Error = E> + Unpin,
    every: Duration,
) -> DisconnectReason {
    let mut pings = tokio::time::interval_at(Instant::now() + every, every);
    let mut token = 0;
    loop {
        let first = tokio::select! {
            biased;
            frame = control.recv() => frame.inspect(|_| hub.sent()),
            frame = data.recv() => frame,
            _ = pings.tick() => {
                token += 1;
                Some(Frame::Ping { token })
            }
        };
        let Some(first) = first else { return DisconnectReason::Closed };
        if let Err(error) = outgoing.feed(first.encode()).await {
            return DisconnectReason::Broken(error.to_string());
        }
        for _ in 1..AT_ONCE {
            let next = control.try_recv().inspect(|_| hub.sent()).or_else(|_| data.try_recv());
            let Ok(frame) = next else { break };
            if let Err(error) = outgoing.feed(frame.encode()).await {
                return DisconnectReason::Broken(error.to_string());
            }
        }
        if let Err(error) = outgoing.flush().await {
            return DisconnectReason::Broken(error.to_string());
        }
    }
}
