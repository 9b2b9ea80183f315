//! What the installer is given, what is changed of its assets, and how it is run. When a change of the golden files is
//! meant, `ARO_GOLDEN=write cargo test -p tests-installer` writes them again.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod inputs;
mod local_process;
mod transforms;
