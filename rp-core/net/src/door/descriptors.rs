//! How many file descriptors of the process accepted connections may use.
//!
//! A connection leads to others: a dial to a cluster, a file, a connection of the store. If connections could use every
//! descriptor, they would be accepted and then fail. So the connections of all doors together have half of the
//! descriptors, and the other half is kept for what they lead to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

use super::Door;

/// One part of the descriptors in so many is for connections.
const PART: usize = 2;

/// The descriptors that connections may use, shared by doors.
#[derive(Debug)]
pub(super) struct DescriptorShare {
    most: usize,
    used: AtomicUsize,
    doors: Mutex<Vec<Weak<Door>>>,
}

impl DescriptorShare {
    /// A share of so many descriptors.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, used: AtomicUsize::new(0), doors: Mutex::default() })
    }

    /// The one share of this process: a part of `RLIMIT_NOFILE` as it was when the first door was made.
    pub(super) fn process_wide() -> Arc<Self> {
        static SHARE: LazyLock<Arc<DescriptorShare>> = LazyLock::new(|| {
            let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
            DescriptorShare::new(open_files(&limits).map_or(usize::MAX, |most| (most / PART).max(1)))
        });
        Arc::clone(&SHARE)
    }

    /// Adds a door: its strangers can be closed for connections at another door. Warns when the doors are configured for
    /// more connections than the share has, so that their limits would never be reached.
    pub(super) fn add(&self, door: &Arc<Door>) {
        {
            let mut doors = self.doors.lock();
            doors.retain(|each| each.strong_count() > 0);
            doors.push(Arc::downgrade(door));
        }
        if let Some(connections) = self.shortage() {
            tracing::warn!(
                listener = door.listener,
                connections,
                share = self.most,
                descriptors = connections.saturating_mul(PART),
                "connections may use fewer file descriptors than the settings allow connections: raise LimitNOFILE \
                 (ulimit -n) to `descriptors`, or lower limits.connections and ssh.max_connections"
            );
        }
    }

    /// The connections that the listeners for strangers are configured for, where they are more than the share.
    pub(super) fn shortage(&self) -> Option<usize> {
        let doors = self.doors();
        let public = doors.iter().filter(|door| door.limits.strangers.is_some());
        let wanted = public.map(|door| door.limits.connections).fold(0, usize::saturating_add);
        (wanted > self.most).then_some(wanted)
    }

    /// Whether connections use the whole share and `extra` more.
    pub(super) fn is_used_up(&self, extra: usize) -> bool {
        self.used.load(Ordering::Relaxed) >= self.most.saturating_add(extra)
    }

    /// A connection was admitted.
    pub(super) fn count_in(&self) {
        self.used.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection was closed, or is being closed.
    pub(super) fn count_out(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }

    /// The doors that share it.
    pub(super) fn doors(&self) -> Vec<Arc<Door>> {
        self.doors.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

/// The soft limit of open files in the text of `/proc/PID/limits` (proc(5)); `None`: there is none.
fn open_files(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max processes             63432                63432                processes \n\
                    Max open files            1024                 524288               files     \n";
        assert_eq!(open_files(text), Some(1024));
        assert_eq!(
            open_files("Max open files            unlimited            unlimited            files"),
            None
        );
        assert_eq!(open_files(""), None);
    }
}
