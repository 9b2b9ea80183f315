//! The ARO operator inside a cluster: its conditions, what is wrong first.

use super::ObservedRows;
use super::verdict::Problem;
use crate::panel::{Block, DisplayTime, Item, Panel};
use crate::parts::{Badge, Link, Tone};
use crate::tabs::Tab;
use crate::text::plural;

/// How a condition is; the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionHealth {
    Wrong,
    /// The check is off, or could not be made.
    #[default]
    Unknown,
    Progressing,
    /// A type of which no status is known to be good.
    Unrated,
    Healthy,
}

/// A condition, with what it means.
#[derive(Clone, Debug, Default)]
pub struct OperatorCondition {
    /// Its type.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    pub health: ConditionHealth,
    /// Reason and message of the operator.
    pub message: String,
    /// Seconds since 1970.
    pub since: Option<i64>,
    /// What it is about.
    pub meaning: String,
    /// What to do; empty: nothing.
    pub action: String,
}

/// What the operator reports.
#[derive(Clone, Debug, Default)]
pub struct AroOperator {
    /// Its build; empty: it has not reported yet.
    pub version: String,
    /// The worst first.
    pub conditions: Vec<OperatorCondition>,
}

impl OperatorCondition {
    fn badge(&self) -> Badge {
        match self.health {
            ConditionHealth::Wrong => Badge::filled(Tone::Bad, "failed", self.status),
            ConditionHealth::Unknown => Badge::filled(Tone::Warn, "unknown", "Unknown"),
            ConditionHealth::Progressing => Badge::filled(Tone::Busy, "busy", "Progressing"),
            ConditionHealth::Unrated => Badge::quiet(Tone::Mute, "info", self.status),
            ConditionHealth::Healthy => Badge::quiet(Tone::Ok, "ok", self.status),
        }
    }

    fn item(&self, stale: bool) -> Item {
        let badge = super::was(self.badge(), stale);
        Item {
            tone: badge.tone,
            icon: badge.icon,
            name: Link::new(&*self.kind, ""),
            badges: vec![badge],
            quote: self.message.clone(),
            advice: [&*self.meaning, &self.action].join(" ").trim().to_owned(),
            at: self.since.map(DisplayTime::Ago),
            ..Item::default()
        }
    }

    /// One line of the healthy ones.
    fn line(&self) -> String {
        [&*self.kind, self.status, &self.message].join("  ").trim_end().to_owned()
    }
}

const MISSING: &str =
    "The cluster has no ARO operator: the object clusters.aro.openshift.io/cluster is not there.";

/// The conditions: those that are not healthy one by one, the healthy ones in one line.
#[must_use]
pub fn aro_panel(operator: &ObservedRows<AroOperator>) -> Panel {
    let panel = Panel::new("aro", "Conditions").slot(operator.slot("ARO operator", &[], MISSING));
    if !operator.known() {
        return panel;
    }
    let Some(found) = operator.rows.first() else {
        return panel.nothing("unknown", "No ARO operator", MISSING);
    };
    let version = if found.version.is_empty() { "not reported" } else { &found.version };
    let panel = panel.fact(format!("operator version {version}"));
    if found.conditions.is_empty() {
        let text =
            "The operator has not reported yet. Its pods are in the namespace openshift-azure-operator.";
        return panel.nothing("unknown", "No conditions", text);
    }
    let healthy = |one: &&OperatorCondition| one.health == ConditionHealth::Healthy;
    let (good, other): (Vec<_>, Vec<_>) = found.conditions.iter().partition(healthy);
    let panel = if other.is_empty() {
        panel.well(
            "No condition needs attention",
            "Every check and every controller of the operator is healthy.",
        )
    } else {
        panel.with(Block::Items(other.iter().map(|one| one.item(operator.stale())).collect()))
    };
    if good.is_empty() {
        return panel;
    }
    let count = u64::try_from(good.len()).unwrap_or(u64::MAX);
    let words = plural(count, "healthy condition", "healthy conditions");
    let lines: Vec<String> = good.iter().map(|one| one.line()).collect();
    panel.with(Block::Fold(words, lines.join("\n")))
}

/// What of it needs attention, for the overview.
pub(super) fn problems(base: &str, operator: &ObservedRows<AroOperator>) -> Vec<Problem> {
    if !operator.known() {
        return Vec::new();
    }
    let conditions = operator.rows.iter().flat_map(|row| &row.conditions);
    let wrong = conditions.filter(|one| one.health == ConditionHealth::Wrong);
    let problem = |one: &OperatorCondition| {
        let item = one.item(operator.stale());
        Problem {
            kind: "operator check",
            tab: Tab::AroOperator,
            since: one.since,
            item: Item {
                icon: "operator",
                name: Link::new(&*one.kind, format!("{base}/{}", Tab::AroOperator.segment())),
                kind: "ARO operator".to_owned(),
                advice: String::new(),
                ..item
            },
        }
    };
    wrong.map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ObservationState;
    use super::*;

    fn condition(kind: &str, status: &'static str, health: ConditionHealth) -> OperatorCondition {
        let action = if health == ConditionHealth::Wrong { "Do it." } else { "" };
        OperatorCondition {
            kind: kind.into(),
            status,
            health,
            meaning: "It is checked.".into(),
            action: action.into(),
            since: Some(5),
            ..OperatorCondition::default()
        }
    }

    fn operator() -> AroOperator {
        AroOperator {
            version: "v1".into(),
            conditions: vec![
                condition("ServicePrincipalValid", "False", ConditionHealth::Wrong),
                condition("MachineValid", "True", ConditionHealth::Healthy),
            ],
        }
    }

    fn items(panel: &Panel) -> Vec<&Item> {
        let all = panel.blocks.iter().filter_map(|block| match block {
            Block::Items(items) => Some(items),
            _ => None,
        });
        all.flatten().collect()
    }

    #[test]
    fn what_is_wrong_is_shown_with_what_to_do_and_what_is_healthy_in_a_line() {
        let panel = aro_panel(&ObservedRows::live(vec![operator()]));
        let shown = items(&panel);
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].advice, "It is checked. Do it.");
        assert!(
            matches!(&panel.blocks[1], Block::Fold(words, text) if words == "1 healthy condition" && text == "MachineValid  True")
        );
        let all_well = AroOperator { conditions: operator().conditions.split_off(1), ..operator() };
        assert!(matches!(aro_panel(&ObservedRows::live(vec![all_well])).blocks[0], Block::Blank(_)));
    }

    #[test]
    fn the_overview_names_what_is_wrong_and_nothing_of_an_absent_operator() {
        let found = problems("/c", &ObservedRows::live(vec![operator()]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].tab, found[0].item.name.href.as_str()), (Tab::AroOperator, "/c/aro-operator"));
        let missing = ObservedRows { state: ObservationState::Missing, ..ObservedRows::default() };
        assert!(problems("/c", &missing).is_empty());
        let stale = ObservedRows {
            state: ObservationState::Stale { since: 1, why: String::new() },
            ..ObservedRows::live(vec![operator()])
        };
        assert_eq!(problems("/c", &stale)[0].item.tone, Tone::Mute);
    }
}
