//! How an API server reads a request: `RequestInfoFactory.NewRequestInfo` of k8s.io/apiserver
//! (pkg/endpoints/request/requestinfo.go, 1.36), on bytes, as Go does.

use crate::unescape;

/// What the server takes a request for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestInfo {
    pub is_resource: bool,
    pub verb: String,
    pub group: Vec<u8>,
    pub namespace: Vec<u8>,
    pub resource: Vec<u8>,
    pub name: Vec<u8>,
    pub subresource: Vec<u8>,
}

/// `None`: the server answers with an error.
pub fn read(method: &str, path: &str, query: &str) -> Option<RequestInfo> {
    let decoded = unescape(path.as_bytes())?;
    let mut info = RequestInfo { verb: method.to_ascii_lowercase(), ..RequestInfo::default() };
    let mut parts = split(&decoded);
    if parts.len() < 3 || !matches!(parts[0], b"api" | b"apis") {
        return Some(info);
    }
    let groupless = parts.remove(0) == b"api";
    if !groupless {
        if parts.len() < 3 {
            return Some(info);
        }
        info.group = parts.remove(0).to_vec();
    }
    info.is_resource = true;
    parts.remove(0); // the version
    if matches!(parts[0], b"proxy" | b"watch") {
        if parts.len() < 2 {
            return None;
        }
        info.verb = String::from_utf8_lossy(parts.remove(0)).into_owned();
    } else {
        info.verb = match method {
            "POST" => "create",
            "GET" | "HEAD" => "get",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            _ => "",
        }
        .to_owned();
    }
    if parts[0] == b"namespaces" && parts.len() > 1 {
        info.namespace = parts[1].to_vec();
        if parts.len() > 2 && !matches!(parts[2], b"status" | b"finalize") {
            parts.drain(..2);
        }
    }
    let part = |at: usize| parts.get(at).map(|part| part.to_vec()).unwrap_or_default();
    (info.resource, info.name) = (part(0), part(1));
    if info.verb != "proxy" {
        info.subresource = part(2);
    }
    if info.name.is_empty() && info.verb == "get" {
        info.verb = if watches(query) { "watch" } else { "list" }.to_owned();
    }
    if info.name.is_empty() && info.verb == "delete" {
        info.verb = "deletecollection".to_owned();
    }
    Some(info)
}

fn split(path: &[u8]) -> Vec<&[u8]> {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(start, |at| at + 1);
    let trimmed = &path[start..end];
    if trimmed.is_empty() { Vec::new() } else { trimmed.split(|byte| *byte == b'/').collect() }
}

/// The first `watch` of the query that Go's `url.ParseQuery` keeps, as `Convert_Slice_string_To_bool` reads it.
fn watches(query: &str) -> bool {
    let plain = |text: &str| unescape(text.replace('+', " ").as_bytes());
    let value = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (plain(name)?, plain(value)?);
        (name == b"watch").then_some(value)
    });
    value.is_some_and(|value| value != b"0" && !value.eq_ignore_ascii_case(b"false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_the_server_does() {
        let info = read("GET", "/apis/apps/v1/watch/namespaces/a/deployments/b/scale", "").unwrap();
        assert_eq!(
            (info.verb.as_str(), &*info.resource, &*info.subresource),
            ("watch", &b"deployments"[..], &b"scale"[..])
        );
        assert_eq!(read("GET", "/api/v1/pods/", "watch=0&watch=1").unwrap().verb, "list");
        assert_eq!(read("DELETE", "/api/v1/namespaces/a/status", "").unwrap().resource, b"namespaces");
        assert!(
            read("GET", "/api/v1/watch", "").is_none() && !read("GET", "/apis/a/b", "").unwrap().is_resource
        );
    }
}
