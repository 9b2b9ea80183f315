//! `[session]`.

use std::time::Duration;

use rp_settings::check::not_longer;
use rp_settings::{Reader, duration, section, switch};

section! {
    /// How long people stay signed in, and how often the provider is asked about them.
    "session" pub struct Session {
        /// A session that is unused for so long is over.
        idle: Duration = duration("1h"),
        /// A session is over so long after its sign-in in any case.
        max_age: Duration = duration("12h"),
        /// The provider is asked about each person at least so often; needs the scope offline_access.
        revalidate: Duration = duration("5m"),
        /// People whom the provider has not confirmed for so long are an alarm.
        alarm_after: Duration = duration("30m"),
        /// The provider's back-channel logout ends grants too, not sessions alone.
        backchannel_ends_grants: bool = switch(false),
    }
}

pub(crate) fn read(r: &mut Reader) -> Session {
    let session = Session::read(r);
    not_longer(r, ("session.idle", session.idle), ("session.max_age", session.max_age));
    not_longer(r, ("session.revalidate", session.revalidate), ("session.alarm_after", session.alarm_after));
    session
}
