//! The streams of an exec or attach, whatever carries them.

use bytes::Bytes;
use rp_recording::StreamKind;
use serde::Deserialize;

use super::StreamEvent;

/// Of a size, bytes.
const MOST: usize = 8 * 1024;

/// What a stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Input,
    Output,
    Error,
    /// The status at the end.
    Status,
    Resize,
}

impl Channel {
    pub(super) const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Input,
            1 => Self::Output,
            2 => Self::Error,
            3 => Self::Status,
            4 => Self::Resize,
            _ => return None,
        })
    }

    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"stdin" => Self::Input,
            b"stdout" => Self::Output,
            b"stderr" => Self::Error,
            b"error" => Self::Status,
            b"resize" => Self::Resize,
            _ => return None,
        })
    }
}

/// One direction of a session.
#[derive(Debug)]
pub(super) struct StreamDirection {
    /// From the person to the cluster.
    up: bool,
    /// Keystrokes are wanted.
    input: bool,
    /// A size that is not whole yet.
    held: Vec<u8>,
}

impl StreamDirection {
    pub(super) const fn new(up: bool, input: bool) -> Self {
        Self { up, input, held: Vec::new() }
    }

    pub(super) const fn is_up(&self) -> bool {
        self.up
    }

    /// Whether anything is done with what passes on that stream in this direction.
    pub(super) const fn listens(&self, channel: Channel) -> bool {
        match channel {
            Channel::Input => self.up && self.input,
            Channel::Resize => self.up,
            Channel::Output | Channel::Error | Channel::Status => !self.up,
        }
    }

    /// Bytes that passed on a stream.
    pub(super) fn record(&mut self, channel: Channel, bytes: Bytes, seen: &mut Vec<StreamEvent>) {
        if bytes.is_empty() || !self.listens(channel) {
            return;
        }
        match channel {
            Channel::Input => seen.push(StreamEvent::Bytes(StreamKind::Input, bytes)),
            Channel::Output => seen.push(StreamEvent::Bytes(StreamKind::Output, bytes)),
            Channel::Error => seen.push(StreamEvent::Bytes(StreamKind::Error, bytes)),
            Channel::Status => seen.push(StreamEvent::Status(bytes)),
            Channel::Resize => {
                let room = MOST.saturating_sub(self.held.len()).min(bytes.len());
                self.held.extend_from_slice(&bytes[..room]);
                self.resized(seen);
            }
        }
    }

    /// A message, or the stream, ended.
    pub(super) fn ended(&mut self, channel: Channel) {
        if channel == Channel::Resize {
            self.held.clear();
        }
    }

    /// Sizes are JSON, one after the other.
    fn resized(&mut self, seen: &mut Vec<StreamEvent>) {
        #[derive(Deserialize)]
        struct Size {
            #[serde(alias = "Width")]
            width: u16,
            #[serde(alias = "Height")]
            height: u16,
        }
        let mut sizes = serde_json::Deserializer::from_slice(&self.held).into_iter::<Size>();
        while let Some(Ok(size)) = sizes.next() {
            seen.push(StreamEvent::Resized(size.width, size.height));
        }
        let read = sizes.byte_offset();
        self.held.drain(..read.min(self.held.len()));
        if self.held.len() >= MOST {
            self.held.clear();
        }
    }
}

/// How a session ended, of the status that the API server gives.
pub(super) fn outcome(status: &[u8]) -> Option<String> {
    if status.is_empty() {
        return None;
    }
    let Ok(status) = serde_json::from_slice::<serde_json::Value>(status) else {
        return Some("failed".to_owned());
    };
    if status["status"] == "Success" {
        return Some("exit 0".to_owned());
    }
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let code =
        causes.filter(|cause| cause["reason"] == "ExitCode").find_map(|cause| cause["message"].as_str());
    match code.filter(|code| code.len() <= 3 && code.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(code) => Some(format!("exit {code}")),
        None => Some("failed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_outcomes() {
        assert_eq!(outcome(br#"{"status":"Success"}"#).as_deref(), Some("exit 0"));
        let failed = br#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#;
        assert_eq!(outcome(failed).as_deref(), Some("exit 7"));
        assert_eq!(outcome(b"{\"status\":\"Failure\"}").as_deref(), Some("failed"));
        assert_eq!((outcome(b"no json").as_deref(), outcome(b"")), (Some("failed"), None));
    }

    #[test]
    fn sizes_may_come_in_pieces() {
        let (mut way, mut seen) = (StreamDirection::new(true, false), Vec::new());
        way.record(Channel::Resize, Bytes::from_static(b"{\"Width\":80,\"Hei"), &mut seen);
        assert!(seen.is_empty());
        way.record(
            Channel::Resize,
            Bytes::from_static(b"ght\":24}\n{\"Width\":1,\"Height\":2}\n"),
            &mut seen,
        );
        assert_eq!(seen, [StreamEvent::Resized(80, 24), StreamEvent::Resized(1, 2)]);
        way.record(Channel::Input, Bytes::from_static(b"secret"), &mut seen);
        assert_eq!(seen.len(), 2, "keystrokes are not wanted");
    }
}
