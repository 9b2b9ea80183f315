//! Wire format of lists and watches: pages, and lines of changes.

use bytes::{Buf as _, BytesMut};
use http::header::ACCEPT;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Limited};
use rp_base::text::clean;
use rp_kube::{KubeBody, KubeClient};
use rp_openshift::WholeText;
use rp_openshift::lenient::object;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::kinds::Kind;
use crate::watch_error::WatchError;

/// Longest line of a watch, bytes: an object is at most 1.5 MiB in etcd, and JSON is wider than protobuf.
const MOST_LINE: usize = 8 * 1024 * 1024;
/// Maximum size of an error body that is read.
const MOST_REFUSAL: usize = 64 * 1024;

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) version: String,
    pub(crate) more: Option<String>,
    /// Number of items on the page.
    pub(crate) items: usize,
}

#[derive(Deserialize)]
struct WireList<'a> {
    #[serde(default)]
    metadata: WireMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
struct WireMeta {
    #[serde(default, rename = "resourceVersion")]
    version: Option<String>,
    #[serde(default, rename = "continue")]
    more: Option<String>,
}

/// Requests a page and passes every object to `each`. Objects are decoded one at a time and not kept.
pub(crate) async fn page<T: DeserializeOwned>(
    client: &KubeClient,
    kind: Kind,
    limit: usize,
    more: Option<&str>,
    mut each: impl FnMut(&T),
) -> Result<Page, WatchError> {
    let mut pairs = vec![("limit", limit.to_string())];
    pairs.extend(more.map(|more| ("continue", more.to_owned())));
    let answer = send(client, kind, &with_query(kind.path(), &pairs)).await?;
    let body = answer.into_body().collect().await.map_err(|error| WatchError::of_kube(&error))?.to_bytes();
    let list: WireList<'_> =
        serde_json::from_slice(&body).map_err(|_| WatchError::away("The API server's answer is no list."))?;
    let items = list.items.unwrap_or_default();
    for item in &items {
        // An object that cannot be read is skipped: it must not hide the others.
        if let Ok(object) = serde_json::from_str(item.get()) {
            each(&object);
        }
    }
    let more = list.metadata.more.filter(|more| !more.is_empty());
    Ok(Page { version: list.metadata.version.unwrap_or_default(), more, items: items.len() })
}

fn with_query(path: &str, pairs: &[(&str, String)]) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{path}?{query}")
}

/// Sends a GET and returns the response if its status is 200.
pub(crate) async fn send(
    client: &KubeClient,
    kind: Kind,
    path: &str,
) -> Result<Response<KubeBody>, WatchError> {
    let request = Request::get(path).header(ACCEPT, "application/json").body(KubeBody::empty());
    let request = request.map_err(|_| WatchError::away("The request could not be written."))?;
    let answer = client.send(request).await.map_err(|error| WatchError::of_kube(&error))?;
    let status = answer.status().as_u16();
    if status == 200 {
        return Ok(answer);
    }
    let body = Limited::new(answer.into_body(), MOST_REFUSAL).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Err(WatchError::of_status(status, &refusal(&body), kind))
}

fn refusal(body: &[u8]) -> String {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    status["message"].as_str().map(|message| clean(message, 300)).unwrap_or_default()
}

/// One line of a watch. An object that cannot be read is `None`.
#[derive(Debug)]
pub(crate) enum Change<T> {
    Put(Option<T>),
    Gone(Option<T>),
    Bookmark,
}

/// A change, and the resource version from which a watch goes on after it.
#[derive(Debug)]
pub(crate) struct Line<T> {
    pub(crate) change: Change<T>,
    pub(crate) version: Option<String>,
    /// Of the object that changed.
    pub(crate) namespace: WholeText,
    /// Of the object that changed.
    pub(crate) name: WholeText,
}

/// An open watch.
#[derive(Debug)]
pub(crate) struct Watch {
    body: KubeBody,
    buffer: BytesMut,
    /// Offset at which the search for the end of the line continues.
    searched: usize,
    kind: Kind,
}

