//! Workers over a store in memory, with a scripted manager.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod costs;
mod faults;
mod faulty;
mod lives;
mod manager;
mod others;
mod owners;
mod subscriptions;
mod world;
