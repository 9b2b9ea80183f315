//! Who had access to a cluster, why, and what they did: for a customer to read.

use rp_base::text::clean;
use serde_json::Value;

use crate::output::cell;

fn each<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn person(value: &Value) -> String {
    cell(value, &["/name", "/sub", "/person/name", "/person/sub"])
}

fn joined(value: &Value, name: &str, between: &str) -> String {
    each(value, name).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(between)
}

/// The kind of thing, its namespace, some names, some commands: as far as there are.
fn what(action: &Value) -> String {
    let parts = ["/resource", "/subresource"].map(|name| cell(action, &[name]));
    let kind = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let namespace = cell(action, &["/namespace"]);
    let within = if namespace.is_empty() { namespace } else { format!("in {namespace}") };
    let names = joined(action, "names", ", ");
    let commands = joined(action, "commands", "; ");
    let ran = if commands.is_empty() { commands } else { format!("ran: {commands}") };
    [kind, names, within, ran].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `3 ok, 1 refused`, leaving out what did not happen.
fn outcome(action: &Value) -> String {
    let counts = [("/ok", "ok"), ("/refused", "refused"), ("/failed", "failed")];
    let said = counts.into_iter().filter_map(|(name, word)| {
        let count = action.pointer(name).and_then(Value::as_u64).filter(|count| *count > 0)?;
        Some(format!("{count} {word}"))
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Pages of text: one paragraph a grant.
pub(crate) fn text(report: &Value) -> String {
    let mut out = format!("Access to {}\n", clean(&cell(report, &["/target"]), 500));
    let (from, to) = (cell(report, &["/from"]), cell(report, &["/to"]));
    if !from.is_empty() || !to.is_empty() {
        out.push_str(&format!("from {from} to {to}\n"));
    }
    if each(report, "people").is_empty() {
        out.push_str("\nNobody had access.\n");
    }
    for one in each(report, "people") {
        out.push_str(&format!("\n{}\n", clean(&person(one), 200)));
        for grant in each(one, "grants") {
            out.push_str(&paragraph(grant));
        }
        for elevation in each(one, "elevations") {
            let field = |name: &str| clean(&cell(elevation, &[name]), 1000);
            let line = ["/at", "/verb", "/rights", "/reason"].map(field).join("  ");
            out.push_str(&format!("  {}\n", line.trim_end()));
        }
    }
    let entries = cell(report, &["/entries"]);
    if !entries.is_empty() {
        out.push_str(&format!("\nFrom {entries} audit entries.\n"));
    }
    out
}

fn paragraph(grant: &Value) -> String {
    let field = |pointers: &[&str]| clean(&cell(grant, pointers), 1000);
    let mut out = if field(&["/id"]).is_empty() {
        "  without a grant\n".to_owned()
    } else {
        format!(
            "  {} with {} rights, {} to {} (grant {})\n    reason: {}\n",
            field(&["/kind"]),
            field(&["/rights"]),
            field(&["/issued", "/created", "/first"]),
            field(&["/ended/at", "/until", "/not_after"]),
            field(&["/id"]),
            field(&["/reason"]),
        )
    };
    let (by, why) = (field(&["/ended/by"]), field(&["/ended/why"]));
    if !by.is_empty() {
        let why = if why.is_empty() { why } else { format!(": {why}") };
        out.push_str(&format!("    ended by {by}{why}\n"));
    }
    let actions = each(grant, "actions");
    if actions.is_empty() {
        out.push_str("    not used\n");
    }
    for action in actions {
        let field = |pointers: &[&str]| clean(&cell(action, pointers), 500);
        let (first, last) = (field(&["/first"]), field(&["/last"]));
        let when = if first == last { first } else { format!("{first} to {last}") };
        let line =
            format!("    {when}  {} {}  {}", field(&["/verb"]), clean(&what(action), 1000), outcome(action));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Value {
        json!({ "target": "/x/harbor", "from": "a", "to": "b", "entries": 7, "people": [
            { "sub": "s", "name": "sre\u{1b}", "grants": [
                { "id": "g1", "kind": "kubeconfig", "rights": "read", "reason": "=1+1, \"x\"", "issued": "c", "until": "e",
                  "actions": [{ "verb": "get", "resource": "pods", "subresource": "log", "namespace": "n", "names": ["p", "q"],
                                "first": "t", "last": "u", "count": 4, "ok": 3, "refused": 1, "failed": 0 }] },
                { "id": "g2", "kind": "page", "rights": "read", "reason": "r", "issued": "c",
                  "ended": { "at": "then", "by": "admin", "why": "left" } },
                { "id": null, "actions": [] },
            ], "elevations": [{ "at": "t", "verb": "elevation.request", "rights": "admin", "reason": "fire" }] } ] })
    }

    #[test]
    fn reads_as_a_page() {
        let text = text(&report());
        assert!(text.contains("\nsre\n  kubeconfig with read rights, c to e (grant g1)\n"), "{text}");
        assert!(text.contains("    t to u  get pods/log p, q in n  3 ok, 1 refused\n"), "{text}");
        assert!(text.contains("ended by admin: left\n    not used\n  without a grant"), "{text}");
        assert!(text.contains("elevation.request  admin  fire") && text.contains("From 7 audit"), "{text}");
        assert!(super::text(&json!({})).contains("Nobody"));
    }
}
