//! Workers that take queued documents, hold them by a lease, and bring every operation to an end
//! (`contract/backend.md`).
//!
//! Entry rule: what decides who works on a document, and what is written when the work ends. What the work is stands
//! in `rp-cluster`.

mod claim;
mod claim_cache;
mod cluster;
mod completion;
mod context;
mod dimensions;
mod feed;
mod gateways;
mod heartbeat;
mod journal;
mod kind;
mod leased_document;
mod metrics;
mod operation;
mod progress;
mod qos;
mod queue;
mod reservation;
mod service;
mod settings;
mod subscription;
mod time;

pub use gateways::StoredGateways;
pub use metrics::{BackendMetrics, KindLabels, TurnLabels, TurnOutcome, register_metrics};
pub use service::{Backend, BackendParts};
