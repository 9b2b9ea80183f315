//! Schedules: rules that make manifests (`contract/mimo.md` §2.2, §7).

use std::time::Duration;

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use super::calendar::Calendar;
use super::go_duration::parse_go_duration;
use super::manifest::check_task;
use super::rollout::Rollout;
use super::selector::Selector;
use super::task::Task;
use super::waves::Spread;
use crate::{Collection, Document, Unknown};

/// Windows that a schedule may look ahead.
const MOST_AHEAD: i64 = 100;
/// Windows of a schedule that stops are looked at from the first instant that a calendar can name: so many of them.
const FIRST_WINDOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
const WINDOWS: usize = 100;
/// Selectors of one schedule, and values of one selector.
const MOST_SELECTORS: usize = 50;
/// How long after its time a manifest may start unless the schedule says otherwise.
const START_WITHIN: Duration = Duration::from_hours(1);

/// One schedule. Writer: the frontend, for administrators; of what failed, the actuator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleDocument {
    /// A lower-case UUID.
    pub id: String,
    pub maintenance_schedule: Schedule,
    #[serde(default, skip_serializing_if = "Rollout::is_empty")]
    pub rollout: Rollout,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Which task runs when on which clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    #[serde(default)]
    pub state: ScheduleState,
    #[serde(default, rename = "maintenanceTaskID", skip_serializing_if = "String::is_empty")]
    pub maintenance_task_id: String,
    /// A calendar expression, UTC: when windows begin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub schedule: String,
    /// How many windows ahead manifests are made, 1 to 100.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub look_forward_count: i64,
    /// Over how long the clusters are spread from the window's beginning; a duration such as `24h`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub schedule_across: String,
    /// How long after its time a manifest may still start; a duration. Empty: one hour (`contract/mimo.md` "Do better"
    /// 10).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start_within: String,
    /// The share of the clusters, in percent, whose turn is over at the end of each wave; empty: one wave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<i64>,
    /// From the beginning of one wave to the beginning of the next; a duration. Each is spread over `schedule_across`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wave_every: String,
    /// The schedule stops when the task failed on more than this share, in percent, of the clusters whose wave has begun;
    /// 0: it never stops.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stop_at_percent: i64,
    /// All must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<Selector>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Whether a schedule makes manifests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScheduleState {
    Enabled,
    #[default]
    Disabled,
}

/// What is wrong with a manifest or a schedule: the member, and a sentence for the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{target}: {message}")]
pub struct Problem {
    pub target: String,
    pub message: String,
}

impl Problem {
    /// Of that member.
    pub fn new(target: impl Into<String>, message: impl Into<String>) -> Self {
        Self { target: target.into(), message: message.into() }
    }
}

/// A schedule as its rules, each checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub task: Task,
    pub calendar: Calendar,
    /// Windows ahead, at least one.
    pub ahead: usize,
    pub spread: Spread,
    pub start_within: Duration,
    /// Percent of failures above which it stops; `None`: it never does.
    pub stop_at: Option<u8>,
}

