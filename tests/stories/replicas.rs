//! Several `aro portal` behind HAProxy on one PostgreSQL: any of them serves anybody, and may die.

mod abuse;
mod lives;
mod outage;
mod revoked;
mod shared;
mod world;
