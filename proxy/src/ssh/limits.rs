//! Limits for unauthenticated clients and for people.

use std::time::Duration;

use rp_net::door::{AdmissionRefusal, DoorLimits, StrangerLimits};

/// Bounds of the SSH listener.
#[derive(Debug, Clone)]
pub struct SshLimits {
    /// Who gets in.
    pub door: DoorLimits,
    /// Channels at once of one connection.
    pub channels: usize,
    /// From the first byte to the sign-in.
    pub login: Duration,
    /// Passwords that one connection may try (`contract/portal.md` §16.2).
    pub tries: usize,
    /// Silence after which a client is asked whether it is there; three unanswered questions end the connection.
    pub keepalive: Duration,
    /// A shell with a terminal ends when nothing was typed for so long; zero: never.
    pub idle: Duration,
}

impl Default for SshLimits {
    fn default() -> Self {
        let login = Duration::from_secs(60);
        let strangers = StrangerLimits { connections: 256, per_address: 32, answers: 1, time: login };
        Self {
            door: DoorLimits {
                connections: 4096,
                per_address: 256,
                strangers: Some(strangers),
                stalled: Some(Duration::from_hours(1)),
                ..DoorLimits::default()
            },
            channels: 32,
            login,
            tries: 6,
            keepalive: Duration::from_secs(30),
            idle: Duration::from_mins(30),
        }
    }
}

/// Sent in place of the version, as RFC 4253 §4.2 allows.
pub(super) const fn sentence(full: AdmissionRefusal) -> &'static str {
    match full {
        AdmissionRefusal::Connections => "there are too many connections; try again later",
        AdmissionRefusal::Address => "there are too many connections from your address; close some",
        AdmissionRefusal::Strangers => "too many connections are signing in; try again in a minute",
        AdmissionRefusal::TooOften => "your address opens connections too often; try again in a minute",
    }
}
