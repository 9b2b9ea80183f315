//! pooled
