//! `[notify]`: who outside is told of what, and how long that is tried.

use std::time::Duration;

use ipnet::IpNet;
use rp_settings::{Kind, Reader, count, duration, networks, read_by, section};

mod destinations;

pub use destinations::{NotifyDestination, NotifyTarget, NotifyTopic, NotifyUrl};

section! {
    /// Notifications by webhooks: elevations, failures, certificates, clusters that do not answer.
    "notify" pub struct Notify {
        /// Receivers: `webhook:https://…`, `slack:`, `teams:`, `pagerduty:`, each with `#option=value&…`; see
        /// docs/guides/notifications.md.
        destinations: Vec<NotifyDestination> = read_by(Kind::Texts, "", destinations::read),
        /// Networks that are not public and in which receivers may be. Others are refused when they are dialled.
        allow: Vec<IpNet> = networks(""),
        /// How long a cluster has not answered before that is told.
        silent_after: Duration = duration("10m"),
        /// A certificate of a cluster that ends within this time is told, once.
        certificate_before: Duration = duration("14d"),
        /// One attempt, the answer included.
        timeout: Duration = duration("10s"),
        /// The first wait after a failed attempt; it doubles.
        retry: Duration = duration("2s"),
        /// The longest such wait.
        retry_most: Duration = duration("5m"),
        /// Attempts that a receiver may answer with an error; one that does not answer is tried until `give_up_after`.
        attempts: u32 = count("12", 1..=1000),
        /// A notification that nobody took for so long has failed; what is older is not told at all.
        give_up_after: Duration = duration("24h"),
        /// Notifications that may wait for one receiver; what comes beside them is dropped.
        waiting: usize = count("1000", 1..=100_000),
        /// How long notifications that are over are shown.
        keep: Duration = duration("7d"),
    }
}

pub(crate) fn read(r: &mut Reader) -> Notify {
    let notify = Notify::read(r);
    if notify.retry_most < notify.retry {
        r.mistake("notify.retry_most", "is at least notify.retry");
    }
    if notify.timeout.is_zero() || notify.timeout > Duration::from_secs(60) {
        r.mistake("notify.timeout", "is above 0s and at most 60s");
    }
    if notify.keep < notify.give_up_after {
        r.mistake("notify.keep", "is at least notify.give_up_after");
    }
    notify
}
