//! Objects as YAML 1.2 and JSON, for pages and for downloads. What is long is folded in pages only.

use serde_json::Value;

/// Values longer than this are folded in a page, in bytes.
const FOLD: usize = 4 * 1024;
/// Lines of a page.
const MOST_LINES: usize = 20_000;

/// Lines of a page, and how many values or lines stand in the download only.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoldedLines {
    pub lines: Vec<String>,
    pub folded: u64,
}

/// Takes `metadata.managedFields` away.
pub fn without_managed(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// All of it as YAML.
pub fn yaml(object: &Value) -> String {
    let mut writer = Writer { out: String::new(), fold: usize::MAX, folded: 0 };
    writer.top(object);
    writer.out
}

/// YAML for a page.
pub fn yaml_lines(object: &Value) -> FoldedLines {
    let mut writer = Writer { out: String::new(), fold: FOLD, folded: 0 };
    writer.top(object);
    bounded(&writer.out, writer.folded)
}

/// JSON for a page.
pub fn json_lines(object: &Value) -> FoldedLines {
    let mut object = object.clone();
    let mut folded = 0;
    fold(&mut object, &mut folded);
    let text = serde_json::to_string_pretty(&object).unwrap_or_default();
    bounded(&text, folded)
}

fn bounded(text: &str, mut folded: u64) -> FoldedLines {
    let mut all = text.lines();
    let lines: Vec<String> = all.by_ref().take(MOST_LINES).map(str::to_owned).collect();
    folded += u64::try_from(all.count()).unwrap_or(0);
    FoldedLines { lines, folded }
}

fn fold(value: &mut Value, folded: &mut u64) {
    match value {
        Value::String(text) if text.len() > FOLD => {
            *folded += 1;
            *text = folded_note(text);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fold(item, folded)),
        Value::Object(members) => members.values_mut().for_each(|member| fold(member, folded)),
        _ => {}
    }
}

fn folded_note(text: &str) -> String {
    let start: String = text.chars().take(120).collect();
    format!("{start}… ({} in all)", web::text::size(text.len()))
}

struct Writer {
    out: String,
    fold: usize,
    folded: u64,
}

impl Writer {
    fn top(&mut self, value: &Value) {
        match value {
            Value::Object(members) if !members.is_empty() => self.members(members, 0),
            Value::Array(items) if !items.is_empty() => self.items(items, 0),
            other => {
                self.scalar(other, 0);
                self.out.push('\n');
            }
        }
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }

    fn members(&mut self, members: &serde_json::Map<String, Value>, depth: usize) {
        for (n, (name, value)) in members.iter().enumerate() {
            if n > 0 || !self.out.ends_with("- ") {
                self.indent(depth);
            }
            self.text(name, None);
            self.out.push(':');
            self.below(value, depth);
        }
    }

    /// What follows `name:`. Lists stand at the depth of their name, as kubectl writes them.
    fn below(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                self.out.push('\n');
                self.members(members, depth + 1);
            }
            Value::Array(items) if !items.is_empty() => {
                self.out.push('\n');
                self.items(items, depth);
            }
            other => {
                self.out.push(' ');
                self.scalar(other, depth + 1);
                self.out.push('\n');
            }
        }
    }

    fn items(&mut self, items: &[Value], depth: usize) {
        for item in items {
            self.indent(depth);
            self.out.push_str("- ");
            match item {
                Value::Object(members) if !members.is_empty() => self.members(members, depth + 1),
                Value::Array(inner) if !inner.is_empty() => {
                    // A list in a list begins on a line of its own.
                    self.out.truncate(self.out.len() - 1);
                    self.out.push('\n');
                    self.items(inner, depth + 1);
                }
                other => {
                    self.scalar(other, depth + 1);
                    self.out.push('\n');
                }
            }
        }
    }

    fn scalar(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) if text.len() > self.fold => {
                self.folded += 1;
                let words = folded_note(text);
                self.text(&words, None);
            }
            Value::String(text) => self.text(text, Some(depth)),
            Value::Array(_) => self.out.push_str("[]"),
            Value::Object(_) => self.out.push_str("{}"),
            other => self.out.push_str(&other.to_string()),
        }
    }

    /// Plain where that is surely text, a block where it has lines, else in double quotes, which JSON's escapes fit.
    fn text(&mut self, text: &str, block: Option<usize>) {
        if is_plain(text) {
            self.out.push_str(text);
        } else if let Some(depth) = block.filter(|_| fits_block(text)) {
            let body = text.trim_end_matches('\n');
            self.out.push_str(match text.len() - body.len() {
                0 => "|-",
                1 => "|",
                _ => "|+",
            });
            for line in
                body.split('\n').chain(std::iter::repeat_n("", (text.len() - body.len()).saturating_sub(1)))
            {
                self.out.push('\n');
                if !line.is_empty() {
                    self.indent(depth);
                    self.out.push_str(line);
                }
            }
        } else {
            self.out.push_str(&Value::from(text).to_string());
        }
    }
}

