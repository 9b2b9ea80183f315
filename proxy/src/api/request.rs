//! What a request means to a Kubernetes API server, decided on the path as the server decodes it.
//!
//! The bytes go on unchanged; only the decision is made on the decoded form. Whatever could be read in
//! two ways (empty and dot segments, encoded slashes, invalid UTF-8) is `Odd` and needs admin rights.

use std::borrow::Cow;

use http::Method;
use percent_encoding::{percent_decode, percent_decode_str};
use rp_audit::Command;
use rp_base::text::visible;

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
    /// What follows the subresource, byte for byte from its slash on, such as the path that a proxied server gets. Of a
    /// request that could be read in two ways, the whole path.
    pub tail: String,
    /// A legacy `/proxy/` prefix stands before the resource.
    pub legacy_proxy: bool,
    /// It is odd, and one of its readings opens a session.
    pub hides_session: bool,
    /// Every `command` of the query.
    pub command: Command,
    /// The query without `command`.
    pub query: String,
}

/// Subresources that leave the API server for something that runs.
pub(super) const SESSION_WORDS: [&str; 4] = ["exec", "attach", "portforward", "proxy"];
/// Bytes of a path that an entry holds.
const MOST_PATH: usize = 4096;
/// Bytes of a query that an entry holds.
const MOST_QUERY: usize = 4096;

/// Whether every `%` of a path begins an escape. Servers refuse others before they answer.
pub(super) fn is_escaped(path: &str) -> bool {
    let mut pieces = path.split('%');
    pieces.next();
    pieces.all(|piece| piece.as_bytes().get(..2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit)))
}

/// Reads method, path (starting with `/`) and query.
pub fn classify(method: &Method, path: &str, query: Option<&str>) -> Classified {
    let mut found = Classified::default();
    read_query(&mut found, query.unwrap_or_default());
    let decoded: Cow<'_, str> = match percent_decode_str(path).decode_utf8() {
        Ok(decoded) => decoded,
        Err(_) => {
            found.odd = true;
            found.hides_session = hides_session(&percent_decode_str(path).decode_utf8_lossy());
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
            found.hides_session = found.odd && hides_session(&decoded);
            found.verb = method_verb(method, true, false);
            found.non_resource = Some(decoded.into_owned());
            return found;
        }
    };
    let asked_to_watch = std::mem::take(&mut found.watch);
    let beyond = read_resource(&mut found, rest);
    found.odd |= [&found.group, &found.resource, &found.subresource].into_iter().any(|name| !is_word(name));
    // An API server knows one spelling of them.
    found.odd |= SESSION_WORDS
        .iter()
        .any(|word| *word != found.subresource && found.subresource.eq_ignore_ascii_case(word));
    if found.odd {
        found.hides_session = hides_session(&decoded);
        found.tail = visible(path.as_bytes(), MOST_PATH);
    } else if found.subresource == "proxy"
        || beyond > 0 && !found.subresource.eq_ignore_ascii_case("webhooks")
    {
        // Webhooks of build configs have their secret there.
        let before = segments.len() - beyond;
        let tail =
            path.match_indices('/').nth(before).map_or("", |(at, _)| path.get(at..).unwrap_or_default());
        found.tail = visible(tail.as_bytes(), MOST_PATH);
    }
    let named = !found.name.is_empty();
    // `?watch=true` makes a watch of a GET of a collection only: a DELETE that says so still deletes, and what is named,
    // a console among it, is not watched.
    found.watch |= asked_to_watch && !named;
    found.watch &= matches!(*method, Method::GET | Method::HEAD);
    found.verb = if found.watch { "watch" } else { method_verb(method, false, named) };
    found
}

/// Whether that can be the name of a group, a resource or a subresource. Metrics of adapters are some, and have `_`, `|`
/// and the like.
fn is_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'%')
}

/// Whether some reading of a path that could be read in two ways has a word that opens a session.
fn hides_session(decoded: &str) -> bool {
    // Once more: a server behind the server may decode what the first one left.
    let twice = percent_decode(decoded.as_bytes()).decode_utf8_lossy();
    twice
        .split(['/', '\\', ';', '\0', ' '])
        .any(|segment| SESSION_WORDS.iter().any(|word| segment.eq_ignore_ascii_case(word)))
}

/// The rules of the API server's request info: an optional legacy `watch` or `proxy` prefix, an optional
/// namespace, then resource, name, subresource. Gives the number of segments that follow them.
fn read_resource(found: &mut Classified, mut rest: &[&str]) -> usize {
    if let ["watch", more @ ..] = rest
        && !more.is_empty()
    {
        found.watch = true;
        rest = more;
    }
    found.legacy_proxy = matches!(rest, ["proxy", _, ..]);
    if found.legacy_proxy {
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
    if found.legacy_proxy {
        // Removed from API servers long ago; a request for it may try to bypass the rules.
        "proxy".clone_into(&mut found.subresource);
    } else if let Some(subresource) = parts.next() {
        (*subresource).clone_into(&mut found.subresource);
    }
    parts.len()
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
    let mut command: Vec<Vec<u8>> = Vec::new();
    let (mut watch, mut follow) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = unescape(key);
        match &*key {
            "command" => {
                command.push(unescape_bytes(value));
                continue;
            }
            // Servers leave out what they cannot decode, and take the first of what is left.
            "watch" if is_decodable(pair) => _ = watch.get_or_insert(truth(&unescape(value))),
            "follow" if is_decodable(pair) => _ = follow.get_or_insert(truth(&unescape(value))),
            _ => {}
        }
        if found.query.len() < MOST_QUERY {
            if !found.query.is_empty() {
                found.query.push('&');
            }
            found.query.push_str(&visible(pair.as_bytes(), MOST_QUERY - found.query.len()));
        } else if !found.query.ends_with(MORE) {
            found.query.push_str(MORE);
        }
    }
    if !command.is_empty() {
        found.command = Command::new(&command);
    }
    (found.watch, found.follow) = (watch.unwrap_or_default(), follow.unwrap_or_default());
}

