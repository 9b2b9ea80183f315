//! Intervals, timeouts and limits (`contract/monitor.md` §2). The role's start-up fills this from its
//! settings.

use std::time::Duration;

use crate::pool::PoolTimes;

/// Intervals and limits of the service. The default is the contract's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorSettings {
    pub pool: PoolTimes,
    /// Interval of looks at a cluster; a missed tick is dropped.
    pub interval: Duration,
    /// A worker's first look begins after a random fraction of this.
    pub start_delay: Duration,
    /// A look that has not ended after this is abandoned; it includes time-out and grace of a look.
    pub abandon: Duration,
    pub nsg_interval: Duration,
    /// Between two warnings that a cluster's subscription is invalid.
    pub skip_warning: Duration,
    /// Concurrent looks of this process.
    pub looks: usize,
    /// The process also serves users: fewer concurrent looks, so that pages respond.
    pub shared: bool,
    /// Whether imported clusters are monitored.
    pub imported: bool,
    pub feed_poll: Duration,
    /// Documents of a page, 1 to 1000.
    pub feed_page: u32,
    /// Between two comparisons of what is cached with the store.
    pub verify: Duration,
    pub ready_delay: Duration,
    pub ready_within: Duration,
    /// Between two emissions of heartbeat and cache sizes.
    pub emit: Duration,
    /// Between two writes of a bucket's looks.
    pub record: Duration,
    /// For running looks, on stop.
    pub drain: Duration,
}

impl Default for MonitorSettings {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            pool: PoolTimes::default(),
            interval: minute,
            start_delay: minute,
            abandon: Duration::from_secs(50 + 10 + 5),
            nsg_interval: minute * 10,
            skip_warning: minute * 30,
            looks: 1000,
            shared: false,
            imported: true,
            feed_poll: Duration::from_secs(10),
            feed_page: 50,
            verify: minute * 5,
            ready_delay: minute * 2,
            ready_within: minute,
            emit: minute,
            record: minute,
            drain: minute,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_the_contract() {
        let told = MonitorSettings::default();
        let seconds = [
            told.interval,
            told.start_delay,
            told.feed_poll,
            told.pool.interval,
            told.pool.ttl,
            told.pool.lease,
            told.ready_delay,
            told.ready_within,
            told.nsg_interval,
            told.skip_warning,
            told.emit,
        ]
        .map(|length| length.as_secs());
        assert_eq!(seconds, [60, 60, 10, 10, 60, 60, 120, 60, 600, 1800, 60]);
        assert_eq!((told.feed_page, rp_documents::BUCKETS), (50, 256));
    }
}
