//! Starts real parts, builders, fault wrappers.
