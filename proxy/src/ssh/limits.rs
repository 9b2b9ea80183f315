//! Limits for unauthenticated clients and for people.

use rp_net::door::{AdmissionRefusal, DoorLimits, StrangerLimits};

/// Who gets in at the SSH listener, by the sections `[ssh]` and `[limits]`.
pub(super) fn door_limits(ssh: &rp_config::Ssh, limits: &rp_config::Limits) -> DoorLimits {
    DoorLimits {
        connections: ssh.max_connections,
        per_address: ssh.max_per_address,
        new_per_minute: ssh.connections_per_minute,
        strangers: Some(StrangerLimits {
            connections: ssh.max_strangers,
            per_address: ssh.max_strangers_per_address,
            answers: 1,
            time: ssh.login_time,
            input: StrangerLimits::INPUT,
        }),
        // A shell that is not used ends by `terminal.idle`.
        idle: None,
        stalled: Some(limits.stalled),
        checks_from: limits.checks_from.clone(),
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
