//! The report as a table (RFC 4180), one line for each kind of action.

use std::fmt::Display;

use rp_audit::Report;

const HEAD: [&str; 19] = [
    "person",
    "subject",
    "grant",
    "kind",
    "rights",
    "reason",
    "issued",
    "until",
    "ended",
    "ended_by",
    "action",
    "object",
    "namespace",
    "names",
    "count",
    "refused",
    "failed",
    "first",
    "last",
];

/// The table, with its head.
pub(super) fn report(report: &Report) -> String {
    let mut out = String::new();
    row(&mut out, &HEAD.map(str::to_owned));
    for person in &report.people {
        for step in &person.elevations {
            let mut cells: [String; 19] = Default::default();
            cells[0].clone_from(&person.name);
            cells[1].clone_from(&person.sub);
            cells[3] = "elevation".to_owned();
            cells[4].clone_from(&step.rights);
            cells[5].clone_from(&step.reason);
            cells[9].clone_from(&step.by);
            cells[10].clone_from(&step.verb);
            cells[11].clone_from(&step.what);
            cells[17] = step.at.to_string();
            row(&mut out, &cells);
        }
        for grant in &person.grants {
            let ended = grant.ended.as_ref();
            let head = [
                person.name.clone(),
                person.sub.clone(),
                text(grant.id.as_ref()),
                grant.kind.clone(),
                grant.rights.clone(),
                grant.reason.clone(),
                text(grant.issued.as_ref()),
                grant.until.clone().unwrap_or_default(),
                text(ended.map(|end| &end.at)),
                ended.map(|end| end.by.clone()).unwrap_or_default(),
            ];
            if grant.actions.is_empty() {
                line(&mut out, &head, Default::default());
            }
            for action in &grant.actions {
                let object = [action.resource.as_str(), action.subresource.as_str()];
                let object = object.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
                let names: Vec<&str> =
                    action.names.iter().chain(&action.commands).map(String::as_str).collect();
                let tail = [
                    action.verb.clone(),
                    object,
                    action.namespace.clone(),
                    names.join("; "),
                    action.count.to_string(),
                    action.refused.to_string(),
                    action.failed.to_string(),
                    action.first.to_string(),
                    action.last.to_string(),
                ];
                line(&mut out, &head, tail);
            }
        }
    }
    out
}

fn text(value: Option<&impl Display>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

fn line(out: &mut String, head: &[String; 10], tail: [String; 9]) {
    let mut cells: [String; 19] = Default::default();
    for (cell, value) in cells.iter_mut().zip(head.iter().cloned().chain(tail)) {
        *cell = value;
    }
    row(out, &cells);
}

fn row(out: &mut String, cells: &[String; 19]) {
    rp_base::csv::row(out, cells.iter().map(|cell| rp_base::text::clean(cell, 32_000)));
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> String {
        let mut cells: [String; 19] = Default::default();
        cells[0] = text.to_owned();
        let mut out = String::new();
        row(&mut out, &cells);
        out.strip_suffix(&format!("{}\r\n", ",".repeat(18))).unwrap_or_default().to_owned()
    }

    #[test]
    fn cells_run_nothing_and_stay_cells() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b \"c\""), "\"a,b \"\"c\"\"\"");
        assert_eq!(quoted("=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
        assert_eq!(quoted("@x"), "\"'@x\"");
    }
}
