//! Wiring of the roles: one function per role.
