//! Installations as tests make them: inputs, and assets of the shapes that `openshift-install` writes, with real keys.
//!
//! The binary of this package takes the arguments of `openshift-install` and writes these assets. It stands in for the
//! release's own binary, which the machines that build and test this project cannot have
//! (docs/architecture/install.md says how to check against a real one).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

pub mod assets;
pub mod inputs;
