use std::collections::BTreeMap;

use super::*;
use crate::golden;

fn flags(off: &[&str]) -> Flags {
    let set: BTreeMap<String, String> =
        off.iter().map(|name| ((*name).to_owned(), "false".to_owned())).collect();
    Flags::resolve(&set)
}

fn decide(version: &str, off: &[&str], ipsec: &Value, pool: Option<&Value>) -> [Workaround; 3] {
    let network =
        json!({ "spec": { "defaultNetwork": { "ovnKubernetesConfig": { "ipsecConfig": ipsec } } } });
    workarounds(&Input {
        flags: &flags(off),
        version: version.parse().unwrap(),
        network: &network,
        worker_pool: pool,
    })
}

fn required(version: &str, off: &[&str], ipsec: &Value) -> [bool; 3] {
    decide(version, off, ipsec, None).map(|one| one.required)
}

#[test]
fn versions_with_a_defect_are_fixed() {
    for (version, copy_fail, dirty_frag) in [
        ("4.11.5", true, true),
        ("4.12.88", true, true),
        ("4.12.89", false, true),
        ("4.12.90", false, false),
        ("4.13.65", true, true),
        ("4.13.66", false, true),
        ("4.14.65", false, true),
        ("4.15.64", false, true),
        ("4.16.61", false, true),
        ("4.16.62", false, false),
        ("4.17.52", true, true),
        ("4.17.53", false, true),
        ("4.18.39", true, true),
        ("4.18.41", false, false),
        ("4.19.30", false, true),
        ("4.20.20", true, true),
        ("4.20.22", false, false),
        ("4.21.13", true, true),
        ("4.21.14", false, true),
        ("4.21.15", false, false),
        ("4.22.0", false, false),
        ("5.0.0", false, false),
    ] {
        assert_eq!(required(version, &[], &Value::Null), [false, copy_fail, dirty_frag], "{version}");
    }
}

#[test]
fn flags_and_ipsec_decide_too() {
    let old = "4.18.1";
    assert_eq!(required(old, &["aro.autosizednodes.enabled"], &Value::Null), [true, true, true]);
    assert_eq!(required("4.99.0", &["aro.autosizednodes.enabled"], &Value::Null), [false; 3]);
    assert_eq!(required(old, &["aro.workaround.copyfail.enabled"], &Value::Null), [false, false, true]);
    assert_eq!(required(old, &["aro.workaround.dirtyfrag.enabled"], &Value::Null), [false, true, false]);
    for (ipsec, fixed) in [
        (json!({ "mode": "Full" }), false),
        (json!({ "mode": "External" }), false),
        (json!({}), false),
        (json!({ "mode": "Disabled" }), true),
        (Value::Null, true),
    ] {
        assert_eq!(required(old, &[], &ipsec)[2], fixed, "{ipsec}");
    }
}

#[test]
fn the_objects_are_stable() {
    let pool = json!({ "metadata": { "labels": {} } });
    let all = decide("4.18.1", &["aro.autosizednodes.enabled"], &Value::Null, Some(&pool));
    let objects: Vec<Value> = all.iter().flat_map(|one| golden::applied(&one.plan)).collect();
    golden::check("workarounds.json", &objects);
    let known = include_str!("../../../../node-config/tests/golden/99-master-disable-algif-aead.json");
    assert_eq!(format!("{:#}\n", objects[1]), known);
}

#[test]
fn a_label_of_the_pool_comes_first_and_goes_last() {
    let text = |off: &[&str], pool: Option<&Value>| {
        format!("{:?}", decide("4.22.1", off, &Value::Null, pool)[0].plan.changes)
    };
    let on = ["aro.autosizednodes.enabled"];
    let plain = json!({ "metadata": {} });
    let labelled = json!({ "metadata": { "labels": { LIMITS: "" } } });
    let (apply, delete) = ("Apply KubeletConfig aro-limits", "Delete KubeletConfig aro-limits");
    let merge = "Merge MachineConfigPool worker";
    assert_eq!(text(&on, Some(&plain)), format!("[{merge}, {apply}]"));
    assert_eq!(text(&on, Some(&labelled)), format!("[{apply}]"));
    assert_eq!(text(&on, None), format!("[{apply}]"));
    assert_eq!(text(&[], Some(&labelled)), format!("[{delete}, {merge}]"));
    assert_eq!(text(&[], Some(&plain)), format!("[{delete}]"));
}
