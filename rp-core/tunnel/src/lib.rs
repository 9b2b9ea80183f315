//! The wire of `aro tunnel`, for both of its ends: frames, destinations, and many streams over one connection.
//!
//! One frame is one binary message of a WebSocket whose subprotocol is [`PROTOCOL`]. The client opens streams, the
//! server answers them; from then on both sides are alike. Each direction of a stream has a window of its own, so a
//! stream that is not read stalls only itself. `docs/guides/tunnel.md` has the frames as a table.

mod destination;
mod driver;
mod frame;
mod lane;
mod mux;

pub use destination::{Destination, InvalidDestination};
pub use driver::{Driver, client, server};
pub use frame::{BadFrame, Frame};
pub use lane::TunnelStream;
pub use mux::{ByeSender, DisconnectReason, Keepalive, OpenError, Opener, StreamRequest, StreamRequests};

/// The WebSocket's subprotocol: another version of the frames has another name.
pub const PROTOCOL: &str = "aro.tunnel.v1";
/// What each side may send on a stream before the other has read, bytes.
pub const WINDOW: u32 = 256 * 1024;
/// Bytes in one data frame at most.
pub const MOST_DATA: usize = 16 * 1024;
/// Streams of one connection at once.
pub const MOST_STREAMS: usize = 256;
/// The longest message: a data frame with its head.
pub const MOST_MESSAGE: usize = MOST_DATA + frame::HEAD;

#[cfg(test)]
mod tests;