/// Whether a text of several lines can be written as a block scalar without being read differently.
fn fits_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.trim_end_matches('\n').lines().all(|line| !line.ends_with([' ', '\t']))
        && text.chars().all(|c| c == '\n' || c == '\t' || !(c.is_control() || web::text::steers(c)))
        && !text.trim_end_matches('\n').is_empty()
}

/// Whether a text is safe as a plain scalar: no word or number that YAML 1.1 or 1.2 reads as another type.
fn is_plain(text: &str) -> bool {
    let inner = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '_' | '.' | '/' | '@' | '+' | '=' | ',' | ' ' | '(' | ')' | ':')
    };
    let Some(first) = text.chars().next() else { return false };
    if !(first.is_ascii_alphabetic() || matches!(first, '/' | '_')) || !text.chars().all(inner) {
        return false;
    }
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    !text.contains(": ")
        && !text.ends_with([' ', ':'])
        && !words.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writes_what_kubectl_writes() {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "annotations": { "a/b": "true", "n": "12", "empty": "" }, "name": "etcd-0" },
            "spec": { "containers": [{ "args": ["-c", "echo a\necho b\n"], "name": "etcd", "ports": [] }], "nodeName": null, "x": {} },
            "status": { "phase": "Running", "at": "2026-11-21T03:12:00Z", "nested": [[1, 2.5], ["a"]] },
        });
        let expected = "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    a/b: \"true\"\n    empty: \"\"\n    \"n\": \"12\"\n  name: etcd-0\nspec:\n  containers:\n  - args:\n    - \"-c\"\n    - |\n      echo a\n      echo b\n    name: etcd\n    ports: []\n  nodeName: null\n  x: {}\nstatus:\n  at: \"2026-11-21T03:12:00Z\"\n  nested:\n  -\n    - 1\n    - 2.5\n  -\n    - a\n  phase: Running\n";
        assert_eq!(yaml(&object), expected);
    }

    #[test]
    fn every_text_comes_back_as_it_was() {
        let texts = [
            "",
            " ",
            "a",
            "yes",
            "No",
            "~",
            "null",
            "1e3",
            "0x1f",
            "- a",
            "a: b",
            "a:",
            "#c",
            "a #b",
            "[x]",
            "{x}",
            "*a",
            "&a",
            "!x",
            "a\nb",
            "a\n",
            "a\n\n",
            "\na",
            " a\nb",
            "a \nb",
            "a\tb\n",
            "\u{202e}x\ny",
            "\u{0}",
            "\u{1b}[31m",
            "größe",
            "%x",
            "@x",
            "2026-11-21",
            "12:30",
            "'",
            "\"",
            "\\",
            "a\r\nb",
            "---",
            "...",
            "=",
            "<<",
            ".inf",
            "key: |\n  x",
            "\n\n",
            "a\n\n\nb\n\n\n",
        ];
        for text in texts {
            let object = json!({ "a": { text: [text, { "b": text }] } });
            let read: Value = serde_saphyr::from_str(&yaml(&object))
                .unwrap_or_else(|e| panic!("{text:?}: {e}\n{}", yaml(&object)));
            assert_eq!(read, object, "{text:?}\n{}", yaml(&object));
        }
    }

    #[test]
    fn long_values_are_folded_in_pages_only() {
        let object = json!({ "metadata": { "annotations": { "big": "x".repeat(1_048_576) } } });
        let shown = yaml_lines(&object);
        assert_eq!(shown.folded, 1);
        assert!(shown.lines.iter().all(|line| line.len() < 300), "{:?}", shown.lines);
        assert!(shown.lines.iter().any(|line| line.contains("1.0 MiB in all")));
        assert_eq!(json_lines(&object).folded, 1);
        assert!(yaml(&object).len() > 1_048_576);
        let many = json!((0..30_000).collect::<Vec<_>>());
        assert_eq!(yaml_lines(&many).lines.len(), MOST_LINES);
        assert_eq!(yaml_lines(&many).folded, 10_000);
    }
}
