//! For any input the API gives a response of its contract, and a refused request changes nothing.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bodies;
mod json;
mod paths;
mod races;
mod states;
mod versions;
mod world;
