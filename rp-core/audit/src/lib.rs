//! Audit entries, hash chain, checkpoints, verify.
