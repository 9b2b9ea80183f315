use proptest::prelude::*;
use serde::Deserialize as _;

use super::*;

fn secret(content: &str) -> PullSecret<Whole> {
    typed(TYPE, content)
}

fn typed(kind: &str, content: &str) -> PullSecret<Whole> {
    let object = json!({ "type": kind, "data": { KEY: STANDARD.encode(content) } });
    PullSecret::deserialize(object).unwrap()
}

fn auth(text: &str) -> String {
    STANDARD.encode(text)
}

fn source() -> PullSecret<Whole> {
    secret(&json!({ "auths": { "arosvc.azurecr.io": { "auth": auth("u:p") } } }).to_string())
}

fn repaired(present: Option<&PullSecret<Whole>>) -> Repair {
    repair(present.map(|secret| Present { secret, resource_version: "7" }), &source()).unwrap()
}

/// The content that a plan writes.
fn written(plan: &Plan) -> Value {
    let data = match plan.changes.last().unwrap() {
        Change::Apply(object) => &object["data"],
        Change::Merge { patch, resource_version, .. } => {
            assert_eq!(resource_version.as_deref(), Some("7"));
            &patch["data"]
        }
        change => panic!("{change:?}"),
    };
    serde_json::from_slice(&STANDARD.decode(data[KEY].as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn entries_of_the_service_win_and_everything_else_stays() {
    let present = json!({
        "auths": {
            "arosvc.azurecr.io": { "auth": auth("old:old"), "email": "x" },
            "quay.io": { "auth": 7, "unknown": [1] },
            "registry.redhat.io": { "auth": auth("a:b") },
            "registry.connect.redhat.com": { "auth": "" },
        },
        "credHelpers": { "a": "b" },
    });
    let repair = repaired(Some(&secret(&present.to_string())));
    let mut expected = present;
    expected["auths"]["arosvc.azurecr.io"] = json!({ "auth": auth("u:p") });
    assert_eq!(written(&repair.plan), expected);
    assert_eq!(format!("{:?}", repair.plan.changes), "[Merge Secret openshift-config/pull-secret]");
    assert_eq!(repair.red_hat_keys, ["registry.redhat.io"]);
    let again = repaired(Some(&secret(&written(&repair.plan).to_string())));
    assert!(again.plan.is_empty());
}

#[test]
fn a_secret_is_recreated_only_for_its_type() {
    let service = json!({ "auths": { "arosvc.azurecr.io": { "auth": auth("u:p") } } });
    let text = |repair: &Repair| format!("{:?}", repair.plan.changes);
    let (apply, merge) =
        ("Apply Secret openshift-config/pull-secret", "Merge Secret openshift-config/pull-secret");
    let recreate = format!("[Delete Secret openshift-config/pull-secret, {apply}]");
    let empty = PullSecret::deserialize(json!({ "type": TYPE })).unwrap();
    let mut immutable = secret("{}");
    immutable.immutable = true;
    for (present, expected) in [
        (None, format!("[{apply}]")),
        (Some(typed("Opaque", &service.to_string())), recreate.clone()),
        (Some(immutable), recreate),
        (Some(empty), format!("[{merge}]")),
        (Some(secret("{")), format!("[{merge}]")),
        (Some(secret("[]")), format!("[{merge}]")),
        (Some(secret(r#"{"auths":[]}"#)), format!("[{merge}]")),
    ] {
        let repair = repaired(present.as_ref());
        assert_eq!(text(&repair), expected);
        assert_eq!(written(&repair.plan), service);
    }
    let mut fixed = secret(&service.to_string());
    fixed.immutable = true;
    assert!(repaired(Some(&fixed)).plan.is_empty());
}

#[test]
fn a_broken_source_changes_nothing() {
    let present = secret("{}");
    let present = Some(Present { secret: &present, resource_version: "7" });
    let error = |source: &PullSecret<Whole>| repair(present, source).unwrap_err();
    assert_eq!(error(&PullSecret::default()), RepairError::NoSource);
    assert_eq!(error(&secret("SECRET")), RepairError::Source(PullSecretError::NoObject));
    assert!(!format!("{:?}", error(&secret("SECRET"))).contains("SECRET"));
}

#[test]
fn keys_of_red_hat_are_found_in_their_order() {
    let all: Map<String, Value> =
        RED_HAT.iter().map(|name| ((*name).to_owned(), json!({ "auth": auth("a:b") }))).collect();
    let present = secret(&json!({ "auths": all }).to_string());
    let found = look(Some(Present { secret: &present, resource_version: "" }));
    assert_eq!(found.red_hat_keys, RED_HAT);
    assert!(found.plan.is_empty());
    assert_eq!(look(None).red_hat_keys, Vec::<&str>::new());
}

proptest! {
    #[test]
    fn any_content_can_be_repaired_once(content in any::<String>(), kind in "(Opaque|kubernetes.io/dockerconfigjson)") {
        let first = repaired(Some(&typed(&kind, &content)));
        let second = repaired(Some(&secret(&written(&first.plan).to_string())));
        prop_assert!(second.plan.is_empty());
    }
}
