//! Whole-system stories (`stories/`) and contracts (`contracts/`): see `docs/testing.md`.
