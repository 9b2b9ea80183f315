//! Where an answer sends its client. A client follows a redirect with its token, so a cluster could have it sent
//! anywhere: a `Location` passes as a path below the cluster's own address, or not at all.

use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use rp_documents::ResourceId;
use url::Url;

use super::address::MOUNT;
use super::error::ProxyError;

/// What was asked of which cluster.
pub(super) struct RedirectContext<'a> {
    pub(super) cluster: &'a ResourceId,
    /// The cluster's address.
    pub(super) authority: &'a str,
    /// Below which its API server's paths are; empty for most.
    pub(super) base: &'a str,
    /// The API server's path, with what it is below.
    pub(super) path: &'a str,
}

/// Rewrites the `Location` of an answer, or takes it off.
///
/// # Errors
/// The answer is a redirect, and leads out of the cluster.
pub(super) fn rewrite(
    headers: &mut HeaderMap,
    status: StatusCode,
    asked: &RedirectContext<'_>,
) -> Result<(), ProxyError> {
    let mut all = headers.get_all(LOCATION).iter();
    let Some(first) = all.next() else { return Ok(()) };
    let inside = if all.next().is_none() { inside(first, asked) } else { None };
    match inside {
        Some(location) => {
            headers.insert(LOCATION, location);
            Ok(())
        }
        None if status.is_redirection() => Err(ProxyError::Astray),
        None => {
            // The address of what was made, for a client to know: none that we can vouch for.
            headers.remove(LOCATION);
            Ok(())
        }
    }
}

/// The same place below our address of the cluster. Whatever a client would make of the text is found out by resolving
/// it as browsers do (WHATWG URL): `//host`, `\\host`, `https:host` and the like name another host there.
fn inside(location: &HeaderValue, asked: &RedirectContext<'_>) -> Option<HeaderValue> {
    let asked_for = Url::parse(&format!("https://{}{}", asked.authority, asked.path)).ok()?;
    let led = asked_for.join(location.to_str().ok()?).ok()?;
    let same = led.origin() == asked_for.origin() && led.username().is_empty() && led.password().is_none();
    let path = led.path().strip_prefix(asked.base).filter(|rest| rest.starts_with('/'))?;
    if !same {
        return None;
    }
    let mut out = format!("{}{MOUNT}{path}", asked.cluster);
    for (sign, part) in [('?', led.query()), ('#', led.fragment())] {
        if let Some(part) = part {
            out.push(sign);
            out.push_str(part);
        }
    }
    HeaderValue::from_str(&out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RES: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.RedHatOpenShift/openShiftClusters/harbor";

    fn follow(base: &str, path: &str, status: u16, locations: &[&str]) -> Result<Option<String>, ()> {
        let cluster = ResourceId::parse(RES).unwrap();
        let mut headers = HeaderMap::new();
        for location in locations {
            headers.append(LOCATION, HeaderValue::from_str(location).unwrap());
        }
        let path = format!("{base}{path}");
        let asked = RedirectContext { cluster: &cluster, authority: "10.0.0.4:6443", base, path: &path };
        rewrite(&mut headers, StatusCode::from_u16(status).unwrap(), &asked).map_err(drop)?;
        let left = headers.get(LOCATION).map(|value| value.to_str().unwrap().to_owned());
        Ok(left.map(|left| left.strip_prefix(&format!("{RES}/kubeconfig/proxy")).unwrap().to_owned()))
    }

    const PROXY: &str = "/api/v1/namespaces/a/services/b/proxy/x/y";

    #[test]
    fn a_path_stays_below_the_cluster() {
        for (location, led) in [
            ("/api/v1/pods?limit=1#a", "/api/v1/pods?limit=1#a"),
            ("../z", "/api/v1/namespaces/a/services/b/proxy/z"),
            ("z", "/api/v1/namespaces/a/services/b/proxy/x/z"),
            ("?page=2", "/api/v1/namespaces/a/services/b/proxy/x/y?page=2"),
            ("/../../../../../etc", "/etc"),
            ("https://10.0.0.4:6443/api", "/api"),
        ] {
            assert_eq!(follow("", PROXY, 302, &[location]), Ok(Some(led.to_owned())), "{location}");
        }
        assert_eq!(follow("/k8s/c-1", "/api/v1/pods", 307, &["/k8s/c-1/api"]), Ok(Some("/api".to_owned())));
    }

    #[test]
    fn nothing_else_passes() {
        for location in [
            "https://evil.example/",
            "http://evil.example/api",
            "http://10.0.0.4:6443/api",
            "https://10.0.0.4/api",
            "//evil.example/api",
            r"\\evil.example/api",
            r"/\evil.example/api",
            "\t//evil.example",
            "https://10.0.0.4:6443@evil.example/",
            "https://a:b@10.0.0.4:6443/",
            "javascript:alert(1)",
            "file:///etc/passwd",
        ] {
            for status in [300, 301, 302, 303, 307, 308] {
                assert_eq!(follow("", PROXY, status, &[location]), Err(()), "{status} {location}");
            }
            assert_eq!(follow("", PROXY, 201, &[location]), Ok(None), "{location}");
        }
        assert_eq!(follow("", PROXY, 302, &["/a", "/b"]), Err(()));
        assert_eq!(follow("/k8s/c-1", "/api/v1/pods", 302, &["/k8s/c-2/api"]), Err(()));
        assert_eq!(follow("/k8s/c-1", "/api/v1/pods", 302, &["/k8s/c-1x/api"]), Err(()));
        assert_eq!(follow("/k8s/c-1", "/api/v1/pods", 302, &["../../../c-2/api"]), Err(()));
        assert_eq!(follow("", PROXY, 304, &[]), Ok(None));
    }
}
