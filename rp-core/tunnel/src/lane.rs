//! The state of one stream on this side.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio_util::sync::PollSender;

use crate::mux::Hub;
use crate::{Frame, MOST_DATA, WINDOW};

/// The other side's response to an open: ok, or code and reason of its refusal.
pub(crate) type OpenResult = Result<(), (String, String)>;

#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) id: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Received and not read yet.
    inbox: BytesMut,
    /// What the other side may still send.
    room: u32,
    /// Read, and not given back yet.
    read: u32,
    /// What we may still send.
    credit: u32,
    they_ended: bool,
    we_ended: bool,
    /// Why the stream was closed in both directions.
    reset: Option<String>,
    answer: Option<oneshot::Sender<OpenResult>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// More came than the window allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowExceeded;

impl Lane {
    pub(crate) fn new(id: u32, answer: Option<oneshot::Sender<OpenResult>>) -> Arc<Self> {
        let state = State {
            inbox: BytesMut::new(),
            room: WINDOW,
            read: 0,
            credit: WINDOW,
            they_ended: false,
            we_ended: false,
            reset: None,
            answer,
            reader: None,
            writer: None,
        };
        Arc::new(Self { id, state: Mutex::new(state) })
    }

    /// The server's answer to our open.
    pub(crate) fn answered(&self, answer: OpenResult) {
        let mut state = self.state.lock();
        if answer.is_err() {
            // There is nothing to reset.
            state.reset = Some(String::new());
        }
        if let Some(waiting) = state.answer.take() {
            let _ = waiting.send(answer);
        }
    }

    pub(crate) fn received(&self, bytes: &Bytes) -> Result<(), WindowExceeded> {
        let mut state = self.state.lock();
        let length = u32::try_from(bytes.len()).map_err(|_| WindowExceeded)?;
        if state.they_ended {
            return Err(WindowExceeded);
        }
        state.room = state.room.checked_sub(length).ok_or(WindowExceeded)?;
        state.inbox.extend_from_slice(bytes);
        wake(state.reader.take());
        Ok(())
    }

    pub(crate) fn credited(&self, bytes: u32) -> Result<(), WindowExceeded> {
        let mut state = self.state.lock();
        // More credit than was sent.
        state.credit =
            state.credit.checked_add(bytes).filter(|credit| *credit <= WINDOW).ok_or(WindowExceeded)?;
        wake(state.writer.take());
        Ok(())
    }

    pub(crate) fn they_end(&self) {
        let mut state = self.state.lock();
        state.they_ended = true;
        wake(state.reader.take());
    }

    /// Closes both directions; the first reason stays. What was received can still be read.
    pub(crate) fn reset(&self, why: &str) {
        let mut state = self.state.lock();
        if state.reset.is_none() {
            state.reset = Some(why.to_owned());
        }
        state.answer = None;
        wake(state.reader.take());
        wake(state.writer.take());
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn broken(why: &str) -> io::Error {
    if why.is_empty() {
        io::Error::from(io::ErrorKind::ConnectionReset)
    } else {
        io::Error::new(io::ErrorKind::ConnectionReset, why.to_owned())
    }
}

/// Bytes to one destination and back. Dropped before both directions ended, it is reset.
#[derive(Debug)]
pub struct TunnelStream {
    lane: Arc<Lane>,
    hub: Arc<Hub>,
    out: PollSender<Frame>,
}

impl TunnelStream {
    pub(crate) fn new(lane: Arc<Lane>, hub: Arc<Hub>) -> Self {
        let out = PollSender::new(hub.data());
        Self { lane, hub, out }
    }

    pub(crate) fn id(&self) -> u32 {
        self.lane.id
    }

    /// Ends both directions and tells the other side why.
    pub fn reset(self, why: &str) {
        let over = {
            let state = self.lane.state.lock();
            state.reset.is_some()
        };
        if !over {
            self.hub.control(Frame::Reset { stream: self.lane.id, reason: why.to_owned() });
            self.lane.reset(why);
        }
    }

    /// Drops the stream without a frame to the other side.
    pub(crate) fn forget(self) {
        self.lane.reset("");
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        let over = {
            let state = self.lane.state.lock();
            state.reset.is_some() || state.they_ended && state.we_ended
        };
        if !over {
            self.hub.control(Frame::Reset { stream: self.lane.id, reason: String::new() });
        }
        self.hub.forget(self.lane.id);
    }
}

impl AsyncRead for TunnelStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lane.state.lock();
        let length = state.inbox.len().min(buf.remaining());
        if length == 0 && !state.inbox.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if length == 0 {
            if state.they_ended {
                return Poll::Ready(Ok(()));
            }
            if let Some(why) = &state.reset {
                return Poll::Ready(Err(broken(why)));
            }
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        buf.put_slice(state.inbox.get(..length).unwrap_or_default());
        state.inbox.advance(length);
        if state.inbox.is_empty() {
            // An idle stream holds no memory.
            state.inbox = BytesMut::new();
        }
        state.read += u32::try_from(length).unwrap_or(WINDOW);
        if state.read >= WINDOW / 2 && !state.they_ended && state.reset.is_none() {
            let bytes = std::mem::take(&mut state.read);
            state.room += bytes;
            drop(state);
            self.hub.control(Frame::Window { stream: self.lane.id, bytes });
        }
        Poll::Ready(Ok(()))
    }
}

impl TunnelStream {
    /// How much may be sent now.
    fn credit(&self, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        let mut state = self.lane.state.lock();
        if let Some(why) = &state.reset {
            return Poll::Ready(Err(broken(why)));
        }
        if state.we_ended {
            return Poll::Ready(Err(io::Error::from(io::ErrorKind::BrokenPipe)));
        }
        if state.credit == 0 {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(usize::try_from(state.credit).unwrap_or(MOST_DATA)))
    }

    fn poll_place(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.out.poll_reserve(cx).map_err(|_| broken("the tunnel is closed"))
    }

    fn put(&mut self, frame: Frame) -> io::Result<()> {
        self.out.send_item(frame).map_err(|_| broken("the tunnel is closed"))
    }
}

impl AsyncWrite for TunnelStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let credit = ready!(self.credit(cx))?;
        ready!(self.poll_place(cx))?;
        let length = credit.min(buf.len()).min(MOST_DATA);
        let piece = Bytes::copy_from_slice(buf.get(..length).unwrap_or_default());
        // Only we take from the credit, so it is still there.
        self.lane.state.lock().credit -= u32::try_from(length).unwrap_or_default();
        let stream = self.lane.id;
        self.put(Frame::Data { stream, bytes: piece })?;
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let over = {
            let state = self.lane.state.lock();
            state.we_ended || state.reset.is_some()
        };
        if over {
            return Poll::Ready(Ok(()));
        }
        // Behind the data, in its queue.
        ready!(self.poll_place(cx))?;
        let stream = self.lane.id;
        self.put(Frame::End { stream })?;
        self.lane.state.lock().we_ended = true;
        Poll::Ready(Ok(()))
    }
}
