//! Wiring: what every role stands on, opened from settings. Embeddable. Beside it what concerns store and keyring at
//! once: sealing again.

mod foundation;
pub mod reseal;
mod sinks;
mod stores;

pub use foundation::{Foundation, OpenError};
pub use sinks::{SinkFault, SinkOpenError, audit_sinks};
pub use stores::{
    AUDIT, StoreOpenError, open_audit_store, open_postgres, open_sqlite, open_store, postgres_options,
    register_metrics,
};
