//! What a request means to a Kubernetes API server, decided on the path as the server decodes it.
//!
//! The bytes go on unchanged; only the decision is made on the decoded form. Whatever could be read in
//! two ways (empty and dot segments, encoded slashes, invalid UTF-8) is `Odd` and needs admin rights.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;

/// A request, classified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Classified {
    pub verb: &'static str,
    /// API group; empty for core.
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    /// Not below `/api/v…` or `/apis/{group}/{version}`.
    pub non_resource: Option<String>,
    /// Could be read in two ways.
    pub odd: bool,
    pub watch: bool,
    pub follow: bool,
    /// Every `command` of the query.
    pub command: Vec<String>,
    /// The query without `command`.
    pub query: String,
}

/// Reads method, path (starting with `/`) and query.
pub fn classify(method: &Method, path: &str, query: Option<&str>) -> Classified {
    let mut found = Classified::default();
    read_query(&mut found, query.unwrap_or_default());
    let decoded: Cow<'_, str> = match percent_decode_str(path).decode_utf8() {
        Ok(decoded) => decoded,
        Err(_) => {
            found.odd = true;
            found.verb = method_verb(method, true, false);
            found.non_resource = Some(path.to_owned());
            return found;
        }
    };
    let trimmed = decoded.strip_prefix('/').unwrap_or(&decoded);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    let segments: Vec<&str> = trimmed.split('/').collect();
    let encoded_slash = path.matches('/').count() != decoded.matches('/').count();
    let strange = |segment: &&str| matches!(*segment, "" | "." | "..") || segment.contains(['\\', '\0', ';']);
    found.odd = encoded_slash || (segments.iter().any(strange) && segments != [""]);
    let rest = match segments.as_slice() {
        ["api", _version, rest @ ..] if !rest.is_empty() => rest,
        ["apis", group, _version, rest @ ..] if !rest.is_empty() => {
            (*group).clone_into(&mut found.group);
            rest
        }
        _ => {
            found.verb = method_verb(method, true, false);
            found.non_resource = Some(decoded.into_owned());
            return found;
        }
    };
    read_resource(&mut found, rest);
    let named = !found.name.is_empty();
    // `?watch=true` makes a watch of a GET only: a DELETE that says so still deletes.
    found.watch &= matches!(*method, Method::GET | Method::HEAD);
    found.verb = if found.watch { "watch" } else { method_verb(method, false, named) };
    found
}

/// The rules of the API server's request info: an optional legacy `watch` or `proxy` prefix, an optional
/// namespace, then resource, name, subresource.
fn read_resource(found: &mut Classified, mut rest: &[&str]) {
    if let ["watch", more @ ..] = rest
        && !more.is_empty()
    {
        found.watch = true;
        rest = more;
    }
    let legacy_proxy = matches!(rest, ["proxy", _, ..]);
    if legacy_proxy {
        rest = &rest[1..];
    }
    if let ["namespaces", namespace, more @ ..] = rest {
        (*namespace).clone_into(&mut found.namespace);
        // `namespaces/x`, `namespaces/x/status` and `namespaces/x/finalize` are about the namespace itself.
        match more {
            [] | ["status" | "finalize", ..] => {}
            more => rest = more,
        }
    }
    let mut parts = rest.iter();
    if let Some(resource) = parts.next() {
        (*resource).clone_into(&mut found.resource);
    }
    if let Some(name) = parts.next() {
        (*name).clone_into(&mut found.name);
    }
    if let Some(subresource) = parts.next() {
        (*subresource).clone_into(&mut found.subresource);
    }
    if legacy_proxy {
        // Long gone from API servers; whoever asks for it wants to pass through.
        "proxy".clone_into(&mut found.subresource);
    }
}

const fn method_verb(method: &Method, non_resource: bool, named: bool) -> &'static str {
    match *method {
        Method::GET | Method::HEAD => {
            if non_resource || named {
                "get"
            } else {
                "list"
            }
        }
        Method::POST => {
            if non_resource {
                "post"
            } else {
                "create"
            }
        }
        Method::PUT => {
            if non_resource {
                "put"
            } else {
                "update"
            }
        }
        Method::PATCH => "patch",
        Method::DELETE => {
            if non_resource || named {
                "delete"
            } else {
                "deletecollection"
            }
        }
        _ => "other",
    }
}

