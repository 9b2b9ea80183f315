//! The simulated clusters as data: what each is, what it contains and how it changes over time; and the bodies of answers.
//!
//! Nothing listens here. `rp-simulator-region` serves the clusters' API servers, `rp-simulator-azure` what Azure has of
//! them. A cluster is a function of (seed, index), so nothing is stored for it but what clients write into it (`written`). Every object is marked with the label
//! `aro.openshift.io/simulated`.

pub mod body;
pub mod fleet;
pub mod installed;
pub mod machines;
pub mod objects;
#[cfg(test)]
mod tests;
pub mod written;
