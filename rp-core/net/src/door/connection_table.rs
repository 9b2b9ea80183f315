//! The admitted connections, counted by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::connection::ConnectionHandle;
use super::descriptors::DescriptorShare;

/// The connections of one address.
#[derive(Debug, Default, Clone, Copy)]
struct AddressUsage {
    all: usize,
    strangers: usize,
}

/// Every connection of a door.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    descriptors: Arc<DescriptorShare>,
    next: u64,
    inside: HashMap<u64, ConnectionHandle>,
    strangers: usize,
    by_address: HashMap<IpAddr, AddressUsage>,
}

impl ConnectionTable {
    /// An empty table; its connections use descriptors of this share.
    pub(super) fn new(descriptors: Arc<DescriptorShare>) -> Self {
        Self { descriptors, next: 0, inside: HashMap::new(), strangers: 0, by_address: HashMap::new() }
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn all(&self) -> usize {
        self.inside.len()
    }

    pub(super) const fn strangers(&self) -> usize {
        self.strangers
    }

    /// Connections of an address, and those of strangers among them.
    pub(super) fn counts_for(&self, address: IpAddr) -> (usize, usize) {
        self.by_address.get(&address).map_or((0, 0), |share| (share.all, share.strangers))
    }

    pub(super) fn connections(&self) -> impl Iterator<Item = &ConnectionHandle> {
        self.inside.values()
    }

    pub(super) fn holds(&self, connection: &ConnectionHandle) -> bool {
        self.inside.contains_key(&connection.number())
    }

    pub(super) fn insert(&mut self, connection: &ConnectionHandle) {
        self.inside.insert(connection.number(), connection.clone());
        self.descriptors.count_in();
        let stranger = usize::from(!connection.is_known());
        self.strangers += stranger;
        if let Some(address) = connection.address() {
            let share = self.by_address.entry(address).or_default();
            (share.all, share.strangers) = (share.all + 1, share.strangers + stranger);
        }
    }

    /// Removes a connection; does nothing the second time.
    pub(super) fn remove(&mut self, connection: &ConnectionHandle) {
        if self.inside.remove(&connection.number()).is_none() {
            return;
        }
        self.descriptors.count_out();
        let stranger = usize::from(!connection.is_known());
        self.strangers -= stranger;
        let Some(address) = connection.address() else { return };
        if let Some(share) = self.by_address.get_mut(&address) {
            (share.all, share.strangers) = (share.all - 1, share.strangers - stranger);
            if share.all == 0 {
                self.by_address.remove(&address);
            }
        }
    }

    /// The peer was authenticated: it does not count as a stranger any more.
    pub(super) fn known(&mut self, connection: &ConnectionHandle) {
        let inside = self.holds(connection);
        if !connection.becomes_known() || !inside {
            return;
        }
        self.strangers -= 1;
        if let Some(share) = connection.address().and_then(|address| self.by_address.get_mut(&address)) {
            share.strangers -= 1;
        }
    }

    /// The balancer has said whose connection it is.
    pub(super) fn settle(&mut self, connection: &ConnectionHandle, address: IpAddr) {
        self.remove(connection);
        connection.settle(address);
        self.insert(connection);
    }

    /// The stranger, of this address or of any, that has no request and has been quiet for the longest.
    pub(super) fn quietest(&self, of: Option<IpAddr>) -> Option<ConnectionHandle> {
        let here = |each: &&ConnectionHandle| of.is_none() || each.address() == of;
        let strangers = self.inside.values().filter(|each| !each.is_known()).filter(here);
        let quiet = strangers.filter_map(|each| each.quiet_since().map(|since| (since, each)));
        quiet.min_by_key(|(since, each)| (*since, each.number())).map(|(_, each)| each.clone())
    }
}
