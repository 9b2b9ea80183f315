//! Tracing, admin listener, life cycle of a process.
