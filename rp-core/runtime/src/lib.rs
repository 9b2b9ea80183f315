//! What every process does: logging, the admin listener, its end.

mod lifecycle;

pub use lifecycle::{Lifecycle, on_hangup};
