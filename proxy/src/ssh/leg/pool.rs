//! Which of the connections of one access to one machine a channel uses.
//!
//! A stock `sshd` allows ten sessions on a connection (`MaxSessions` of sshd_config(5)), so more sessions need more connections.
//! The library's client cannot hold back one channel alone: it widens every window by itself, and a channel whose output nobody
//! takes stops the task of the whole connection (russh issue 770). So the first [`APART`] channels have a connection each, the next
//! ones share those, and a connection on which a client takes nothing is given a new channel only when there is no other.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Channels at once that have a connection each.
const APART: usize = 4;
/// Connections of one access to one machine.
const MOST_CONNECTIONS: usize = 8;
/// Channels of one connection: `MaxSessions` of a stock `sshd`.
const MOST_CHANNELS: usize = 10;
/// Channels after which a connection is replaced as soon as it is idle: the library's client keeps a few kilobytes of each
/// channel that we close before the machine does.
const MANY_CHANNELS: u32 = 1000;
/// Sweeps after which a connection that no channel used is closed.
const IDLE_SWEEPS: u32 = 2;

/// A connection that channels share.
pub(super) trait SharedConnection: Send + Sync + 'static {
    /// Whether it is gone.
    fn is_closed(&self) -> bool;

    /// Ends it at once, whatever the machine does.
    fn cut(&self);
}

/// Why there is no room for a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// All channels are taken, or this client has its share of them.
    Full,
    /// The pool has ended; the next one may be asked.
    Ended,
}

/// The connections of one access to one machine.
#[derive(Debug)]
pub(super) struct Pool<C: SharedConnection> {
    state: Mutex<PoolState<C>>,
    /// Held while a connection is made: one at a time.
    pub(super) dialing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct PoolState<C> {
    connections: Vec<PooledConnection<C>>,
    next: u64,
    ended: bool,
}

#[derive(Debug)]
struct PooledConnection<C> {
    number: u64,
    connection: Arc<C>,
    users: Vec<ChannelUser>,
    /// Fewer than [`MOST_CHANNELS`] where the machine refused one.
    most: usize,
    /// Channels that the machine opened on it.
    opened: u32,
    /// It gets no new channels.
    retired: bool,
    idle_sweeps: u32,
}

/// A channel that is open, or being opened.
#[derive(Debug)]
struct ChannelUser {
    /// The client connection that it belongs to.
    client: u64,
    stalled: Arc<AtomicBool>,
}

/// A channel's share of a connection; given back when dropped.
#[derive(Debug)]
pub(super) struct ChannelSlot<C: SharedConnection> {
    pool: Arc<Pool<C>>,
    number: u64,
    connection: Arc<C>,
    stalled: Arc<AtomicBool>,
}

impl<C: SharedConnection> Pool<C> {
    pub(super) fn new() -> Arc<Self> {
        let state = PoolState { connections: Vec::new(), next: 0, ended: false };
        Arc::new(Self { state: Mutex::new(state), dialing: tokio::sync::Mutex::default() })
    }

    /// Room for one channel of a client connection; `None`: another connection should be made first.
    ///
    /// # Errors
    /// There is no room, and a new connection is not allowed.
    pub(super) fn take(self: &Arc<Self>, client: u64) -> Result<Option<ChannelSlot<C>>, NoRoom> {
        let mut state = self.state.lock();
        if state.ended {
            return Err(NoRoom::Ended);
        }
        state.connections.retain(|each| !each.connection.is_closed());
        if !state.has_share(client) {
            return Err(NoRoom::Full);
        }
        let made = state.connections.len();
        let chosen = state
            .least_used(PooledConnection::is_idle)
            .or_else(|| state.least_used(PooledConnection::is_flowing).filter(|_| made >= APART))
            .or_else(|| state.least_used(PooledConnection::has_room).filter(|_| made >= MOST_CONNECTIONS));
        match chosen {
            Some(index) => Ok(Some(self.slot(&mut state.connections[index], client))),
            None if made < MOST_CONNECTIONS => Ok(None),
            None => Err(NoRoom::Full),
        }
    }

    /// Adds a connection that was made, with room for the channel that it was made for; `None`: the pool has ended, and the
    /// connection with it.
    pub(super) fn add(self: &Arc<Self>, connection: C, client: u64) -> Option<ChannelSlot<C>> {
        let mut state = self.state.lock();
        if state.ended {
            connection.cut();
            return None;
        }
        let number = state.next;
        state.next += 1;
        let mut pooled = PooledConnection {
            number,
            connection: Arc::new(connection),
            users: Vec::new(),
            most: MOST_CHANNELS,
            opened: 0,
            retired: false,
            idle_sweeps: 0,
        };
        let slot = self.slot(&mut pooled, client);
        state.connections.push(pooled);
        Some(slot)
    }

    /// A connection that can be asked whether it is alive. One that waits for a client cannot: it may live and not answer.
    pub(super) fn any(&self) -> Option<Arc<C>> {
        let state = self.state.lock();
        let mut usable =
            state.connections.iter().filter(|each| !each.retired && !each.connection.is_closed());
        usable.find(|each| !each.is_stalled()).map(|each| Arc::clone(&each.connection))
    }

