//! Sealing at rest: keyring, rotation, envelope.
