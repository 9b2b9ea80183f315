//! `aro promql`: one question to many clusters, with a progress bar.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use rp_base::{csv, text};
use serde_json::{Value, json};

use crate::args::{Format, PromqlArgs};
use crate::client::Client;
use crate::error::Refusal;
use crate::output::{Column, cell, table};
use crate::{CliError, Output};

const ROWS: [Column<'_>; 3] =
    [("CLUSTER", |row| cell(row, &["/metric/cluster"])), ("SERIES", notation), ("VALUE", value)];
/// An event of one cluster is not larger.
const MOST_EVENT: usize = 32 << 20;
/// Characters of a name or a label in CSV.
const MOST_CELL: usize = 10_000;
/// Of the bar.
const WIDTH: usize = 30;

#[derive(Default)]
struct FleetResult {
    clusters: u64,
    answered: u64,
    kind: String,
    rows: Vec<Value>,
    faults: Vec<Value>,
    end: Option<Value>,
}

pub(super) async fn run(args: PromqlArgs, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let mut came = FleetResult { kind: "vector".to_owned(), ..FleetResult::default() };
    let mut pending = Vec::new();
    let body = body(&args)?;
    let asked = client
        .post_events("/api/v1/fleet/query", &body, |piece| {
            pending.extend_from_slice(piece);
            while let Some(at) = pending.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = pending.drain(..at + 2).collect();
                came.push_event(&String::from_utf8_lossy(&block))?;
                out.progress(&came.bar());
            }
            if pending.len() > MOST_EVENT { Err(CliError::Answer("an event is too long")) } else { Ok(()) }
        })
        .await;
    out.progress_ends();
    asked?;
    came.end.as_ref().ok_or(CliError::Answer("it broke off"))?;
    came.rows.sort_by_cached_key(|row| (cell(row, &["/metric/cluster"]), notation(row)));
    for fault in &came.faults {
        let (cluster, what) = (cell(fault, &["/cluster"]), cell(fault, &["/error/what"]));
        out.note(&format!("{cluster}: {what}"));
    }
    if !came.faults.is_empty() {
        out.note(&format!("{} of {} clusters did not answer", came.faults.len(), came.clusters));
    }
    came.print(args.connection.output, out)?;
    if came.answered == 0 && came.clusters > 0 {
        return Err(none_answered(&came));
    }
    Ok(())
}

fn none_answered(came: &FleetResult) -> CliError {
    let first = came.faults.first().cloned().unwrap_or_default();
    let refusal = Refusal {
        code: "no_cluster_answered".to_owned(),
        message: "no cluster answered".to_owned(),
        side: cell(&first, &["/error/side"]),
        action: cell(&first, &["/error/action"]),
        request_id: String::new(),
    };
    CliError::Refused { status: 502, refusal }
}

fn body(args: &PromqlArgs) -> Result<Value, CliError> {
    let mut body = json!({ "query": args.query, "clusters": args.clusters });
    if let Some(op) = args.aggregate {
        body["aggregate"] = json!(op.name());
        body["by"] = json!(args.by);
        body["k"] = json!(args.k);
    }
    if let Some(time) = args.time {
        body["time"] = json!(time);
    }
    if let Some(range) = args.range {
        #[expect(clippy::disallowed_methods, reason = "a range that ends now, on the person's machine")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let end = now.map_err(|_| CliError::Usage("the clock stands before 1970".to_owned()))?.as_secs();
        body["start"] = json!(end.saturating_sub(range));
        body["end"] = json!(end);
        body["step"] = json!(args.step);
    }
    if let Some(timeout) = args.timeout {
        body["timeout"] = json!(timeout);
    }
    Ok(body)
}

impl FleetResult {
    fn push_event(&mut self, block: &str) -> Result<(), CliError> {
        let Some((name, data)) = block.trim_end().split_once('\n') else { return Ok(()) };
        let Some((name, data)) = name.strip_prefix("event: ").zip(data.strip_prefix("data: ")) else {
            return Ok(());
        };
        let mut data: Value = serde_json::from_str(data).map_err(|_| CliError::Answer("not JSON"))?;
        match name {
            "plan" => self.clusters = data["clusters"].as_u64().unwrap_or(0),
            "answer" => {
                self.answered += 1;
                self.rows(&mut data, false);
            }
            "aggregate" => self.rows(&mut data, true),
            "fault" => self.faults.push(data),
            "end" => self.end = Some(data),
            // Of a later version.
            _ => {}
        }
        Ok(())
    }

    fn rows(&mut self, data: &mut Value, instead: bool) {
        let Some(Value::Array(rows)) = data.pointer_mut("/data/result").map(Value::take) else { return };
        if data["data"]["resultType"] == "matrix" {
            self.kind = "matrix".to_owned();
        }
        if instead {
            self.rows.clear();
        }
        self.rows.extend(rows);
    }

