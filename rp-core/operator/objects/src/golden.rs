//! Files of what is applied. When a change is meant, `ARO_GOLDEN=write cargo test -p rp-operator-objects` writes them again.

use std::path::Path;

use serde_json::Value;

/// Compares objects with a file below `tests/golden`.
pub(crate) fn check(name: &str, objects: &[Value]) {
    let text = serde_json::to_string_pretty(objects).unwrap() + "\n";
    check_text(name, &text);
}

/// Compares a text with such a file.
pub(crate) fn check_text(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ARO_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(&file, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{}", file.display());
}

/// The objects that a plan applies.
pub(crate) fn applied(plan: &crate::Plan) -> Vec<Value> {
    let object = |change: &crate::Change| match change {
        crate::Change::Apply(object) | crate::Change::Create(object) => Some(object.clone()),
        _ => None,
    };
    plan.changes.iter().filter_map(object).collect()
}