impl Schedule {
    /// Checks a schedule that is to be written: its rules, and that windows do not overlap where failures stop it.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub fn check(&self) -> Result<(), Problem> {
        let rules = self.rules()?;
        if rules.stop_at.is_some() { check_windows(&rules.calendar, &rules.spread) } else { Ok(()) }
    }

    /// Checks each member, and gives the parsed rules.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub fn rules(&self) -> Result<Rules, Problem> {
        let required = |target: &str| Problem::new(target, "Must be provided");
        let task = check_task(&self.maintenance_task_id)?;
        if task.needs_machine() {
            return Err(Problem::new(
                "maintenanceTaskID",
                "a schedule cannot name the machine that the task needs",
            ));
        }
        if self.schedule.is_empty() {
            return Err(required("schedule"));
        }
        let calendar = self
            .schedule
            .parse()
            .map_err(|error: super::CalendarError| Problem::new("schedule", error.to_string()))?;
        let ahead = usize::try_from(self.look_forward_count).ok().filter(|count| *count > 0);
        let ahead = ahead.ok_or_else(|| Problem::new("LookForwardCount", "Must be above 0"))?;
        if self.look_forward_count > MOST_AHEAD {
            return Err(Problem::new("LookForwardCount", format!("Must be at most {MOST_AHEAD}")));
        }
        if self.schedule_across.is_empty() {
            return Err(required("scheduleAcross"));
        }
        let across = duration("scheduleAcross", &self.schedule_across)?;
        let every = match self.wave_every.as_str() {
            "" => None,
            text => Some(duration("waveEvery", text)?),
        };
        let spread = Spread::new(across, &self.waves, every)?;
        let start_within = match self.start_within.as_str() {
            "" => START_WITHIN,
            text => duration("startWithin", text)?,
        };
        if start_within < Duration::from_secs(60) {
            return Err(Problem::new("startWithin", "Must be at least 1m"));
        }
        let stop_at = self.stop_at()?;
        self.check_selectors()?;
        Ok(Rules { task, calendar, ahead, spread, start_within, stop_at })
    }

    fn stop_at(&self) -> Result<Option<u8>, Problem> {
        match u8::try_from(self.stop_at_percent) {
            Ok(0) => Ok(None),
            Ok(percent) if percent <= 100 => Ok(Some(percent)),
            _ => Err(Problem::new("stopAtPercent", "Must be between 1 and 100")),
        }
    }

    fn check_selectors(&self) -> Result<(), Problem> {
        if self.selectors.is_empty() {
            return Err(Problem::new("selectors", "Must be provided"));
        }
        if self.selectors.len() > MOST_SELECTORS {
            return Err(Problem::new("selectors", format!("Must be at most {MOST_SELECTORS}")));
        }
        for (at, selector) in self.selectors.iter().enumerate() {
            selector.check(MOST_SELECTORS).map_err(|problem| {
                Problem::new(format!("selectors[{at}].{}", problem.target), problem.message)
            })?;
        }
        Ok(())
    }
}

/// Failures are counted for one window at a time: a window of a schedule that stops is over before the next one begins.
fn check_windows(calendar: &Calendar, spread: &Spread) -> Result<(), Problem> {
    let mut window = calendar.next(FIRST_WINDOW);
    for _ in 0..WINDOWS {
        let next = window.and_then(|window| calendar.next(window));
        let Some((begun, next)) = window.zip(next) else { break };
        if next < begun + spread.whole() {
            let message = "A schedule that stops needs windows that end before the next one begins";
            return Err(Problem::new("stopAtPercent", message));
        }
        window = Some(next);
    }
    Ok(())
}

fn duration(target: &str, text: &str) -> Result<Duration, Problem> {
    parse_go_duration(text)
        .map_err(|error| Problem::new(target, format!("Must be a valid time.Duration: {error}")))
}

impl ScheduleDocument {
    /// Whether it makes manifests: it is enabled, and has not stopped.
    pub fn is_active(&self) -> bool {
        self.maintenance_schedule.state == ScheduleState::Enabled && !self.rollout.has_stopped()
    }
}

impl Document for ScheduleDocument {
    const COLLECTION: Collection = Collection::MaintenanceSchedules;