/// Whether a server of Go takes a pair of a query.
fn is_decodable(pair: &str) -> bool {
    is_escaped(pair) && !pair.contains(';')
}

/// Stands for parameters that were left out.
const MORE: &str = "&[more]";

/// The API server reads a boolean leniently: present and neither `0` nor `false` is true.
fn truth(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}

fn unescape_bytes(text: &str) -> Vec<u8> {
    percent_decode(text.replace('+', " ").as_bytes()).collect()
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
        for (value, watches) in [
            ("f", true),
            ("", true),
            ("FALSE", false),
            ("0", false),
            ("%30", false),
            ("0&watch=1", false),
            ("1&watch=0", true),
            ("%zz", false),
            ("1;x", false),
        ] {
            let found = classify(&Method::GET, "/api/v1/pods", Some(&format!("watch={value}")));
            assert_eq!(found.watch, watches, "{value}");
        }
        for path in ["/api/v1/namespaces/a/pods/b", "/apis/g/v1/namespaces/a/machines/b/console"] {
            let found = classify(&Method::GET, path, Some("watch=true"));
            assert!(!found.watch && found.verb == "get", "{path}: what is named is not watched");
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
        assert!(get("/api/v1/secrets%20").odd && get("/api/v1/%EF%BD%93ecrets").odd);
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
        assert_eq!(found.command.shown, ["sh", "-c", r"echo a\nb"]);
        assert_eq!(found.command.digest, rp_base::sha256(b"sh\0-c\0echo a\nb\0").to_string());
        assert_eq!(found.query, "stdin=true");
    }

    #[test]
    fn what_is_cut_of_a_command_or_a_query_has_a_mark() {
        let many = "command=x&".repeat(300);
        let found = classify(&Method::POST, "/api/v1/namespaces/a/pods/b/exec", Some(&many));
        assert_eq!(found.command.shown.last().unwrap(), "[44 more arguments]");
        let long = format!("a={}&b=1&c=2", "x".repeat(5000));
        let found = classify(&Method::GET, "/api/v1/pods", Some(&long));
        assert!(found.query.ends_with(" more bytes]&[more]"), "{}", &found.query[4000..]);
    }

    #[test]
    fn keeps_what_a_proxied_server_gets() {
        for (path, tail) in [
            ("/api/v1/nodes/n/proxy/run/a/b/c", "/run/a/b/c"),
            ("/api/v1/namespaces/a/services/https:b:8443/proxy/x%20y/", "/x%20y/"),
            ("/api/v1/namespaces/a/pods/b/proxy", ""),
            ("/api/v1/namespaces/a/pods/b/proxy/", "/"),
            ("/api/v1/proxy/nodes/n/run/a", "/run/a"),
            ("/api/v1/proxy/namespaces/a/pods/b/x", "/x"),
            // The port of a machine's port-forward.
            (
                "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/portforward/22",
                "/22",
            ),
            ("/api/v1/pods/", ""),
            // Its secret.
            ("/apis/build.openshift.io/v1/namespaces/a/buildconfigs/b/webhooks/hush/generic", ""),
            ("/api/v1/namespaces/a/pods/b/log", ""),
            ("/api/v1/nodes/n/proxy//exec", "/api/v1/nodes/n/proxy//exec"),
        ] {
            let found = get(path);
            assert_eq!(found.tail, tail, "{path}");
        }
        let legacy = get("/api/v1/proxy/namespaces/a/pods/b/x");
        assert_eq!((&*legacy.resource, &*legacy.name, &*legacy.subresource), ("pods", "b", "proxy"));
    }

    #[test]
    fn a_session_that_hides_is_seen() {
        for path in [
            "/api/v1/namespaces/a/pods/b%2fexec",
            "/api/v1/namespaces/a/pods/b/%2565xec",
            "/api/v1/namespaces/a/pods/b/./exec",
            "/api/v1/nodes/n//proxy/run/a/b/c",
            "/api/v1/nodes/n\\proxy",
            "/api/v1/namespaces/a/pods/b/exec;x",
            "/api/v1/namespaces/a/pods/b/%ff/EXEC",
        ] {
            assert!(get(path).odd && get(path).hides_session, "{path}");
        }
        for path in ["/apis/g/v1/a%2Fb", "/api/v1//pods", "/api/v1/namespaces/a/pods/exec-0/log"] {
            assert!(!get(path).hides_session, "{path}");
        }
    }

    #[test]
    fn escapes_are_whole_or_the_request_is_malformed() {
        for (path, whole) in [
            ("/a%2Fb", true),
            ("/a", true),
            ("/%zz", false),
            ("/a%", false),
            ("/a%2", false),
            ("/%%41", false),
        ] {
            assert_eq!(is_escaped(path), whole, "{path}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(path in "\\PC{0,200}", query in "\\PC{0,200}") {
            let _ = classify(&Method::GET, &path, Some(&query));
        }
    }
}
