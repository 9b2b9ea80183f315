//! Dashboards are generated: one line for each panel of `deploy/monitoring/dashboards/*.toml` becomes a panel of Grafana,
//! laid out from left to right. `ARO_GOLDEN=write` writes them anew.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tests_kit::workspace;

pub(crate) const DASHBOARDS: [&str; 2] = ["fleet", "service"];
const FOLDER: &str = "deploy/monitoring";
/// Columns of a dashboard.
const COLUMNS: u32 = 24;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    title: String,
    uid: String,
    description: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    title: String,
    panels: Vec<Panel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PanelKind {
    Stat,
    Lines,
    Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panel {
    kind: PanelKind,
    title: String,
    #[serde(default)]
    about: String,
    unit: Option<String>,
    width: Option<u32>,
    /// Red from here on.
    most: Option<f64>,
    /// Red below.
    least: Option<f64>,
    /// Expression and legend.
    queries: Vec<(String, String)>,
}

/// The next free cell.
#[derive(Default)]
struct Cursor {
    x: u32,
    y: u32,
    /// Of the highest panel of this line.
    height: u32,
}

impl Cursor {
    fn place(&mut self, width: u32, height: u32) -> Value {
        if self.x + width > COLUMNS {
            self.new_line();
        }
        let place = json!({"x": self.x, "y": self.y, "w": width, "h": height});
        self.x += width;
        self.height = self.height.max(height);
        place
    }

    fn new_line(&mut self) {
        *self = Self { y: self.y + self.height, ..Self::default() };
    }
}

impl Panel {
    const fn size(&self) -> (u32, u32) {
        match self.kind {
            PanelKind::Stat => (4, 4),
            PanelKind::Lines => (8, 8),
            PanelKind::Table => (12, 8),
        }
    }

    fn thresholds(&self) -> Value {
        let step = |color: &str, value: Option<f64>| json!({"color": color, "value": value});
        let steps = match (self.most, self.least) {
            (Some(most), _) => vec![step("green", None), step("red", Some(most))],
            (None, Some(least)) => vec![step("red", None), step("green", Some(least))],
            (None, None) => vec![step("green", None)],
        };
        json!({"mode": "absolute", "steps": steps})
    }

    fn json(&self, id: usize, cursor: &mut Cursor) -> Value {
        let (width, height) = self.size();
        let source = json!({"type": "prometheus", "uid": "${datasource}"});
        let table = matches!(self.kind, PanelKind::Table);
        let target = |(n, (expr, legend)): (usize, &(String, String))| {
            let id = char::from(b'A' + u8::try_from(n).unwrap_or(0)).to_string();
            let format = if table { "table" } else { "time_series" };
            json!({"refId": id, "datasource": source, "expr": expr, "legendFormat": legend, "format": format,
                "instant": table, "range": !table})
        };
        let targets: Vec<Value> = self.queries.iter().enumerate().map(target).collect();
        let unit = self.unit.as_deref().unwrap_or("short");
        let (kind, defaults, options) = match self.kind {
            PanelKind::Stat => (
                "stat",
                json!({"unit": unit, "thresholds": self.thresholds()}),
                json!({"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
                    "colorMode": "value", "graphMode": "area", "textMode": "auto"}),
            ),
            PanelKind::Lines => (
                "timeseries",
                json!({"unit": unit, "custom": {"drawStyle": "line", "fillOpacity": 10, "showPoints": "never"}}),
                json!({"legend": {"displayMode": "list", "placement": "bottom"},
                    "tooltip": {"mode": "multi", "sort": "desc"}}),
            ),
            PanelKind::Table => ("table", json!({}), json!({"showHeader": true})),
        };
        let mut panel = json!({"id": id, "type": kind, "title": self.title, "description": self.about,
            "datasource": source, "gridPos": cursor.place(self.width.unwrap_or(width), height),
            "targets": targets, "fieldConfig": {"defaults": defaults, "overrides": []}, "options": options});
        if table {
            let hidden: Map<String, Value> = ["Time", "__name__", "instance", "job", "subscription_id"]
                .map(|name| (name.to_owned(), Value::Bool(true)))
                .into_iter()
                .collect();
            panel["transformations"] = json!([{"id": "organize", "options": {"excludeByName": hidden}}]);
        }
        panel
    }
}

fn panels(rows: &[Row]) -> Vec<Value> {
    let (mut panels, mut cursor) = (Vec::new(), Cursor::default());
    for row in rows {
        cursor.new_line();
        let place = cursor.place(COLUMNS, 1);
        panels.push(json!({"id": panels.len() + 1, "type": "row", "title": row.title, "collapsed": false,
            "panels": [], "gridPos": place}));
        cursor.new_line();
        for panel in &row.panels {
            panels.push(panel.json(panels.len() + 1, &mut cursor));
        }
    }
    panels
}

/// The dashboard as Grafana imports it, one panel a line, so that a change is read as one.
fn dashboard(name: &str) -> Result<String> {
    let file = workspace().join(FOLDER).join("dashboards").join(name).with_extension("toml");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let source: Source = toml::from_str(&text).with_context(|| file.display().to_string())?;
    let variable = json!({"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus",
        "refresh": 1, "hide": 0, "current": {}, "options": []});
    let members = [
        ("title", json!(source.title)),
        ("uid", json!(source.uid)),
        ("description", json!(source.description)),
        ("tags", json!(["aro"])),
        ("schemaVersion", json!(39)),
        ("version", json!(1)),
        ("editable", json!(true)),
        ("graphTooltip", json!(1)),
        ("refresh", json!("1m")),
        ("time", json!({"from": "now-6h", "to": "now"})),
        ("timezone", json!("utc")),
        ("templating", json!({"list": [variable]})),
        ("annotations", json!({"list": []})),
        ("links", json!([])),
    ];
    let members: String =
        members.iter().map(|(name, value)| format!(" {}: {value},\n", json!(name))).collect();
    let panels: Vec<String> = panels(&source.rows).iter().map(|panel| format!("  {panel}")).collect();
    Ok(format!("{{\n{members} \"panels\": [\n{}\n ]\n}}\n", panels.join(",\n")))
}

#[test]
fn dashboards_are_what_their_sources_say() -> Result<()> {
    for name in DASHBOARDS {
        let file = workspace().join(FOLDER).join(name).with_extension("json");
        let made = dashboard(name)?;
        if std::env::var("ARO_GOLDEN").as_deref() == Ok("write") {
            fs::write(&file, &made)?;
        }
        let committed = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        ensure!(
            made == committed,
            "{name}.json is stale: ARO_GOLDEN=write cargo test -p tests --test contracts dashboards"
        );
    }
    Ok(())
}
