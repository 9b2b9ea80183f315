//! The committed answers of one cluster (`fixture/make.mjs`).

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// An API server compresses answers that are larger (`k8s.io/apiserver`).
const COMPRESSED: usize = 128 * 1024;

/// One answer, ready to be sent.
#[derive(Debug)]
pub(crate) struct CannedResponse {
    pub(crate) plain: Bytes,
    /// As an API server's fastest level compresses it.
    pub(crate) gzip: Option<Bytes>,
    /// Of a list: what stands before the items, the items, what stands behind them.
    pub(crate) list: Option<(Bytes, Vec<Bytes>, Bytes)>,
}

/// Everything that the cluster answers.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) answers: HashMap<String, CannedResponse>,
    /// Alertmanager's.
    pub(crate) alerts: Bytes,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    alerts: &'a RawValue,
    #[serde(borrow)]
    answers: HashMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
    kind: String,
    api_version: String,
}

impl Fixture {
    /// The file beside this program's sources.
    pub(crate) fn read() -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixture/cluster.json.gz");
        let output = Command::new("gzip").arg("-dc").arg(&path).output().context("gzip")?;
        ensure!(output.status.success(), "{} cannot be unpacked", path.display());
        let text = String::from_utf8(output.stdout)?;
        let file: File<'_> = serde_json::from_str(&text)?;
        let answers =
            file.answers.into_iter().map(|(path, answer)| Ok((path, CannedResponse::new(answer.get())?)));
        Ok(Self {
            answers: answers.collect::<Result<_>>()?,
            alerts: Bytes::copy_from_slice(file.alerts.get().as_bytes()),
        })
    }
}

impl CannedResponse {
    fn new(text: &str) -> Result<Self> {
        let list: Option<List<'_>> = serde_json::from_str(text).ok();
        let Some(list) = list else { return Self::whole(text.to_owned(), None) };
        let head = format!(
            "{{\"kind\":{:?},\"apiVersion\":{:?},\"metadata\":{{\"resourceVersion\":\"81234567\"",
            list.kind, list.api_version
        );
        let items: Vec<Bytes> =
            list.items.iter().map(|item| Bytes::copy_from_slice(item.get().as_bytes())).collect();
        let mut all = format!("{head}}},\"items\":[");
        for (at, item) in list.items.iter().enumerate() {
            all.push_str(if at == 0 { "" } else { "," });
            all.push_str(item.get());
        }
        all.push_str("]}\n");
        Self::whole(all, Some((Bytes::from(head), items, Bytes::from_static(b"]}\n"))))
    }

    fn whole(text: String, list: Option<(Bytes, Vec<Bytes>, Bytes)>) -> Result<Self> {
        let gzip = if text.len() > COMPRESSED { Some(compressed(text.as_bytes())?) } else { None };
        Ok(Self { plain: Bytes::from(text), gzip, list })
    }

    /// A page of a list: items from `from`, at most `limit`; the whole where that is all.
    pub(crate) fn page(&self, from: usize, limit: usize) -> Option<Bytes> {
        let (head, items, tail) = self.list.as_ref()?;
        if from == 0 && limit >= items.len() {
            return None;
        }
        let page = items.get(from..)?;
        let page = page.get(..limit.min(page.len()))?;
        let mut all = head.to_vec();
        let next = from + page.len();
        if next < items.len() {
            let left = items.len() - next;
            all.extend(format!(",\"continue\":\"{next}\",\"remainingItemCount\":{left}").bytes());
        }
        all.extend(b"},\"items\":[");
        for (at, item) in page.iter().enumerate() {
            all.extend(if at == 0 { &b""[..] } else { b"," });
            all.extend(item);
        }
        all.extend(tail);
        Some(Bytes::from(all))
    }
}

fn compressed(text: &[u8]) -> Result<Bytes> {
    let mut gzip =
        Command::new("gzip").args(["-1", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = gzip.stdin.take().context("standard input")?;
    let text = text.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&text));
    let output = gzip.wait_with_output()?;
    writer.join().map_err(|_| anyhow::anyhow!("gzip's input"))??;
    ensure!(output.status.success(), "gzip failed");
    Ok(Bytes::from(output.stdout))
}
