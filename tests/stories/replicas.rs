//! Several `aro portal` behind HAProxy on one PostgreSQL: each serves every client, and any of them may die.

mod abuse;
mod keys;
mod lives;
mod outage;
mod revoked;
mod shared;
mod skew;
mod world;
