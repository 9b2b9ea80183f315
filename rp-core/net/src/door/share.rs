//! Who is inside, counted by address.

use std::collections::HashMap;
use std::net::IpAddr;

use super::visitor::Visitor;

/// What one address has.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    all: usize,
    strangers: usize,
}

/// Every connection of a door.
#[derive(Debug, Default)]
pub(super) struct Shares {
    next: u64,
    inside: HashMap<u64, Visitor>,
    strangers: usize,
    by_address: HashMap<IpAddr, Share>,
}

impl Shares {
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
    pub(super) fn of(&self, address: IpAddr) -> (usize, usize) {
        self.by_address.get(&address).map_or((0, 0), |share| (share.all, share.strangers))
    }

    pub(super) fn visitors(&self) -> impl Iterator<Item = &Visitor> {
        self.inside.values()
    }

    pub(super) fn holds(&self, visitor: &Visitor) -> bool {
        self.inside.contains_key(&visitor.number())
    }

    pub(super) fn insert(&mut self, visitor: &Visitor) {
        self.inside.insert(visitor.number(), visitor.clone());
        let stranger = usize::from(!visitor.is_known());
        self.strangers += stranger;
        if let Some(address) = visitor.address() {
            let share = self.by_address.entry(address).or_default();
            (share.all, share.strangers) = (share.all + 1, share.strangers + stranger);
        }
    }

    /// Once for each visitor; again it does nothing.
    pub(super) fn remove(&mut self, visitor: &Visitor) {
        if self.inside.remove(&visitor.number()).is_none() {
            return;
        }
        let stranger = usize::from(!visitor.is_known());
        self.strangers -= stranger;
        let Some(address) = visitor.address() else { return };
        if let Some(share) = self.by_address.get_mut(&address) {
            (share.all, share.strangers) = (share.all - 1, share.strangers - stranger);
            if share.all == 0 {
                self.by_address.remove(&address);
            }
        }
    }

    /// A stranger no more.
    pub(super) fn known(&mut self, visitor: &Visitor) {
        let inside = self.holds(visitor);
        if !visitor.becomes_known() || !inside {
            return;
        }
        self.strangers -= 1;
        if let Some(share) = visitor.address().and_then(|address| self.by_address.get_mut(&address)) {
            share.strangers -= 1;
        }
    }

    /// The balancer has said whose connection it is.
    pub(super) fn settle(&mut self, visitor: &Visitor, address: IpAddr) {
        self.remove(visitor);
        visitor.settle(address);
        self.insert(visitor);
    }

    /// The stranger, of this address or of any, that has no request and has been quiet for the longest.
    pub(super) fn quietest(&self, of: Option<IpAddr>) -> Option<Visitor> {
        let here = |each: &&Visitor| of.is_none() || each.address() == of;
        let strangers = self.inside.values().filter(|each| !each.is_known()).filter(here);
        let quiet = strangers.filter_map(|each| each.quiet_since().map(|since| (since, each)));
        quiet.min_by_key(|(since, each)| (*since, each.number())).map(|(_, each)| each.clone())
    }
}
