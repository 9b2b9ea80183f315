//! The objects that the operator keeps in a cluster, and the decisions behind them (`contract/operator.md` §8). Pure: values
//! in, values out.
//!
//! Entry rule: what one controller wants of the cluster, as a function of what it has read.
