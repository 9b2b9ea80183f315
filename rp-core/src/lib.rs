//! Wiring: what every role stands on, opened from settings. Embeddable; holds no logic.

mod foundation;
mod stores;

pub use foundation::{Foundation, OpenError};
pub use stores::{
    StoreOpenError, open_audit_store, open_postgres, open_sqlite, open_store, postgres_options,
};