fn read_query(found: &mut Classified, query: &str) {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = unescape(key);
        match &*key {
            "command" => {
                if found.command.len() < 256 {
                    found.command.push(rp_base::text::clean(&unescape(value), 4096));
                }
                continue;
            }
            "watch" => found.watch |= truth(value),
            "follow" => found.follow |= truth(value),
            _ => {}
        }
        if found.query.len() + pair.len() < 4096 {
            if !found.query.is_empty() {
                found.query.push('&');
            }
            found.query.push_str(&rp_base::text::clean(pair, 2048));
        }
    }
}

/// The API server reads a boolean leniently: present and neither `0` nor `false` is true.
fn truth(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}

fn unescape(text: &str) -> Cow<'_, str> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
    } else {
        percent_decode_str(text).decode_utf8_lossy()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn get(path: &str) -> Classified {
        classify(&Method::GET, path, None)
    }

    #[test]
    fn reads_resources_as_the_api_server_does() {
        let found = get("/api/v1/namespaces/openshift-etcd/pods/Etcd-0/log");
        assert_eq!(
            (found.verb, &*found.namespace, &*found.resource, &*found.name, &*found.subresource),
            ("get", "openshift-etcd", "pods", "Etcd-0", "log")
        );
        assert_eq!(get("/api/v1/pods").verb, "list");
        assert_eq!(get("/api/v1/watch/pods").verb, "watch");
        assert_eq!(classify(&Method::GET, "/api/v1/pods", Some("watch=1")).verb, "watch");
        assert_eq!(classify(&Method::GET, "/api/v1/pods", Some("w%61tch=true")).verb, "watch");
        assert_eq!(classify(&Method::DELETE, "/api/v1/namespaces/a/pods", None).verb, "deletecollection");
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            for path in ["/api/v1/namespaces/a/pods/b", "/api/v1/watch/namespaces/a/pods"] {
                let found = classify(&method, path, Some("watch=true"));
                assert!(!found.watch && found.verb != "watch", "{method} {path} is no watch");
            }
        }
        for (value, watches) in [("f", true), ("", true), ("FALSE", false), ("0", false)] {
            let found = classify(&Method::GET, "/api/v1/pods", Some(&format!("watch={value}")));
            assert_eq!(found.watch, watches, "{value}");
        }
        let namespace = get("/api/v1/namespaces/a");
        assert_eq!((&*namespace.resource, &*namespace.name), ("namespaces", "a"));
        let status = classify(&Method::PUT, "/api/v1/namespaces/a/finalize", None);
        assert_eq!((&*status.resource, &*status.subresource), ("namespaces", "finalize"));
        let crd = get("/apis/config.openshift.io/v1/clusteroperators/etcd");
        assert_eq!(
            (&*crd.group, &*crd.resource, &*crd.name),
            ("config.openshift.io", "clusteroperators", "etcd")
        );
        assert_eq!(get("/version").non_resource.as_deref(), Some("/version"));
        assert_eq!(get("/apis/apps/v1").non_resource.as_deref(), Some("/apis/apps/v1"));
    }

    #[test]
    fn decides_on_the_decoded_path() {
        let found = get("/api/v1/namespaces/a/pods/b%2Fexec");
        assert!(found.odd);
        assert_eq!(get("/api/v1/namespaces/a/pods/b/%65xec").subresource, "exec");
        assert_eq!(get("/api/v1/namespaces/a/%73ecrets").resource, "secrets");
        assert!(get("/api/v1/namespaces/a/../../secrets").odd);
        assert!(get("/api/v1//secrets").odd);
        assert!(get("/api/v1/namespaces/a/pods/%ff").odd);
        assert!(!get("/apis/apps/v1/").odd);
        assert!(!get("/").odd);
    }

    #[test]
    fn keeps_every_command_and_the_rest_of_the_query() {
        let found = classify(
            &Method::POST,
            "/api/v1/namespaces/a/pods/b/exec",
            Some("command=sh&command=-c&command=echo+a%0Ab&stdin=true"),
        );
        assert_eq!(found.command, ["sh", "-c", "echo ab"]);
        assert_eq!(found.query, "stdin=true");
    }

    proptest! {
        #[test]
        fn never_panics(path in "\\PC{0,200}", query in "\\PC{0,200}") {
            let _ = classify(&Method::GET, &path, Some(&query));
        }
    }
}
