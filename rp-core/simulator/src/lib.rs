//! A simulated region: OpenID provider, CONNECT proxy and OpenShift-shaped clusters as real listeners.
//!
//! For development and for stories that need a fleet. Nothing here stands in for a real part where a test
//! can have one, and nothing here decides about access outside the simulation. Everything that a simulated
//! cluster serves says so: header `X-Aro-Simulated`, label `aro.openshift.io/simulated`.

pub mod arm;
mod body;
pub mod oidc;
pub mod region;

pub use oidc::{Account, Backchannel, OidcOptions, OidcProvider};
pub use region::{Faults, Region, RegionIdentity, RegionOptions};