    /// The connection gets no new channels, and ends with its last one.
    pub(super) fn retire(&self, connection: &Arc<C>) {
        let mut state = self.state.lock();
        let known = state.connections.iter_mut().find(|each| Arc::ptr_eq(&each.connection, connection));
        if let Some(known) = known {
            known.retired = true;
        }
        state.drop_retired();
    }

    /// Called at intervals: closes connections that no channel used meanwhile. True: none is left, and the pool has ended.
    pub(super) fn sweep(&self) -> bool {
        // Somebody is making a connection, or waits for it.
        let Ok(_turn) = self.dialing.try_lock() else { return false };
        let mut state = self.state.lock();
        for each in &mut state.connections {
            each.idle_sweeps = if each.users.is_empty() { each.idle_sweeps + 1 } else { 0 };
        }
        state.connections.retain(|each| each.idle_sweeps < IDLE_SWEEPS && !each.connection.is_closed());
        let none_left = state.connections.is_empty();
        state.ended |= none_left;
        state.ended
    }

    /// Whether it makes no connections any more.
    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// Ends every connection, and with it every channel.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        for each in state.connections.drain(..) {
            each.connection.cut();
        }
    }

    fn slot(self: &Arc<Self>, pooled: &mut PooledConnection<C>, client: u64) -> ChannelSlot<C> {
        let stalled = Arc::new(AtomicBool::new(false));
        pooled.users.push(ChannelUser { client, stalled: Arc::clone(&stalled) });
        pooled.idle_sweeps = 0;
        let connection = Arc::clone(&pooled.connection);
        ChannelSlot { pool: Arc::clone(self), number: pooled.number, connection, stalled }
    }
}

impl<C: SharedConnection> PoolState<C> {
    /// The last quarter of the channels is for client connections that have less than their share.
    fn has_share(&self, client: u64) -> bool {
        const ALL: usize = MOST_CONNECTIONS * MOST_CHANNELS;
        let users = || self.connections.iter().flat_map(|each| &each.users);
        let held = users().filter(|user| user.client == client).count();
        let mut clients: HashSet<u64> = users().map(|user| user.client).collect();
        clients.insert(client);
        held < ALL / clients.len() || users().count() < ALL - ALL / 4
    }

    /// The index of the connection with the fewest channels among those that a test accepts.
    fn least_used(&self, accepted: impl Fn(&PooledConnection<C>) -> bool) -> Option<usize> {
        let all = self.connections.iter().enumerate().filter(|(_, each)| accepted(each));
        all.min_by_key(|(_, each)| each.users.len()).map(|(index, _)| index)
    }

    fn drop_retired(&mut self) {
        self.connections.retain(|each| !each.retired || !each.users.is_empty());
    }
}

impl<C> PooledConnection<C> {
    fn has_room(&self) -> bool {
        !self.retired && self.users.len() < self.most
    }

    fn is_idle(&self) -> bool {
        self.has_room() && self.users.is_empty()
    }

    /// It has room, and no channel on it waits for its client.
    fn is_flowing(&self) -> bool {
        self.has_room() && !self.is_stalled()
    }

    fn is_stalled(&self) -> bool {
        self.users.iter().any(|user| user.stalled.load(Ordering::Relaxed))
    }
}

impl<C: SharedConnection> ChannelSlot<C> {
    pub(super) const fn connection(&self) -> &Arc<C> {
        &self.connection
    }

    /// To be set while the channel's client takes nothing.
    pub(super) fn stalled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stalled)
    }

    /// The machine has opened the channel.
    pub(super) fn opened(&self) {
        self.change(|pooled| pooled.opened = pooled.opened.saturating_add(1));
    }

    /// The machine opens no more channels on this connection at present. False: it never opened one.
    pub(super) fn refused(self) -> bool {
        // Of a connection that is gone meanwhile nothing is known.
        let mut another_may = true;
        self.change(|pooled| {
            another_may = pooled.opened > 0;
            // One is added again when this slot is given back, which leaves as many as there are without it.
            pooled.most = pooled.users.len().saturating_sub(2);
            // Programs that go on after their channels have ended count as sessions too.
            pooled.retired |= pooled.users.len() <= 1;
        });
        another_may
    }

    /// The machine did not answer: the connection gets no new channels. False: it never opened one.
    pub(super) fn unanswered(self) -> bool {
        let mut another_may = true;
        self.change(|pooled| {
            another_may = pooled.opened > 0;
            pooled.retired = true;
        });
        another_may
    }

    fn change(&self, change: impl FnOnce(&mut PooledConnection<C>)) {
        let mut state = self.pool.state.lock();
        if let Some(pooled) = state.connections.iter_mut().find(|each| each.number == self.number) {
            change(pooled);
        }
    }
}

impl<C: SharedConnection> Drop for ChannelSlot<C> {
    fn drop(&mut self) {
        let stalled = Arc::clone(&self.stalled);
        self.change(|pooled| {
            pooled.users.retain(|user| !Arc::ptr_eq(&user.stalled, &stalled));
            // Where the machine refused a channel it may have room now.
            pooled.most = (pooled.most + 1).min(MOST_CHANNELS);
            pooled.retired |= pooled.users.is_empty() && pooled.opened >= MANY_CHANNELS;
        });
        self.pool.state.lock().drop_retired();
    }
}

#[cfg(test)]
mod tests;
