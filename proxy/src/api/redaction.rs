//! Answers of whose text credentials are withheld from who may only read: config maps (decision 18).
//!
//! An answer is searched as JSON that is not packed, so the cluster is asked for that. What comes in another form is not
//! passed on.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use rp_access::credentials::{self, Redactor};
use rp_documents::Rights;

use super::error::ProxyError;
use super::request::Classified;

/// What is done about credentials in the text of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// The objects hold none, or nobody reads them with this request.
    None,
    /// The reader may see them. Reading then rests on these rights.
    Shown(Rights),
    /// They are withheld.
    Withheld,
}

impl Search {
    /// The rights on which a request rests that needs these. What is shown now is not shown on when the rights fall.
    pub(super) fn needed(self, needed: Rights) -> Rights {
        match self {
            Self::Shown(rights) => needed.max(rights),
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
        Search::Shown(Rights::Write)
    } else {
        Search::Withheld
    }
}

/// Asks for an answer that can be searched: JSON, whole and not packed.
pub(super) fn ask(headers: &mut HeaderMap) {
    const JSON: &str = "application/json";
    let is_json =
        |part: &&str| part.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON));
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let parts: Vec<&str> = accepted.flat_map(|value| value.split(',')).filter(is_json).collect();
    let json = HeaderValue::from_str(&parts.join(",")).ok().filter(|_| !parts.is_empty());
    headers.insert(header::ACCEPT, json.unwrap_or(HeaderValue::from_static(JSON)));
    headers.remove(header::ACCEPT_ENCODING);
    headers.remove(header::RANGE);
}

/// What searches an answer; `None` for one that has nothing to be searched.
pub(super) fn redactor(
    method: &Method,
    status: StatusCode,
    headers: &mut HeaderMap,
) -> Result<Option<Box<Redactor>>, ProxyError> {
    // A refusal is the API server's own sentence.
    if !status.is_success() || *method == Method::HEAD {
        return Ok(None);
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json =
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if status != StatusCode::OK || !is_json || headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ProxyError::Unsearchable);
    }
    headers.remove(header::CONTENT_LENGTH);
    Ok(Some(Box::default()))
}

#[cfg(test)]
mod tests {
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
            assert_eq!(of(Method::GET, path, Rights::Write), Search::Shown(Rights::Write), "{path}");
            assert_eq!(of(Method::GET, path, Rights::Admin), Search::Shown(Rights::Write), "{path}");
        }
        assert_eq!(of(Method::GET, "/api/v1/pods", Rights::Read), Search::None);
        assert_eq!(of(Method::PUT, "/api/v1/namespaces/a/configmaps/b", Rights::Write), Search::None);
    }

    #[test]
    fn the_cluster_is_asked_for_json_and_nothing_else_passes() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for (asked, sent) in [
            ("application/json", "application/json"),
            ("application/vnd.kubernetes.protobuf, application/json", "application/json"),
            ("application/vnd.kubernetes.protobuf", "application/json"),
            ("*/*", "application/json"),
            ("application/yaml, Application/JSON;q=0.5", "Application/JSON;q=0.5"),
            (table, table),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(asked));
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
        let length = (header::CONTENT_LENGTH, "5");
        assert_eq!(answer(200, &[json.clone(), length]).unwrap(), (true, 1), "the length changes");
        assert_eq!(answer(404, &[kind("text/plain")]).unwrap(), (false, 1));
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
}
