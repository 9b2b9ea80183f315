//! Settings from file, environment and flags; all mistakes at once.
