use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn next(expression: &str, after: &str) -> Option<String> {
    expression.parse::<Calendar>().unwrap().next(at(after)).map(|next| next.to_string())
}

fn error(expression: &str) -> String {
    expression.parse::<Calendar>().unwrap_err().to_string()
}

#[test]
fn mistakes_are_named_in_the_contracts_words() {
    for wrong in [
        "",
        "2026-1-1",
        "*-*-* *",
        "2026-1-1 1:00:00:00",
        "2026-1-1-1 1:00",
        "mon  2026-1-1 1:00",
        "2026-1-1 1:00 ",
        "1-mon 2026-1-1 1:00",
        "2026-1-x 1:00",
        "2026-1-1\n1:00",
    ] {
        assert_eq!(
            error(wrong),
            format!("failed to match '{}'", rp_base::text::clean(wrong, 128)),
            "{wrong:?}"
        );
    }
    assert_eq!(error("noday 2026-1-1 1:00"), "error parsing weekday: unknown weekday 'noday'");
    assert_eq!(error("mon,,tue *-*-* 1:00"), "error parsing weekday: unknown weekday ''");
    assert_eq!(error("2025-1-1 1:00"), "error parsing year: 2025 is out of range (before 2026)");
    assert_eq!(error("2026-13-1 1:00"), "error parsing month: 13 is out of range");
    assert_eq!(error("2026-0-1 1:00"), "error parsing month: 0 is out of range");
    assert_eq!(error("2026-1-32 1:00"), "error parsing day: 32 is out of range");
    assert_eq!(error("2026-1-1 24:00"), "error parsing hour: 24 is out of range");
    assert_eq!(error("2026-1-1 1:10"), "error parsing minute: '10' is not one of 0/15/30/45");
    assert_eq!(error("2026-1-1 1:00:30"), "error parsing seconds: per-second granularity is unsupported");
    assert_eq!(error("2026-1,,2-1 1:00"), "error parsing month: '' is not a number");
    assert_eq!(error("2026-1,*-1 1:00"), "error parsing month: '*' is not a number");
    assert_eq!(
        error("99999999999999999999-1-1 1:00"),
        "error parsing year: '99999999999999999999' is not a number"
    );
}

#[test]
fn the_next_time_is_strictly_later() {
    assert_eq!(next("*-*-* 4:00", "2026-03-01T03:59:59Z").as_deref(), Some("2026-03-01T04:00:00Z"));
    assert_eq!(next("*-*-* 4:00", "2026-03-01T04:00:00Z").as_deref(), Some("2026-03-02T04:00:00Z"));
    assert_eq!(next("*-*-* 4:00:00", "2026-12-31T04:00:00Z").as_deref(), Some("2027-01-01T04:00:00Z"));
    assert_eq!(
        next("Monday,fri *-*-* 0:15", "2026-11-27T00:15:00Z").as_deref(),
        Some("2026-11-30T00:15:00Z")
    );
    assert_eq!(next("*-*-31 0:0", "2026-11-01T00:00:00Z").as_deref(), Some("2026-12-31T00:00:00Z"));
    assert_eq!(next("*-2-29 0:0", "2026-11-01T00:00:00Z").as_deref(), Some("2028-02-29T00:00:00Z"));
    assert_eq!(next("*-*-* *:*", "2026-11-01T00:00:00Z").as_deref(), Some("2026-11-01T00:01:00Z"));
    assert_eq!(next("2027,2030-*-* 0:0", "2027-12-31T12:00:00Z").as_deref(), Some("2030-01-01T00:00:00Z"));
    // A century that is no leap year.
    assert_eq!(next("*-2-29 0:0", "2096-03-01T00:00:00Z").as_deref(), Some("2104-02-29T00:00:00Z"));
}

#[test]
fn what_never_comes_ends_the_search() {
    assert_eq!(next("2026-*-* 0:0", "2026-12-31T00:00:00Z"), None);
    assert_eq!(next("*-2-30 0:0", "2026-01-01T00:00:00Z"), None);
    assert_eq!("*-*-* 0:0".parse::<Calendar>().unwrap().next(Timestamp::from_millis(i64::MAX)), None);
}

#[test]
fn times_before_the_epoch_count_too() {
    assert_eq!(next("*-*-* 0:0", "1969-12-31T12:00:00Z").as_deref(), Some("1970-01-01T00:00:00Z"));
}

/// A list of values, or any.
fn list(values: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = String> {
    let some = proptest::collection::vec(values, 1..4)
        .prop_map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    prop_oneof![Just("*".to_owned()), some]
}

fn expressions() -> impl Strategy<Value = String> {
    let days = proptest::collection::vec(
        prop_oneof![
            Just("mon"),
            Just("Tuesday"),
            Just("WED"),
            Just("thu"),
            Just("fri"),
            Just("sat"),
            Just("sun")
        ],
        0..4,
    );
    let minutes = prop_oneof![Just("*"), Just("0"), Just("15,45"), Just("30")];
    (days, list(2026..=2028), list(1..=12), list(1..=31), list(0..=23), minutes).prop_map(
        |(days, year, month, day, hour, minute)| {
            let weekday = if days.is_empty() { String::new() } else { format!("{} ", days.join(",")) };
            format!("{weekday}{year}-{month}-{day} {hour}:{minute}")
        },
    )
}

/// The same by looking at each minute, for at most `days` days.
fn scan(calendar: &Calendar, after: Timestamp, days: i64) -> Option<Timestamp> {
    let first = after.seconds().div_euclid(60) + 1;
    (first..first + days * 24 * 60).map(|minute| Timestamp::from_seconds(minute * 60)).find(|at| {
        let at = at.to_datetime();
        calendar.is_day(at.date())
            && calendar.hours.contains(u32::from(at.hour()))
            && calendar.minutes.contains(u32::from(at.minute()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_next_time_is_what_a_scan_of_minutes_finds(
        expression in expressions(),
        after in 1_767_225_600i64..1_830_297_600,
    ) {
        let calendar: Calendar = expression.parse().unwrap();
        let after = Timestamp::from_seconds(after);
        let found = calendar.next(after);
        let scanned = scan(&calendar, after, 70);
        match (found, scanned) {
            (found, Some(scanned)) => prop_assert_eq!(found, Some(scanned)),
            (Some(found), None) => prop_assert!(found > after + std::time::Duration::from_secs(70 * 24 * 3600)),
            (None, None) => {}
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = text.parse::<Calendar>();
    }

    #[test]
    fn times_only_grow(expression in expressions(), after in 0i64..4_000_000_000) {
        let calendar: Calendar = expression.parse().unwrap();
        let mut at = Timestamp::from_seconds(after);
        for _ in 0..20 {
            let Some(next) = calendar.next(at) else { break };
            prop_assert!(next > at);
            at = next;
        }
    }
}
