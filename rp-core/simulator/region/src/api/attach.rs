//! Attach to a simulated container: its process writes log lines and reads nothing.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use rp_base::SharedClock;
use rp_simulator::body::Body;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Call;
use super::log::Writer;
use super::path::Resource;
use super::remote_streams::{Gone, RemoteStreams};
use super::status::Failure;

/// The longest that a container is attached to.
const LONGEST: Duration = Duration::from_hours(1);

/// `…/pods/{name}/attach`.
pub(super) fn answer(
    call: &Call<'_>,
    request: Request<Incoming>,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let attached = Attached {
        writer: Writer::open(call, at)?,
        clock: call.api.clock.clone(),
        tick: call.api.tick,
        end: Instant::now() + LONGEST,
        stop: call.api.stop.clone(),
    };
    super::exec::serve(call, request, "attach", move |streams| attached.serve(streams))
}

struct Attached {
    writer: Writer,
    clock: SharedClock,
    tick: Duration,
    end: Instant,
    stop: CancellationToken,
}

impl Attached {
    async fn serve(self, mut streams: RemoteStreams) -> Result<(), Gone> {
        let mut open = true;
        let mut next = Instant::now();
        loop {
            tokio::select! {
                typed = streams.read(), if open => open = typed.is_some(),
                () = tokio::time::sleep_until(next) => {
                    streams.stdout(self.writer.line(self.clock.now())).await?;
                    next = Instant::now() + self.tick;
                }
                () = tokio::time::sleep_until(self.end) => break,
                () = self.stop.cancelled() => break,
            }
        }
        streams.status(r#"{"metadata":{},"status":"Success"}"#.to_owned()).await
    }
}
