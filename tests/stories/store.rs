//! The store under a whole system: PostgreSQL that goes away or is replaced, and the operator's verbs.

mod keys;
mod moving;
mod operator;
mod server;
mod verbs;
