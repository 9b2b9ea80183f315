//! The lines of a watch.

use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use rp_kube::KubeBody;
use serde_json::Value;

use crate::api::ApiError;

/// Octets of the longest line: metadata with annotations of 256 KiB and managed fields.
const MOST_LINE: usize = 4 * 1024 * 1024;

/// One line.
#[derive(Debug)]
pub(super) enum Event {
    Put(Value),
    Gone(Value),
    /// Only its version counts.
    Bookmark(Value),
}

/// An open watch.
pub(super) struct Lines {
    body: KubeBody,
    buffer: BytesMut,
    resource: &'static str,
}

impl Lines {
    pub(super) fn new(body: KubeBody, resource: &'static str) -> Self {
        Self { body, buffer: BytesMut::new(), resource }
    }

    /// The next event; `None`: the watch ended.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            if let Some(line) = self.line() {
                match self.event(&line)? {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            if self.buffer.len() > MOST_LINE {
                return Err(self.unreadable());
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            // Silence and broken connections end a watch as the server does: the next one goes on where it stopped.
            let Ok(frame) = frame else { return Ok(None) };
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }

    fn line(&mut self) -> Option<BytesMut> {
        let end = memchr::memchr(b'\n', &self.buffer)?;
        let line = self.buffer.split_to(end);
        self.buffer.advance(1);
        if self.buffer.is_empty() {
            // Gives the memory of a large object back while the watch is quiet.
            self.buffer = BytesMut::new();
        }
        Some(line)
    }

    fn event(&self, line: &[u8]) -> Result<Option<Event>, ApiError> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let mut event: Value = serde_json::from_slice(line).map_err(|_| self.unreadable())?;
        let object = event.get_mut("object").map(Value::take).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "ADDED" | "MODIFIED" => Ok(Some(Event::Put(object))),
            "DELETED" => Ok(Some(Event::Gone(object))),
            "BOOKMARK" => Ok(Some(Event::Bookmark(object))),
            "ERROR" => Err(self.refused(&object)),
            _ => Ok(None),
        }
    }

    fn refused(&self, status: &Value) -> ApiError {
        let text = |name: &str| {
            let text = status.get(name).and_then(Value::as_str).unwrap_or_default();
            text.get(..text.floor_char_boundary(300)).unwrap_or_default().to_owned()
        };
        let code = status.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        ApiError::Refused {
            verb: "watch",
            object: self.resource.to_owned(),
            code: code.unwrap_or(500),
            reason: text("reason"),
            message: text("message"),
        }
    }

    fn unreadable(&self) -> ApiError {
        ApiError::Unreadable { verb: "watch", object: self.resource.to_owned() }
    }
}
