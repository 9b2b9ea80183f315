//! What every crate may use: time, chance, ids, back-off, secrets, error chains, files that outlive a loss of power.
//!
//! Entry rule: nothing here depends on the domain, on the web or on a cloud.

mod backoff;
mod clock;
pub mod csv;
pub mod durable;
mod error_chain;
mod hash;
mod id;
mod random;
mod schema;
mod secret;
pub mod terminal;
pub mod text;
mod timestamp;

pub use backoff::Backoff;
pub use clock::{Clock, ManualClock, SharedClock, SystemClock};
pub use error_chain::{Chain, chain};
pub use hash::{Digest, sha256};
pub use id::{Id, InvalidId};
pub use random::{Random, SharedRandom, SystemRandom};
pub use secret::Secret;
pub use timestamp::Timestamp;