    fn id(&self) -> &str {
        &self.id
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schedule(change: impl FnOnce(&mut Value)) -> Schedule {
        let mut stored = json!({
            "state": "Enabled", "maintenanceTaskID": Task::FixSsh.id(), "schedule": "*-*-* 4:00",
            "lookForwardCount": 2, "scheduleAcross": "24h",
            "selectors": [{"key": "subscriptionState", "operator": "in", "values": ["Registered"]}],
        });
        change(&mut stored);
        serde_json::from_value(stored).unwrap()
    }

    fn problem(change: impl FnOnce(&mut Value)) -> (String, String) {
        let problem = schedule(change).check().unwrap_err();
        (problem.target, problem.message)
    }

    fn wrong(target: &str, message: &str) -> (String, String) {
        (target.to_owned(), message.to_owned())
    }

    #[test]
    fn a_whole_schedule_is_read_and_kept() {
        let stored =
            json!({"id": "s", "other": 1, "maintenanceSchedule": schedule(|stored| stored["x"] = json!(1))});
        let document: ScheduleDocument = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&document).unwrap(), stored);
        let rules = document.maintenance_schedule.rules().unwrap();
        assert_eq!((rules.ahead, rules.start_within.as_secs(), rules.stop_at), (2, 3600, None));
        assert_eq!(rules.spread, Spread::of_one_wave(Duration::from_hours(24)));
        assert!(document.is_active());
        let waves =
            json!({"schedule": "Mon *-*-* 4:00", "waves": [5, 100], "waveEvery": "48h", "stopAtPercent": 10});
        let with = schedule(|stored| {
            stored.as_object_mut().unwrap().extend(waves.as_object().unwrap().clone());
        });
        let rules = with.rules().unwrap();
        assert_eq!((rules.spread.whole().as_secs() / 3600, rules.stop_at), (72, Some(10)));
        assert_eq!(serde_json::to_value(&with).unwrap()["waves"], waves["waves"]);
    }

    #[test]
    fn each_mistake_has_its_place() {
        let must = "Must be provided";
        assert_eq!(problem(|s| s["maintenanceTaskID"] = json!("")), wrong("maintenanceTaskID", must));
        assert_eq!(problem(|s| s["schedule"] = json!("")), wrong("schedule", must));
        assert_eq!(problem(|s| s["schedule"] = json!("x")), wrong("schedule", "failed to match 'x'"));
        for count in [0, -1] {
            assert_eq!(
                problem(|s| s["lookForwardCount"] = json!(count)),
                wrong("LookForwardCount", "Must be above 0")
            );
        }
        assert_eq!(problem(|s| s["scheduleAcross"] = json!("")), wrong("scheduleAcross", must));
        let (target, message) = problem(|s| s["scheduleAcross"] = json!("1d"));
        assert_eq!(target, "scheduleAcross");
        assert!(message.starts_with("Must be a valid time.Duration: "), "{message}");
        assert_eq!(problem(|s| s["selectors"] = json!([])), wrong("selectors", must));
        assert_eq!(
            problem(|s| s["selectors"][0]["operator"] = json!("is")),
            wrong("selectors[0].operator", "Must be one of ['eq', 'in', 'notin']")
        );
        assert_eq!(
            problem(|s| s["selectors"][0]["operator"] = json!("eq")),
            wrong("selectors[0].value", "Must be provided for operator type 'eq'")
        );
        assert_eq!(
            problem(|s| s["selectors"][0]["value"] = json!("x")),
            wrong("selectors[0].value", "Must not be provided for operator type 'in'")
        );
        assert_eq!(
            problem(|s| s["selectors"][0]["key"] = json!("colour")),
            wrong("selectors[0].key", "requested non-existent 'colour' selector key")
        );
        assert_eq!(problem(|s| s["waves"] = json!([5, 25])).0, "waves");
        assert_eq!(problem(|s| s["waveEvery"] = json!("48")).0, "waveEvery");
        for percent in [-1, 101, 1_i64 << 40] {
            let told = problem(|s| s["stopAtPercent"] = json!(percent));
            assert_eq!(told, wrong("stopAtPercent", "Must be between 1 and 100"));
        }
        let overlap = |across: &'static str| {
            problem(move |s| (s["scheduleAcross"], s["stopAtPercent"]) = (json!(across), json!(5)))
        };
        let (target, message) = overlap("25h");
        assert!(target == "stopAtPercent" && message.contains("before the next one begins"), "{message}");
        assert!(schedule(|s| s["stopAtPercent"] = json!(5)).check().is_ok(), "24h of each day");
        assert_eq!(problem(|s| s["startWithin"] = json!("1s")), wrong("startWithin", "Must be at least 1m"));
    }
}
