use super::*;

#[test]
fn a_finding_is_lines_with_its_action_below() {
    let finding = Finding::failed("certificate", "tls.pem: ended 3 days ago", "Put a new one in place.");
    assert_eq!(
        finding.text(),
        "FAILED   certificate tls.pem: ended 3 days ago\n                     Put a new one in place."
    );
    assert_eq!(Finding::ok("name", "a.example: 10.0.0.1").text(), "ok       name        a.example: 10.0.0.1");
}

#[test]
fn text_from_outside_steers_no_terminal() {
    let text = Finding::failed("provider", "said \u{1b}[2J\nand more", "Look.").text();
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert_eq!(text.lines().count(), 3);
}
