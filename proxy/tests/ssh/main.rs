//! The bastion between the real OpenSSH client and the real OpenSSH server.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod cuts;
mod files;
mod floods;
mod forwards;
mod hostile;
mod logins;
mod negotiated;
mod private_link;
mod raw;
mod sharing;
mod shells;
mod world;
