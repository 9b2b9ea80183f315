//! The versions of the resource provider's API: what each shows of a cluster, how a request becomes a change, and the
//! rules it must keep (`contract/api.md` §6–§13, §15, §18). Pure: no store, no clock, no network.
//!
//! A cluster is one tree of members ([`schema`]); each version is the one before it with its changes ([`versions`]).
//! The modules that walk the tree — [`decode`], [`convert`], [`changes`], [`response`] — refer to no version by name.
//!
//! Entry rule: behaviour that a client of the API can observe and that depends only on the request and the document.

pub mod admin;
pub mod catalogue;
pub mod changes;
pub mod convert;
pub mod decode;
pub mod defaults;
mod error;
pub mod render;
pub mod repetition;
pub mod response;
pub mod schema;
pub mod swagger;
pub mod text;
pub mod validate;
mod version;
mod versions;
mod view;
pub mod vm_sizes;

pub use error::{CloudError, ErrorBody};
pub use version::{JsonDialect, Publication, Version, admin, all, find};

/// The type of a cluster, as answers write it.
pub const RESOURCE_TYPE: &str = "Microsoft.RedHatOpenShift/openShiftClusters";
