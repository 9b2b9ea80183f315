//! Request paths and queries as the API server reads them.

use hyper::Method;
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use super::status::Failure;

/// A parsed request path.
#[derive(Debug)]
pub(super) enum RequestPath {
    Resource(Resource),
    Other(String),
}

/// A parsed resource path.
#[derive(Debug, Clone, Default)]
pub(super) struct Resource {
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    pub plural: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// `/watch/…`, the old form.
    pub watch: bool,
}

impl RequestPath {
    /// Reads `/api/v1/…` and `/apis/{group}/{version}/…`; everything else is another path.
    pub(super) fn parse(path: &str) -> Result<Self, Failure> {
        if path.len() > 8192 {
            return Err(Failure::bad("the path is too long"));
        }
        let other = || Ok(Self::Other(path.trim_end_matches('/').to_owned()));
        let mut parts = Vec::new();
        for part in path.trim_matches('/').split('/') {
            let decoded = percent_decode_str(part).decode_utf8();
            parts.push(decoded.map_err(|_| Failure::bad("the path is not UTF-8"))?.into_owned());
        }
        if path == "/" {
            return Ok(Self::Other("/".to_owned()));
        }
        let (group, version, rest) = match parts.split_first() {
            Some((root, rest)) if root == "api" && rest.len() > 1 => ("", &rest[0], &rest[1..]),
            Some((root, rest)) if root == "apis" && rest.len() > 2 => {
                (rest[0].as_str(), &rest[1], &rest[2..])
            }
            _ => return other(),
        };
        let mut at = Resource { group: group.to_owned(), version: version.clone(), ..Resource::default() };
        let mut rest = rest;
        if rest.first().is_some_and(|part| part == "watch") {
            at.watch = true;
            rest = &rest[1..];
        }
        // `namespaces/NAME` is a namespace; `namespaces/NAME/pods` is pods in it.
        if rest.len() > 2 && rest[0] == "namespaces" && !matches!(rest[2].as_str(), "status" | "finalize") {
            at.namespace = Some(rest[1].clone());
            rest = &rest[2..];
        }
        let mut rest = rest.iter();
        at.plural = rest.next().cloned().unwrap_or_default();
        at.name = rest.next().cloned();
        at.subresource = rest.next().cloned();
        if at.plural.is_empty() || rest.next().is_some() && at.subresource.as_deref() != Some("proxy") {
            return Err(Failure::no_path());
        }
        Ok(Self::Resource(at))
    }
}

impl Resource {
    /// The Kubernetes verb of a request.
    pub(super) fn verb(&self, method: &Method, query: &QueryParameters) -> &'static str {
        match *method {
            Method::GET | Method::HEAD => {
                if self.watch || self.name.is_none() && query.flag("watch") {
                    "watch"
                } else if self.name.is_some() {
                    "get"
                } else {
                    "list"
                }
            }
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if self.name.is_some() => "delete",
            Method::DELETE => "deletecollection",
            _ => "unknown",
        }
    }

    /// `pods/exec`.
    pub(super) fn full(&self) -> String {
        match &self.subresource {
            Some(sub) => format!("{}/{sub}", self.plural),
            None => self.plural.clone(),
        }
    }
}

/// A query.
#[derive(Debug, Default)]
pub(super) struct QueryParameters(Vec<(String, String)>);

impl QueryParameters {
    /// Reads a query of at most 16 KiB and 256 parameters.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().take(257).collect();
        if text.len() > 16 * 1024 || pairs.len() > 256 {
            return Err(Failure::bad("the query is too long"));
        }
        Ok(Self(pairs))
    }

    /// The first value of a parameter; empty is absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
            .filter(|v| !v.is_empty())
    }

    /// Every value of a parameter.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Whether a boolean parameter is set: `?watch`, `?watch=1`, `?watch=true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.iter().any(|(found, value)| found == name && !matches!(value.as_str(), "0" | "false"))
    }

    /// A number that is not negative.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let read = |text: &str| text.parse().map_err(|_| Failure::bad(format!("{name} is not a number")));
        self.get(name).map(read).transpose()
    }
}
