//! A list as the API server prints it (`meta.k8s.io/v1` Table): its columns for kinds that are its own, those of the
//! definition for custom resources.

use serde_json::Value;

/// Columns of a table.
const MOST_COLUMNS: usize = 20;
/// Characters of a cell; what is longer is cut where it is shown.
const MOST_CELL: usize = 1_000;

/// What to accept for a table; a server that cannot make one sends the list itself.
pub const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// One part of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Words, and whether the column matters less; without the name.
    pub columns: Vec<(String, bool)>,
    pub rows: Vec<Row>,
    /// Where the next part begins; empty at the end.
    pub next: String,
    pub remaining: Option<u64>,
}

/// One object.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub namespace: String,
    pub cells: Vec<String>,
}

/// Reads a table, or a plain list as a table of names.
pub fn read(answer: &Value) -> Table {
    let text =
        |value: &Value, at: &str| value.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut table = Table {
        next: text(answer, "/metadata/continue"),
        remaining: answer.pointer("/metadata/remainingItemCount").and_then(Value::as_u64),
        ..Table::default()
    };
    let list = |name: &str| answer.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if answer.get("kind").and_then(Value::as_str) != Some("Table") {
        let row = |item: &Value| Row {
            name: text(item, "/metadata/name"),
            namespace: text(item, "/metadata/namespace"),
            cells: vec![text(item, "/metadata/creationTimestamp")],
        };
        table.columns = vec![("Created".to_owned(), false)];
        table.rows = list("items").iter().map(row).filter(|row| !row.name.is_empty()).collect();
        return table;
    }
    let heads: Vec<(usize, &Value)> = list("columnDefinitions")
        .iter()
        .enumerate()
        .filter(|(_, head)| !text(head, "/name").eq_ignore_ascii_case("name"))
        .take(MOST_COLUMNS)
        .collect();
    let less = |head: &Value| head.get("priority").and_then(Value::as_i64).unwrap_or(0) > 0;
    table.columns = heads.iter().map(|(_, head)| (text(head, "/name"), less(head))).collect();
    let row = |row: &Value| Row {
        name: text(row, "/object/metadata/name"),
        namespace: text(row, "/object/metadata/namespace"),
        cells: heads.iter().map(|(at, _)| cell(row.pointer(&format!("/cells/{at}")))).collect(),
    };
    table.rows = list("rows").iter().map(row).filter(|row| !row.name.is_empty()).collect();
    table
}

fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    if text == "<none>" || text == "<unknown>" {
        String::new()
    } else {
        text.chars().take(MOST_CELL).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_tables_and_lists() {
        let table = read(&json!({
            "kind": "Table", "metadata": { "continue": "c", "remainingItemCount": 7 },
            "columnDefinitions": [{ "name": "Name" }, { "name": "Ready" }, { "name": "IP", "priority": 1 }],
            "rows": [
                { "cells": ["etcd-0", "4/4"], "object": { "metadata": { "name": "etcd-0", "namespace": "a" } } },
                { "cells": [{ "x": 1 }, 5, null], "object": { "metadata": { "name": "b" } } },
                { "cells": [] }, 7,
            ],
        }));
        assert_eq!(table.columns, [("Ready".to_owned(), false), ("IP".to_owned(), true)]);
        assert_eq!(table.rows.len(), 2);
        assert_eq!(table.rows[0].cells, ["4/4", ""]);
        assert_eq!(table.rows[1].cells, ["5", ""]);
        assert_eq!((table.next.as_str(), table.remaining), ("c", Some(7)));
        let list = read(
            &json!({ "kind": "PodList", "items": [{ "metadata": { "name": "a", "creationTimestamp": "t" } }, {}] }),
        );
        assert_eq!(list.rows.len(), 1);
        assert_eq!(
            read(&json!([])),
            Table { columns: vec![("Created".to_owned(), false)], ..Table::default() }
        );
    }
}
