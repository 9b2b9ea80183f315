//! Whole-system stories and contracts.