impl Watch {
    /// Opens a watch that begins after `version` and that the server ends after `seconds`.
    pub(crate) async fn open(
        client: &KubeClient,
        kind: Kind,
        version: &str,
        seconds: u64,
    ) -> Result<Self, WatchError> {
        let pairs = [
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("resourceVersion", version.to_owned()),
            ("timeoutSeconds", seconds.to_string()),
        ];
        let answer = send(client, kind, &with_query(kind.path(), &pairs)).await?;
        Ok(Self { body: answer.into_body(), buffer: BytesMut::new(), searched: 0, kind })
    }

    /// The next change; `None`: the server ended the watch normally. Cancel-safe: may be dropped and called again.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Line<T>>, WatchError> {
        loop {
            if let Some(line) = self.line() {
                let read = read_line(&line, self.kind)?;
                if read.is_some() {
                    return Ok(read);
                }
                continue;
            }
            if self.buffer.len() > MOST_LINE {
                return Err(WatchError::away("The API server sent a change that is too large."));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| WatchError::of_kube(&error))?;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }

    fn line(&mut self) -> Option<BytesMut> {
        let rest = self.buffer.get(self.searched..)?;
        match memchr::memchr(b'\n', rest) {
            Some(at) => {
                let line = self.buffer.split_to(self.searched + at);
                self.buffer.advance(1);
                self.searched = 0;
                if self.buffer.is_empty() {
                    // Frees the buffer of a large object while the watch is idle.
                    self.buffer = BytesMut::new();
                }
                Some(line)
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(rename = "type", default)]
    kind: &'a str,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
}

/// What every line needs of its object.
#[derive(Deserialize, Default)]
#[serde(default)]
struct WireObject {
    #[serde(deserialize_with = "object")]
    metadata: WireObjectMeta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WireObjectMeta {
    resource_version: WholeText,
    namespace: WholeText,
    name: WholeText,
}

/// Reads a line; `None`: an empty line, or a type that we do not know.
fn read_line<T: DeserializeOwned>(line: &[u8], kind: Kind) -> Result<Option<Line<T>>, WatchError> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let event: WireEvent<'_> = serde_json::from_slice(line)
        .map_err(|_| WatchError::away("The API server sent a change that cannot be read."))?;
    let json = event.object.map_or("null", RawValue::get);
    if event.kind == "ERROR" {
        let object: Value = serde_json::from_str(json).unwrap_or_default();
        let code = object["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
        let message = clean(object["message"].as_str().unwrap_or_default(), 300);
        return Err(WatchError::of_status(code, &message, kind));
    }
    let WireObjectMeta { resource_version, namespace, name } =
        serde_json::from_str::<WireObject>(json).unwrap_or_default().metadata;
    let version = (!resource_version.is_empty()).then(|| resource_version.as_str().to_owned());
    let change = match event.kind {
        "ADDED" | "MODIFIED" => Change::Put(serde_json::from_str(json).ok()),
        "DELETED" => Change::Gone(serde_json::from_str(json).ok()),
        "BOOKMARK" => Change::Bookmark,
        _ => return Ok(None),
    };
    Ok(Some(Line { change, version, namespace, name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whatever_they_hold() {
        let line = br#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}"#;
        let read_line = read_line::<Value>;
        let read = read_line(line, Kind::Nodes).unwrap().unwrap();
        assert!(matches!(read.change, Change::Put(Some(_))));
        assert_eq!((read.namespace.as_str(), read.name.as_str()), ("", "a"));
        assert_eq!(read.version.as_deref(), Some("7"));
        let gone = br#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}"#;
        assert!(matches!(read_line(gone, Kind::Nodes), Err(WatchError::Expired)));
        assert!(read_line(b"  ", Kind::Nodes).unwrap().is_none());
        assert!(read_line(br#"{"type":"LATER","object":{}}"#, Kind::Nodes).unwrap().is_none());
        assert!(matches!(read_line(b"{", Kind::Nodes), Err(WatchError::Away(_))));
        assert!(matches!(read_line(br#"{"type":"ERROR"}"#, Kind::Nodes), Err(WatchError::Away(_))));
    }
}
