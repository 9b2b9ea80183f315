//! What a watch is told when its access ends: an event of type ERROR with a `Status`, as an API server ends a watch that
//! it cannot go on with. Clients then say why, instead of that an event could not be read.

use bytes::Bytes;
use http::{HeaderMap, header};
use rp_access::{Live, Refusal};
use rp_base::SharedClock;

use super::error::ProxyError;
use super::request::Classified;

/// The end of one watch.
#[derive(Debug)]
pub(super) struct Farewell {
    clock: SharedClock,
    request_id: String,
    /// The last byte that passed ended an event, or none has passed.
    between: bool,
}

impl Farewell {
    /// For an answer that is a stream of events in JSON, each on a line of its own. `None`: it is another, which is cut
    /// without words: protobuf frames its events otherwise, and a packed stream cannot be added to.
    pub(super) fn of(
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
    pub(super) fn words(&self, live: &Live) -> Option<Bytes> {
        let error = ProxyError::Refused(Refusal::Ended(live.cut(self.clock.now())));
        let event = serde_json::json!({ "type": "ERROR", "object": error.object(&self.request_id) });
        self.between.then(|| Bytes::from(format!("{event}\n")))
    }
}
