//! What a store is found to be, without using it: nothing is written, and no schema is brought up.

use rp_base::Timestamp;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspection {
    /// Steps of the schema that the store has; 0: it is empty, and is set up by the first process.
    pub steps: i64,
    /// Steps of this version of the software.
    pub known: i64,
    /// The store's clock; `None`: it uses this machine's.
    pub now: Option<Timestamp>,
}
