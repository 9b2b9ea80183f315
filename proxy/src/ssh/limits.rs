//! What strangers and people may cost.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Bounds of the SSH listener.
#[derive(Debug, Clone)]
pub struct SshLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one address.
    pub per_address: usize,
    /// Connections at once that have not signed in yet.
    pub strangers: usize,
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
        Self {
            connections: 4096,
            per_address: 256,
            strangers: 256,
            channels: 32,
            login: Duration::from_secs(60),
            tries: 6,
            keepalive: Duration::from_secs(30),
            idle: Duration::from_mins(30),
        }
    }
}

/// Why a connection is turned away at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Connections,
    Address,
    Strangers,
}

impl Full {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Address => "address",
            Self::Strangers => "strangers",
        }
    }

    /// Sent in place of the version, as RFC 4253 §4.2 allows.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Connections => "there are too many connections; try again later",
            Self::Address => "there are too many connections from your address; close some",
            Self::Strangers => "too many connections are signing in; try again in a minute",
        }
    }
}

/// Counts connections.
#[derive(Debug, Default)]
pub(super) struct Door(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    strangers: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One connection's place. It is a stranger's until [`Place::known`].
#[derive(Debug)]
pub(super) struct Place {
    door: Arc<Door>,
    address: IpAddr,
    stranger: Mutex<bool>,
}

impl Door {
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr, limits: &SshLimits) -> Result<Place, Full> {
        let mut counts = self.0.lock();
        if counts.all >= limits.connections {
            return Err(Full::Connections);
        }
        if counts.strangers >= limits.strangers {
            return Err(Full::Strangers);
        }
        let here = counts.by_address.entry(address).or_default();
        if *here >= limits.per_address {
            return Err(Full::Address);
        }
        *here += 1;
        counts.all += 1;
        counts.strangers += 1;
        Ok(Place { door: Arc::clone(self), address, stranger: Mutex::new(true) })
    }
}

impl Place {
    /// Signed in: no stranger any more.
    pub(super) fn known(&self) {
        if std::mem::take(&mut *self.stranger.lock()) {
            self.door.0.lock().strangers -= 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.known();
        let mut counts = self.door.0.lock();
        counts.all -= 1;
        if let Some(here) = counts.by_address.get_mut(&self.address) {
            *here -= 1;
            if *here == 0 {
                counts.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_addresses_and_all_are_bounded_and_given_back() {
        let limits = SshLimits { connections: 3, per_address: 2, strangers: 2, ..SshLimits::default() };
        let (door, here, there) =
            (Arc::new(Door::default()), IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let first = door.enter(here, &limits).unwrap();
        let second = door.enter(here, &limits).unwrap();
        assert_eq!(door.enter(there, &limits).unwrap_err(), Full::Strangers);
        first.known();
        second.known();
        second.known();
        assert_eq!(door.enter(here, &limits).unwrap_err(), Full::Address);
        let third = door.enter(there, &limits).unwrap();
        assert_eq!(door.enter(there, &limits).unwrap_err(), Full::Connections);
        drop((first, second, third));
        let counts = door.0.lock();
        assert_eq!((counts.all, counts.strangers, counts.by_address.len()), (0, 0, 0));
    }
}
