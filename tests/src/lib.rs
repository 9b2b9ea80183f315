//! Whole-system stories (`stories/`) and contracts (`contracts/`): see `README.md`.
