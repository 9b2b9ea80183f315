//! One sign-in at a time for each machine: a stock `sshd` drops connections at random when more than ten have not signed in
//! (`MaxStartups` of sshd_config(5)).

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rp_net::Target;
use tokio::sync::OwnedMutexGuard;

use crate::ssh::machines::Machine;

/// Machines after which forgotten ones are removed.
const MOST_FORGOTTEN: usize = 256;

type Turns = tokio::sync::Mutex<()>;

/// The sign-ins of this process, by cluster and machine.
#[derive(Debug, Default)]
pub(super) struct SignInQueue(Mutex<HashMap<(u64, String), Weak<Turns>>>);

impl SignInQueue {
    /// Waits until nobody else signs in to the machine; in the order of asking. The caller bounds the wait.
    pub(super) async fn turn(&self, target: &Target, machine: &Machine) -> OwnedMutexGuard<()> {
        let turns = self.turns((target.fingerprint, machine.name.clone()));
        turns.lock_owned().await
    }

    fn turns(&self, machine: (u64, String)) -> Arc<Turns> {
        let mut machines = self.0.lock();
        if let Some(turns) = machines.get(&machine).and_then(Weak::upgrade) {
            return turns;
        }
        if machines.len() >= MOST_FORGOTTEN {
            machines.retain(|_, turns| turns.strong_count() > 0);
        }
        let turns = Arc::new(Turns::default());
        machines.insert(machine, Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn key(name: &str) -> (u64, String) {
        (1, name.to_owned())
    }

    #[tokio::test]
    async fn a_machine_has_one_turn_and_others_have_theirs() {
        let queue = SignInQueue::default();
        let first = queue.turns(key("a")).lock_owned().await;
        assert!(queue.turns(key("a")).lock_owned().now_or_never().is_none());
        assert!(queue.turns(key("b")).lock_owned().now_or_never().is_some());
        drop(first);
        assert!(queue.turns(key("a")).lock_owned().now_or_never().is_some());
    }

    #[test]
    fn machines_that_nobody_signs_in_to_are_forgotten() {
        let queue = SignInQueue::default();
        let kept = queue.turns(key("kept"));
        for number in 0..3 * MOST_FORGOTTEN {
            drop(queue.turns(key(&number.to_string())));
        }
        assert!(queue.0.lock().len() <= MOST_FORGOTTEN + 1);
        assert!(Arc::ptr_eq(&kept, &queue.turns(key("kept"))));
    }
}
