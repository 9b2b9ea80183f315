//! The limits of web listeners, from the settings `[limits]`.

use std::sync::Arc;
use std::time::Duration;

use rp_config::Settings;
use rp_metrics::Registry;
use rp_net::Origins;
use rp_net::door::{Door, DoorLimits, StrangerLimits};
use rp_net::listen::Limits;

/// From ping to ping on an idle HTTP/2 connection.
const PING: Duration = Duration::from_secs(30);

/// What clients of a web listener may cost; `listener` names it in metrics.
pub fn web(settings: &Settings, listener: &'static str, registry: &Registry) -> Limits {
    let limits = &settings.limits;
    let door = DoorLimits {
        connections: limits.connections,
        per_address: limits.per_address,
        new_per_minute: limits.connections_per_minute,
        strangers: Some(StrangerLimits {
            connections: limits.strangers,
            per_address: limits.strangers_per_address,
            answers: limits.stranger_answers,
            time: limits.stranger_time,
            input: StrangerLimits::INPUT,
        }),
        idle: Some(limits.idle),
        stalled: Some(limits.stalled),
        checks_from: limits.checks_from.clone(),
    };
    Limits {
        door: Door::new(door, listener, registry),
        streams: limits.streams,
        handshake: limits.handshake,
        head: limits.head,
        begun: None,
        head_bytes: limits.head_bytes,
        ping: PING,
        origins: Arc::new(Origins {
            proxy_protocol_from: settings.listen.proxy_protocol_from.clone(),
            forwarded_from: settings.listen.forwarded_from.clone(),
        }),
    }
}
