//! A simulated region: OpenID provider, CONNECT proxy and OpenShift-shaped clusters as real listeners.
//!
//! For development and for stories that need a fleet. Nothing here replaces a real component where a test
//! can use it, and nothing here decides about access outside the simulation. Everything that a simulated
//! cluster serves is marked: header `X-Aro-Simulated`, label `aro.openshift.io/simulated`.

pub mod arm;
mod body;
pub mod oidc;
pub mod region;

pub use oidc::{Account, Backchannel, OidcOptions, OidcProvider};
pub use region::{Faults, Region, RegionIdentity, RegionOptions};
