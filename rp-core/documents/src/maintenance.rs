//! Maintenance of clusters as it is stored, and the rules that need no clock and no store (`contract/mimo.md`): which
//! tasks there are, when a schedule's windows are, which clusters it chooses, and when each of them has its turn.

mod calendar;
mod go_duration;
mod manifest;
mod resize;
mod rollout;
mod schedule;
mod selector;
mod task;
mod waves;
mod windows;

pub use calendar::{Calendar, CalendarError};
pub use go_duration::{GoDurationError, parse_go_duration};
pub use manifest::{Manifest, ManifestDocument, ManifestState, ManifestStep, OPEN, Times};
pub use resize::{MasterResize, Resize};
pub use rollout::{ClusterFailure, Rollout};
pub use schedule::{Problem, Rules, Schedule, ScheduleDocument, ScheduleState};
pub use selector::{ClusterFacts, Operator, Selector, SelectorError, UnknownKey};
pub use task::{Build, TASKS, Task};
pub use waves::Spread;
pub use windows::{Plan, Turn, scheduled_id};
