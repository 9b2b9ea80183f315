//! The aro binary: arguments and wiring.
