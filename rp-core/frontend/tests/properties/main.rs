//! Whatever is sent, the API gives an answer that its contract knows, and a refusal changes nothing.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bodies;
mod json;
mod paths;
mod races;
mod states;
mod versions;
mod world;
