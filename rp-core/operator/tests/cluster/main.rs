//! The operator as a process against a real API server with OpenShift's kinds, under the rights that it has in a cluster.

mod azure;
mod checks;
mod definitions;
mod election;
mod guardrails;
mod machines;
mod metrics;
mod objects;
mod platform;
mod world;
