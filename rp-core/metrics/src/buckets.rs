//! Upper bounds of histogram buckets, in seconds unless named otherwise (`contract/metrics.md` §4.1).

/// Requests: 5 ms to 60 s.
pub const REQUESTS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Long runs: 1 s to 2 h.
pub const RUNS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0];

/// Collectors: 10 ms to 50 s.
pub const COLLECTORS: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0];

/// Work inside the process, such as a commit: 100 µs to 5 s.
pub const SHORT: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// How many things at once, such as entries of a batch.
pub const SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
