//! Answers of whose text credentials are withheld from who may only read: config maps (decision 18).
//!
//! An answer is searched as JSON that is not packed, so the cluster is asked for that. What comes in another form is not
//! passed on.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use rp_access::credentials::{self, Redactor};
use rp_documents::Rights;
use tokio::task::JoinHandle;

use super::body_error::BodyError;
use super::error::ProxyError;
use super::request::Classified;

/// What is done about credentials in the text of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// The objects hold none, or nobody reads them with this request.
    None,
    /// The reader may see them. Reading then rests on these rights.
    Visible(Rights),
    /// They are withheld.
    Withheld,
}

impl Search {
    /// The rights on which a request rests that needs these. What is shown now is not shown on when the rights fall.
    pub(super) fn needed(self, needed: Rights) -> Rights {
        match self {
            Self::Visible(rights) => needed.max(rights),
            Self::None | Self::Withheld => needed,
        }
    }
}

/// What is done about the answer of a request, by the rights that the grant has now.
pub(super) fn search(request: &Classified, held: Rights) -> Search {
    if !credentials::may_be_held_by(&request.group, &request.resource)
        || !matches!(request.verb, "get" | "list" | "watch")
    {
        Search::None
    } else if held > Rights::Read {
        Search::Visible(Rights::Write)
    } else {
        Search::Withheld
    }
}

const JSON: &str = "application/json";
/// Media types of a request that are looked at. Clients name three.
const MOST_TYPES: usize = 16;

/// Asks for an answer that can be searched: JSON, whole and not packed. Each media type of the client becomes JSON and
/// keeps its parameters and its turn, so that a client that asks for a table or for metadata only gets no more than that.
pub(super) fn ask(headers: &mut HeaderMap) {
    let mut asked: Vec<String> = Vec::new();
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for part in accepted.flat_map(|value| value.split(',')).take(MOST_TYPES) {
        let (kind, parameters) = part.split_at(part.find(';').unwrap_or(part.len()));
        let part = format!("{JSON}{}", parameters.trim_end());
        if !kind.trim().is_empty() && !asked.contains(&part) {
            asked.push(part);
        }
    }
    let json = HeaderValue::from_str(&asked.join(",")).ok().filter(|_| !asked.is_empty());
    headers.insert(header::ACCEPT, json.unwrap_or(HeaderValue::from_static(JSON)));
    headers.remove(header::ACCEPT_ENCODING);
    headers.remove(header::RANGE);
}

/// What searches an answer; `None` for one that has nothing to be searched.
pub(super) fn redactor(
    method: &Method,
    status: StatusCode,
    headers: &mut HeaderMap,
) -> Result<Option<Box<AnswerRedactor>>, ProxyError> {
    if *method == Method::HEAD {
        return Ok(None);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON));
    let searchable = is_json && !headers.contains_key(header::CONTENT_ENCODING);
    if !status.is_success() && !searchable {
        // A refusal is the API server's own sentence, or a sentence of something before it.
        return Ok(None);
    }
    if !searchable || status.is_success() && status != StatusCode::OK {
        return Err(ProxyError::Unsearchable);
    }
    headers.remove(header::CONTENT_LENGTH);
    Ok(Some(Box::default()))
}

/// Searches the pieces of an answer. Long strings are searched by a thread for blocking work, for the other requests of
/// the worker must not wait for that; the next piece is read when it is done.
#[derive(Debug)]
pub(super) enum AnswerRedactor {
    Idle(Redactor),
    Running(JoinHandle<(Redactor, Vec<u8>)>),
    /// The thread failed. Nothing passes any more.
    Failed,
}

impl Default for AnswerRedactor {
    fn default() -> Self {
        Self::Idle(Redactor::default())
    }
}

impl AnswerRedactor {
    /// Takes the next piece, and gives what may pass of it. What takes longer is given by
    /// [`AnswerRedactor::poll_running`], which must have given `None` before.
    pub(super) fn take(&mut self, piece: Bytes) -> Option<Bytes> {
        let Self::Idle(redactor) = self else { return None };
        let mut out = Vec::with_capacity(piece.len());
        if !redactor.takes_long(&piece) {
            redactor.pass(&piece, &mut out);
            return (!out.is_empty()).then(|| out.into());
        }
        let mut redactor = std::mem::take(redactor);
        *self = Self::Running(tokio::task::spawn_blocking(move || {
            redactor.pass(&piece, &mut out);
            (redactor, out)
        }));
        None
    }

    /// What may pass of a piece that took longer; `None`: there is none.
    pub(super) fn poll_running(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Self::Running(running) = self else { return Poll::Ready(None) };
        let Poll::Ready(done) = Pin::new(running).poll(cx) else { return Poll::Pending };
        match done {
            Ok((redactor, out)) => {
                *self = Self::Idle(redactor);
                Poll::Ready((!out.is_empty()).then(|| Ok(out.into())))
            }
            Err(error) => {
                *self = Self::Failed;
                Poll::Ready(Some(Err(BodyError::Unsearched(error))))
            }
        }
    }

