//! Maintenance of clusters (`contract/mimo.md`): the scheduler writes manifests when schedules are due, the actuator runs
//! them.
//!
//! Entry rule: what decides which maintenance task runs on which cluster, and when.
