use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn set(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn the_table_is_that_of_the_contract() {
    assert_eq!(Flag::ALL.len(), 72);
    assert_eq!(Flag::ALL.iter().map(|flag| flag.name()).collect::<BTreeSet<_>>().len(), 72);
    let ours: BTreeSet<_> = default_set().collect();
    assert_eq!(ours, rp_api::defaults::operator_flags().collect());
}

#[test]
fn every_default_is_a_value_of_its_flag() {
    for flag in Flag::ALL {
        let (Fallback::Set(value) | Fallback::Implied(value)) = flag.default() else { continue };
        assert!(grammar::is_valid(flag.kind(), value), "{}", flag.name());
        assert!(!flag.effect().is_empty());
    }
}

#[test]
fn defaults_hold_where_nothing_is_set() {
    let flags = Flags::resolve(&BTreeMap::new());
    assert!(flags.problems().is_empty());
    assert!(flags.on(Flag::Dnsmasq) && !flags.on(Flag::ForceReconciliation));
    assert_eq!(flags.text(Flag::OtelMasterProfile), Some("minimal-logs"));
    assert_eq!(flags.managed(Flag::PolicyPullSecret), Managed::Remove);
    assert_eq!(flags.number(Flag::GuardrailsMinutes), 60);
    assert_eq!(flags.text(Flag::MuoPullSpec), None);
    assert_eq!(flags.effective().len(), 72 - 4);
}

#[test]
fn values_are_typed() {
    let flags = Flags::resolve(&set(&[
        ("aro.dnsmasq.enabled", "FALSE"),
        ("aro.genevalogging.otel.profile", "max-logs"),
        ("aro.genevalogging.otel.worker.profile", "reduced-logs"),
        ("aro.etchosts.managed", "False"),
        ("aro.machinehealthcheck.managed", ""),
        ("aro.guardrails.reconciliationMinutes", "15"),
        ("rh.srep.muo.deploy.pullspec", "arosvc.azurecr.io/app-sre/muo@sha256:00ff"),
    ]));
    assert_eq!(flags.problems(), []);
    assert!(!flags.on(Flag::Dnsmasq));
    assert_eq!(flags.text(Flag::OtelMasterProfile), Some("max-logs"));
    assert_eq!(flags.text(Flag::OtelWorkerProfile), Some("reduced-logs"));
    assert_eq!(flags.managed(Flag::EtcHostsManaged), Managed::Remove);
    assert_eq!(flags.managed(Flag::MachineHealthCheckManaged), Managed::Leave);
    assert_eq!(flags.number(Flag::GuardrailsMinutes), 15);
}

#[test]
fn a_mistake_is_reported_and_changes_nothing() {
    let flags = Flags::resolve(&set(&[
        ("aro.dnsmasq.enabled", "ture"),
        ("aro.dnsmask.enabled", "false"),
        ("aro.etchosts.managed", "remove"),
        ("aro.genevalogging.otel.profile", "all"),
        ("aro.guardrails.validatingwebhook.timeoutSeconds", "31"),
        ("aro.guardrails.deploy.manager.limit.cpu", "1 core"),
        ("aro.guardrails.namespace", "Openshift\nnamespace"),
        ("rh.srep.muo.deploy.pullspec", "a/b:c\"\nevil: true"),
    ]));
    assert_eq!(flags.problems().len(), 8);
    assert!(flags.on(Flag::Dnsmasq));
    assert_eq!(flags.managed(Flag::EtcHostsManaged), Managed::Leave);
    assert_eq!(flags.text(Flag::OtelProfile), Some("minimal-logs"));
    assert_eq!(flags.number(Flag::ValidatingWebhookTimeout), 3);
    assert_eq!(flags.text(Flag::MuoPullSpec), None);
    let texts: Vec<_> = flags.problems().iter().map(ToString::to_string).collect();
    assert!(texts.contains(&"flag \"aro.dnsmask.enabled\" is not known".to_owned()), "{texts:?}");
    let expected =
        "flag \"aro.dnsmasq.enabled\" has the value \"ture\", which is not true or false; its default holds";
    assert!(texts.contains(&expected.to_owned()), "{texts:?}");
}

#[test]
fn problems_are_bounded() {
    let many: BTreeMap<_, _> =
        (0..5_000).map(|i| (format!("{i}{}", "ä".repeat(500)), String::new())).collect();
    let flags = Flags::resolve(&many);
    assert_eq!(flags.problems().len(), MOST_PROBLEMS + 1);
    assert_eq!(flags.problems().last(), Some(&Problem::More(5_000 - MOST_PROBLEMS)));
    assert!(flags.problems().iter().all(|problem| problem.to_string().len() < 400));
}

proptest! {
    #[test]
    fn no_value_has_a_character_with_a_meaning(value in any::<String>()) {
        for flag in Flag::ALL {
            if grammar::is_valid(flag.kind(), &value) {
                let meaning = value.contains(['\n', '"', '\'', '\\', '$', '`', '{', '#', '\0']);
                prop_assert!(!meaning, "{}: {value:?}", flag.name());
            }
        }
    }
}

#[test]
fn what_people_set_is_checked_and_named() {
    assert_eq!(checked("aro.dnsmasq.enabled", "FALSE"), Ok((Flag::Dnsmasq, "false".to_owned())));
    assert_eq!(checked("aro.etchosts.managed", ""), Ok((Flag::EtcHostsManaged, String::new())));
    let refused = |name: &str, value: &str| checked(name, value).unwrap_err().to_string();
    assert_eq!(refused("aro.dnsmasq", "true"), "flag \"aro.dnsmasq\" is not known");
    assert_eq!(
        refused("aro.dnsmasq.enabled", "yes"),
        "flag aro.dnsmasq.enabled takes true or false; \"yes\" is not"
    );
    assert_eq!(
        refused("aro.guardrails.method", ""),
        "flag aro.guardrails.method takes one of gatekeeper, vap, auto; \"\" is not"
    );
    let long = "x".repeat(1000);
    assert!(refused(&long, "true").len() < 200 && refused("aro.environment", &long).len() < 300);
    for flag in Flag::ALL {
        assert_eq!(Flag::named(flag.name()), Some(*flag));
    }
}