    fn bar(&self) -> String {
        let done = self.answered + self.faults.len() as u64;
        let filled = usize::try_from(done * WIDTH as u64 / self.clusters.max(1)).unwrap_or(0).min(WIDTH);
        let failed = match self.faults.len() {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!(
            "[{}{}] {done}/{} clusters{failed}",
            "#".repeat(filled),
            ".".repeat(WIDTH - filled),
            self.clusters
        )
    }

    fn print(&self, format: Format, out: &mut Output) -> Result<(), CliError> {
        if format == Format::Csv {
            return out.raw(&self.csv());
        }
        let whole = json!({
            "resultType": self.kind, "result": self.rows, "failed": self.faults, "end": self.end,
        });
        out.value(format, &whole, |_| table(&self.rows, &ROWS))
    }

    /// RFC 4180: a column for each label, then time and value.
    fn csv(&self) -> String {
        let labels: BTreeSet<&str> = self
            .rows
            .iter()
            .filter_map(|row| row["metric"].as_object())
            .flat_map(|metric| metric.keys().map(String::as_str))
            .filter(|label| *label != "cluster")
            .collect();
        let mut out = String::new();
        csv::row(&mut out, std::iter::once("cluster").chain(labels.iter().copied()).map(clean));
        out.push_str(",time,value\r\n");
        for row in &self.rows {
            let cluster = cell(row, &["/metric/cluster"]);
            let values = labels.iter().map(|label| row["metric"][*label].as_str().unwrap_or_default());
            let mut start = String::new();
            csv::row(&mut start, std::iter::once(cluster.as_str()).chain(values).map(clean));
            for (at, value) in samples(row) {
                out.push_str(&format!("{start},{at},"));
                // A number that the portal wrote.
                csv::value(&mut out, &value);
                out.push_str("\r\n");
            }
        }
        out
    }
}

/// Text of a cluster: it must not control the terminal.
fn clean(cell: &str) -> String {
    text::clean(cell, MOST_CELL)
}

/// Times and values of a row.
fn samples(row: &Value) -> Vec<(String, String)> {
    let sample = |pair: &Value| Some((pair.get(0)?.to_string(), pair.get(1)?.as_str()?.to_owned()));
    match row["values"].as_array() {
        Some(values) => values.iter().filter_map(sample).collect(),
        None => sample(&row["value"]).into_iter().collect(),
    }
}

/// `name{label="value"}` without the cluster.
fn notation(row: &Value) -> String {
    let Some(metric) = row["metric"].as_object() else { return "{}".to_owned() };
    let name = metric.get("__name__").and_then(Value::as_str).unwrap_or_default();
    let labels: Vec<String> = metric
        .iter()
        .filter(|(label, _)| !matches!(label.as_str(), "__name__" | "cluster"))
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    format!("{name}{{{}}}", labels.join(", "))
}

/// The value, or the last of a range and how many there are.
fn value(row: &Value) -> String {
    let samples = samples(row);
    let Some((_, last)) = samples.last() else { return String::new() };
    if row["values"].is_array() { format!("{last} ({} samples)", samples.len()) } else { last.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_rows_and_csv() {
        let mut came = FleetResult { kind: "vector".to_owned(), ..FleetResult::default() };
        for block in [
            ": waiting\n\n",
            "event: plan\ndata: {\"clusters\":2,\"parallel\":64}\n\n",
            "event: answer\ndata: {\"cluster\":\"a\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"cluster\":\"a\",\"x\":\"1,\\\"2\"},\"value\":[5.5,\"NaN\"]}]}}\n\n",
            "event: fault\ndata: {\"cluster\":\"b\",\"error\":{\"what\":\"away\"}}\n\n",
            "event: end\ndata: {\"answered\":1}\n\n",
        ] {
            came.push_event(block).unwrap();
        }
        assert_eq!(came.csv(), "cluster,x,time,value\r\na,\"1,\"\"2\",5.5,NaN\r\n");
        assert_eq!(came.bar(), format!("[{}] 2/2 clusters, 1 failed", "#".repeat(WIDTH)));
        assert_eq!(notation(&came.rows[0]), "{x=\"1,\\\"2\"}");
    }

    /// Labels belong to the cluster: a table program must not read them as formulas, nor a terminal as commands.
    #[test]
    fn labels_are_text_in_csv() {
        let rows =
            json!([{ "metric": { "cluster": "a", "x": "=cmd()", "y": "\u{1b}[2J" }, "value": [5, "1"] }]);
        let came = FleetResult { rows: rows.as_array().unwrap().clone(), ..FleetResult::default() };
        assert_eq!(came.csv(), "cluster,x,y,time,value\r\na,\"'=cmd()\",[2J,5,1\r\n");
    }
}
