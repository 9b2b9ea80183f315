//! Sealing at rest: AES-256-GCM under a keyring with key ids (`contract/database.md` §11, "Do better" 12).
//!
//! A sealed value names its key and is bound to its place (`Collection/id/field`), so it can neither be
//! opened with a guess nor moved to another document.

mod data_key;
mod envelope;
mod error;
mod file;
mod keyring;
mod legacy;
mod rotation;

pub use data_key::DataKey;
pub use error::SealError;
pub use file::is_private;
pub use keyring::{DerivedKey, KeyIds, Keyring};
pub use legacy::SealVersion;
