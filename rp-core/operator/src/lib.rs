//! The operator inside a cluster (`contract/operator.md`): the controllers and the process that runs them.
//!
//! Entry rule: what runs inside a cluster and talks to its API server or to Azure.
