//! The last event of a watch whose access ends: type ERROR with a `Status`, as an API server ends a watch that
//! it cannot continue. Clients then print the reason instead of a decoding error.
//!
//! It goes in the encoding of the watch: JSON, one event per line, tables alike; or protobuf, each event behind its
//! length. Nothing can be appended to a packed stream, nor to one in another encoding: those are cut.

use bytes::Bytes;
use http::{HeaderMap, header};
use rp_access::{ActiveGrant, EndReason, Refusal};
use rp_base::SharedClock;

use super::error::ProxyError;
use super::kube_protobuf;
use super::request::Classified;

/// The end of one watch.
#[derive(Debug)]
pub(super) struct WatchEndEvent {
    clock: SharedClock,
    request_id: String,
    framing: Framing,
}

/// How the events of a watch stand behind each other, and whether the last byte that passed ended one.
#[derive(Debug)]
enum Framing {
    /// JSON; `between`: the last byte ended a line, or none has passed.
    Lines { between: bool },
    /// Protobuf: what of a length has passed, and what is left of its event.
    Lengths { head: [u8; 4], had: usize, left: usize },
}

impl Framing {
    /// That of an answer's media type.
    fn of_type(media_type: &str) -> Option<Self> {
        let kind = media_type.split(';').next()?.trim();
        if kind.eq_ignore_ascii_case("application/json") {
            return Some(Self::Lines { between: true });
        }
        kind.eq_ignore_ascii_case(kube_protobuf::MEDIA_TYPE).then_some(Self::Lengths {
            head: [0; 4],
            had: 0,
            left: 0,
        })
    }

    /// Notes what passed.
    fn passed(&mut self, mut data: &[u8]) {
        match self {
            Self::Lines { between } => {
                if let Some(last) = data.last() {
                    *between = *last == b'\n';
                }
            }
            Self::Lengths { head, had, left } => {
                while let Some((byte, rest)) = data.split_first() {
                    if *left > 0 {
                        let skipped = data.len().min(*left);
                        *left -= skipped;
                        data = &data[skipped..];
                        continue;
                    }
                    head[*had] = *byte;
                    *had += 1;
                    data = rest;
                    if *had == head.len() {
                        (*had, *left) = (0, u32::from_be_bytes(*head) as usize);
                    }
                }
            }
        }
    }

    /// No event has begun that has not ended.
    const fn is_between(&self) -> bool {
        match self {
            Self::Lines { between } => *between,
            Self::Lengths { had, left, .. } => *had == 0 && *left == 0,
        }
    }
}

impl WatchEndEvent {
    /// For a response that is a watch in an encoding that is written here; `None` for any other.
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
        let framing = Framing::of_type(answer.get(header::CONTENT_TYPE)?.to_str().ok()?)?;
        Some(Box::new(Self { clock: clock.clone(), request_id: request_id.to_owned(), framing }))
    }

    /// Notes what passed.
    pub(super) fn passed(&mut self, data: &Bytes) {
        self.framing.passed(data);
    }

    /// The event; `None` in the middle of another.
    pub(super) fn words(&self, live: &ActiveGrant) -> Option<Bytes> {
        if !self.framing.is_between() {
            return None;
        }
        let status = end_of_watch(live.end_reason(self.clock.now())).object(&self.request_id);
        Some(match self.framing {
            Framing::Lines { .. } => {
                let event = serde_json::json!({ "type": "ERROR", "object": status });
                Bytes::from(format!("{event}\n"))
            }
            Framing::Lengths { .. } => Bytes::from(kube_protobuf::watch_error(&status)),
        })
    }
}

/// An access that ended is told as a request with it would be. One that may go on when the store answers again is told
/// as 410, on which clients list and watch anew.
fn end_of_watch(why: EndReason) -> ProxyError {
    match why {
        EndReason::Unsure => ProxyError::WatchExpired(why),
        EndReason::Expired | EndReason::Revoked | EndReason::RightsLost | EndReason::ElevationOver => {
            ProxyError::Refused(Refusal::Ended(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_protobuf_has_ended_when_all_of_its_bytes_have_passed() {
        let mut stream = Vec::new();
        for length in [3u8, 0, 200] {
            stream.extend_from_slice(&[0, 0, 0, length]);
            stream.extend_from_slice(&vec![b'\n'; usize::from(length)]);
        }
        let ends = [0, 7, 11, 215];
        for step in [1, 2, 3, 5, 64, 300] {
            let mut framing = Framing::of_type("application/vnd.kubernetes.protobuf;stream=watch").unwrap();
            let mut at = 0;
            for piece in stream.chunks(step) {
                assert_eq!(framing.is_between(), ends.contains(&at), "{at} in steps of {step}");
                framing.passed(piece);
                at += piece.len();
            }
            assert!(framing.is_between());
        }
    }

    #[test]
    fn tables_are_lines_and_other_encodings_are_cut() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io;stream=watch";
        let mut lines = Framing::of_type(table).unwrap();
        lines.passed(b"{\"type\":");
        assert!(!lines.is_between());
        lines.passed(b"\"ADDED\"}\n");
        assert!(lines.is_between());
        assert!(Framing::of_type("application/cbor-seq").is_none());
        assert_eq!(end_of_watch(EndReason::Unsure).status(), 410);
        assert_eq!(end_of_watch(EndReason::Revoked).status(), 401);
        assert_eq!(end_of_watch(EndReason::ElevationOver).status(), 403);
    }
}
