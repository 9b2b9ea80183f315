//! Lists as tables, which is how kubectl asks for what it prints (`meta.k8s.io` Table).

use hyper::header::{ACCEPT, HeaderMap};
use rp_simulator::objects::{Cell, Kind, View};
use serde_json::{Value, json};

/// The version of the table that a client requests, if any.
pub(super) fn wanted(headers: &HeaderMap) -> Option<&'static str> {
    let accept = headers.get(ACCEPT)?.to_str().ok()?;
    // The first form that we can give wins.
    for form in accept.split(',').map(str::trim) {
        let mut parameters = form.split(';').map(str::trim);
        match parameters.next() {
            Some("application/json") => {}
            _ => continue,
        }
        let parameters: Vec<&str> = parameters.collect();
        if !parameters.contains(&"as=Table") {
            return None;
        }
        if parameters.contains(&"v=v1") {
            return Some("v1");
        }
        if parameters.contains(&"v=v1beta1") {
            return Some("v1beta1");
        }
    }
    None
}

/// A table of objects.
pub(super) fn from_objects(
    kind: &Kind,
    objects: &[Value],
    view: &View<'_>,
    version: &str,
    metadata: &Value,
) -> Value {
    let columns: Vec<Value> = kind
        .columns
        .iter()
        .map(|column| {
            json!({"name": column.name, "type": column.shape(), "format": if column.name == "Name" {"name"} else {""},
                "description": "", "priority": column.priority})
        })
        .collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let cells: Vec<Value> =
                kind.columns.iter().map(|column| cell(&column.cell, object, view)).collect();
            json!({"cells": cells, "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"]}})
        })
        .collect();
    json!({"kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
        "columnDefinitions": columns, "rows": rows})
}

fn cell(cell: &Cell, object: &Value, view: &View<'_>) -> Value {
    match cell {
        Cell::At(pointer) => object.pointer(pointer).cloned().unwrap_or_else(|| json!("")),
        Cell::Age(pointer) => {
            let at = object
                .pointer(pointer)
                .and_then(Value::as_str)
                .and_then(|at| rp_base::Timestamp::parse(at).ok());
            json!(at.map_or_else(|| "<unknown>".to_owned(), |at| age(view.now.since(at).as_secs())))
        }
        Cell::Of(read) => read(object),
    }
}

/// As kubectl shortens ages: `47s`, `12m`, `5h`, `3d`.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
