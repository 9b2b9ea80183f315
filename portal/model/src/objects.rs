//! Objects of clusters as pages keep them: their names, the kinds that clusters serve, the versions that people have
//! viewed. How they are read is in `look`.

mod history;
pub mod kinds;
pub mod names;

pub use history::{ObjectHistory, ObjectVersion};
