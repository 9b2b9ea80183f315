//! `[audit]`.

use std::path::PathBuf;
use std::time::Duration;

use rp_settings::check::at_most_a_minute;
use rp_settings::{Kind, Reader, duration, file, optional_duration, read_by, secret_path, section};

use super::store::StoreKind;

mod sinks;

use sinks::known_keys;
pub use sinks::{AuditSink, AuditSinkTarget};

section! {
    /// The audit log.
    "audit" pub struct Audit {
        /// The SQLite file of the audit log. With PostgreSQL the log is kept there, unless this is set.
        path: Option<PathBuf> = read_by(Kind::File, "audit.db", Reader::file),
        /// Ed25519 key that signs checkpoints; made on first start.
        checkpoint_key_file: PathBuf = secret_path("audit-key.p8"),
        /// Where the audit log goes while the store is away and store.outage is "spool".
        spool_file: PathBuf = file("audit.spool"),
        /// Between checkpoints, at most 60s.
        checkpoint_period: Duration = duration("60s"),
        /// Public keys (Base 64, as `aro audit key` prints them) of former keys and of other replicas, whose
        /// checkpoints are believed.
        known_keys: Vec<[u8; 32]> = read_by(Kind::Texts, "", known_keys),
        /// Copies of the log: `file:`, `syslog+tcp://`, `syslog+tls://`, `syslog+udp://`, `syslog+unix:`, `http(s)://`,
        /// each with `#option=value&…`; see docs/operations/audit.md.
        sinks: Vec<AuditSink> = read_by(Kind::Texts, "", sinks::read),
        /// Entries older than this are removed, once every sink has taken them; unset: never.
        retention: Option<Duration> = optional_duration(),
    }
}

/// With PostgreSQL there is no file of its own, unless it is asked for.
pub(crate) fn read(r: &mut Reader, store: &StoreKind) -> Audit {
    let mut audit = Audit::read(r);
    at_most_a_minute(r, "audit.checkpoint_period", audit.checkpoint_period);
    if matches!(store, StoreKind::Postgres(_)) && !r.is_set("audit.path") {
        audit.path = None;
    }
    audit
}