    /// Whether a piece is searched, so that there may be more to come.
    pub(super) const fn is_running(&self) -> bool {
        matches!(self, Self::Running(_))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::super::request::classify;
    use super::*;

    #[test]
    fn who_may_only_read_gets_config_maps_without_credentials() {
        let of = |method, path, held| search(&classify(&method, path, None), held);
        for path in [
            "/api/v1/configmaps",
            "/api/v1/namespaces/a/configmaps/b",
            "/api/v1/watch/configmaps",
            "/api/v1/namespaces/a/%63onfigmaps",
            "/api/v2/namespaces/a/configmaps",
        ] {
            assert_eq!(of(Method::GET, path, Rights::Read), Search::Withheld, "{path}");
            assert_eq!(of(Method::GET, path, Rights::Write), Search::Visible(Rights::Write), "{path}");
            assert_eq!(of(Method::GET, path, Rights::Admin), Search::Visible(Rights::Write), "{path}");
        }
        assert_eq!(of(Method::GET, "/api/v1/pods", Rights::Read), Search::None);
        assert_eq!(of(Method::PUT, "/api/v1/namespaces/a/configmaps/b", Rights::Write), Search::None);
    }

    #[test]
    fn the_cluster_is_asked_for_json_and_nothing_else_passes() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let metadata = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
        for (asked, sent) in [
            ("application/json".to_owned(), "application/json".to_owned()),
            (
                "application/vnd.kubernetes.protobuf, application/json".to_owned(),
                "application/json".to_owned(),
            ),
            ("application/vnd.kubernetes.protobuf".to_owned(), "application/json".to_owned()),
            ("*/*".to_owned(), "application/json".to_owned()),
            (",".to_owned(), "application/json".to_owned()),
            (
                "application/yaml, Application/JSON;q=0.5".to_owned(),
                "application/json,application/json;q=0.5".to_owned(),
            ),
            (table.to_owned(), table.to_owned()),
            (
                format!("application/vnd.kubernetes.protobuf;{metadata}"),
                format!("application/json;{metadata}"),
            ),
            // As clients of metadata ask.
            (
                format!(
                    "application/vnd.kubernetes.protobuf;{metadata}, application/json;{metadata},application/json"
                ),
                format!("application/json;{metadata},application/json"),
            ),
            // What is asked for first stays first.
            (
                format!("application/yaml, {table} , */*;q=0.1"),
                format!("application/json,{table},application/json;q=0.1"),
            ),
            ("a/b,".repeat(100), "application/json".to_owned()),
            (
                (0..100).map(|n| format!("a/b;q={n},")).collect(),
                (0..16).map(|n| format!("application/json;q={n}")).collect::<Vec<_>>().join(","),
            ),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_str(&asked).unwrap());
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=100-"));
            ask(&mut headers);
            assert_eq!(headers.len(), 1);
            assert_eq!(headers[header::ACCEPT].to_str().unwrap().trim(), sent, "{asked}");
        }
        let answer = |status: u16, pairs: &[(header::HeaderName, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(name.clone(), HeaderValue::from_static(value));
            }
            let status = StatusCode::from_u16(status).unwrap();
            redactor(&Method::GET, status, &mut headers).map(|found| (found.is_some(), headers.len()))
        };
        let kind = |kind| (header::CONTENT_TYPE, kind);
        let json = kind("application/json;stream=watch");
        let length = || (header::CONTENT_LENGTH, "5");
        assert_eq!(answer(200, &[json.clone(), length()]).unwrap(), (true, 1), "the length changes");
        assert_eq!(answer(404, &[kind("text/plain")]).unwrap(), (false, 1));
        assert_eq!(answer(410, &[json.clone(), length()]).unwrap(), (true, 1), "a Status is searched, too");
        for (status, pairs) in [
            (200, vec![]),
            (200, vec![kind("application/vnd.kubernetes.protobuf")]),
            (200, vec![kind("application/yaml")]),
            (206, vec![json.clone()]),
            (200, vec![json, (header::CONTENT_ENCODING, "gzip")]),
        ] {
            assert!(matches!(answer(status, &pairs), Err(ProxyError::Unsearchable)), "{status} {pairs:?}");
        }
    }

    #[tokio::test]
    async fn a_long_string_is_searched_on_another_thread_and_passes_in_its_turn() {
        let mut redactor = AnswerRedactor::default();
        let piece = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let long = format!("\"{}\",", "a long value ".repeat(10_000));
        assert_eq!(redactor.take(piece("[\"short\",")), Some(piece("[\"short\",")));
        assert!(poll_fn(|cx| redactor.poll_running(cx)).await.is_none());
        assert_eq!(redactor.take(piece(&long)), None);
        assert!(redactor.is_running());
        let passed = poll_fn(|cx| redactor.poll_running(cx)).await.unwrap().unwrap();
        assert_eq!(passed, piece(&long));
        assert!(!redactor.is_running());
        assert_eq!(redactor.take(piece("1]")), Some(piece("1]")));
        let held = format!("\"{}-----BEGIN PRIVATE KEY-----\"", "a long value ".repeat(10_000));
        assert_eq!(redactor.take(piece(&held)), None);
        let passed = poll_fn(|cx| redactor.poll_running(cx)).await.unwrap().unwrap();
        assert!(passed.len() < 100 && passed.starts_with(b"\"[withheld"), "{passed:?}");
    }
}
