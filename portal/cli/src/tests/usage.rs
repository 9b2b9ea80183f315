//! What is wrong on a command line is said by the flag that is meant, with what would be right.

use clap::Parser as _;

use super::portal::Aro;
use crate::args::instant;

#[test]
fn a_wrong_argument_is_named_with_what_is_allowed() {
    for (line, flag, allowed) in [
        ("clusters --state bogus", "--state", "noanswer"),
        ("clusters --view bogus", "--view", "not-healthy"),
        ("clusters --source bogus", "--source", "imported"),
        ("clusters --expires 4000", "--expires", "3650"),
        ("clusters --age soon", "--age", "8h"),
        ("grants list --state bogus", "--state", "revoked"),
        ("grants extend g-1 --life 0", "--life", "above 0"),
        ("kubeconfig harbor", "--reason", "--reason"),
        ("kubeconfig harbor --reason x --rights all", "--rights", "admin"),
        ("elevate --reason x --rights read", "--rights", "write"),
        ("audit list --from yesterday", "--from", "2026-11-21"),
        ("recordings list --to 21.11.2026", "--to", "RFC 3339"),
        ("recordings play r --speed fast", "--speed", "1000"),
        ("robots create nightly --clusters c", "--reason", "--reason"),
        ("promql up", "--clusters", "--clusters"),
    ] {
        let Err(error) = Aro::try_parse_from(["aro"].into_iter().chain(line.split(' '))) else {
            panic!("{line} is accepted")
        };
        let text = error.to_string();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(text.contains(flag) && text.contains(allowed), "{line}: {text}");
        assert!(!text.to_lowercase().contains("x-aro") && !text.contains("header"), "{line}: {text}");
    }
}

#[test]
fn states_are_read_in_any_case_and_several_at_once() {
    assert!(Aro::try_parse_from(["aro", "clusters", "--state", "Failed,degraded"]).is_ok());
}

#[test]
fn instants_are_days_minutes_or_rfc_3339() {
    for good in ["2026-11-21", "2026-11-21T03:12", "2026-11-21T03:12:00", "2026-11-21T03:12:00+01:00"] {
        assert_eq!(instant(good).as_deref(), Ok(good));
    }
    for bad in ["", "now", "2026-13-01", "21.11.2026", "2026-11-21 3am"] {
        assert!(instant(bad).unwrap_err().contains("2026-11-21T03:12:00Z"), "{bad}");
    }
}
