//! The last event of a watch whose access ends: type ERROR with a `Status`, as an API server ends a watch that
//! it cannot continue. Clients then print the reason instead of a decoding error.

use bytes::Bytes;
use http::{HeaderMap, header};
use rp_access::{ActiveGrant, Refusal};
use rp_base::SharedClock;

use super::error::ProxyError;
use super::request::Classified;

/// The end of one watch.
#[derive(Debug)]
pub(super) struct WatchEndEvent {
    clock: SharedClock,
    request_id: String,
    /// The last byte that passed ended an event, or none has passed.
    between: bool,
}

impl WatchEndEvent {
    /// For a response that is a stream of JSON events, one per line. `None` for any other response, which is cut
    /// without an event: protobuf uses another framing, and nothing can be appended to a compressed stream.
    pub(super) fn for_answer(
        request: &Classified,
        answer: &HeaderMap,
        clock: &SharedClock,
        request_id: &str,
    ) -> Option<Box<Self>> {
        if !request.watch
            || [header::CONTENT_ENCODING, header::CONTENT_LENGTH].iter().any(|name| answer.contains_key(name))
        {
            return None;
        }
        let kind = answer.get(header::CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim();
        let json = kind.eq_ignore_ascii_case("application/json");
        json.then(|| {
            Box::new(Self { clock: clock.clone(), request_id: request_id.to_owned(), between: true })
        })
    }

    /// Notes what passed.
    pub(super) fn passed(&mut self, data: &Bytes) {
        if let Some(last) = data.last() {
            self.between = *last == b'\n';
        }
    }

    /// The event; `None` in the middle of another.
    pub(super) fn words(&self, live: &ActiveGrant) -> Option<Bytes> {
        let error = ProxyError::Refused(Refusal::Ended(live.end_reason(self.clock.now())));
        let event = serde_json::json!({ "type": "ERROR", "object": error.object(&self.request_id) });
        self.between.then(|| Bytes::from(format!("{event}\n")))
    }
}
