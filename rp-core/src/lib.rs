//! Wiring: what every role stands on, opened from settings. Embeddable; holds no logic.

mod foundation;

pub use foundation::{Foundation, OpenError};
