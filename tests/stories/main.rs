//! Stories of the whole system on real parts.

mod parts;
