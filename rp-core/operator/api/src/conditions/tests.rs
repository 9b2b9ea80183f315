use super::*;

fn valid(status: &str, since: &str) -> Condition {
    let since = Some(since.to_owned());
    Condition { last_transition_time: since, ..of_check(Check::MachineValid, status, "CheckDone", "m") }
}

#[test]
fn the_time_changes_only_with_the_status() {
    let present = [valid("True", "t1")];
    let same = of_check(Check::MachineValid, "True", "CheckDone", "m");
    assert_eq!(with(&present, &[same], "t2"), None);
    let message = of_check(Check::MachineValid, "True", "CheckDone", "other");
    let out = with(&present, &[message], "t2").unwrap();
    assert_eq!(out[0].last_transition_time.as_deref(), Some("t1"));
    assert_eq!(out[0].message, "other");
    let changed = of_check(Check::MachineValid, "False", "CheckFailed", "m");
    assert_eq!(with(&present, &[changed], "t2").unwrap()[0].last_transition_time.as_deref(), Some("t2"));
}

#[test]
fn types_that_are_not_known_are_removed() {
    let other = |kind: &str| Condition { kind: kind.to_owned(), ..Condition::default() };
    let present =
        [other("GuardRailsStatus"), other("Historic"), other("NodeControllerDegraded"), valid("True", "t1")];
    let out = with(&present, &[], "t2").unwrap();
    let kinds: Vec<_> = out.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["GuardRailsStatus", "NodeControllerDegraded", "MachineValid"]);
}

#[test]
fn states_of_a_controller_are_conditions() {
    let kinds = |state: &State| {
        let conditions = of_controller("Node", state);
        conditions.into_iter().map(|one| (one.kind, one.status, one.message)).collect::<Vec<_>>()
    };
    let one = |kind: &str, status: &str, message: &str| (kind.into(), status.into(), message.into());
    assert_eq!(
        kinds(&State::Clear),
        [
            one("NodeControllerAvailable", "True", ""),
            one("NodeControllerProgressing", "False", ""),
            one("NodeControllerDegraded", "False", "")
        ]
    );
    assert_eq!(kinds(&State::Degraded("e".into())), [one("NodeControllerDegraded", "True", "e")]);
    assert_eq!(kinds(&State::Progressing("p".into())), [one("NodeControllerProgressing", "True", "p")]);
    assert_eq!(kinds(&State::ClearDegraded), [one("NodeControllerDegraded", "False", "")]);
}

#[test]
fn messages_are_bounded() {
    let condition = of_check(Check::MachineValid, "False", "CheckFailed", &"ä".repeat(100_000));
    assert_eq!(condition.message.len(), 8 * 1024);
}
