//! The proxy's addresses and tokens: `{RES}/kubeconfig/proxy`, then the API server's path, byte for byte.

use http::header::{self, HeaderMap};
use http::uri::PathAndQuery;
use rp_documents::ResourceId;

use super::error::ProxyError;

pub(super) const MOUNT: &str = "/kubeconfig/proxy";

/// The cluster and the API server's path of a proxy address.
pub(super) fn split(path: &str) -> Option<(ResourceId, &str)> {
    let (id, rest) = ResourceId::parse_prefix(path).ok()?;
    let (mount, tail) = rest.split_at_checked(MOUNT.len())?;
    let ours = mount.eq_ignore_ascii_case(MOUNT) && (tail.is_empty() || tail.starts_with('/'));
    ours.then_some((id, tail))
}

pub(super) fn path_of(tail: &str, query: Option<&str>) -> Option<PathAndQuery> {
    let tail = if tail.is_empty() { "/" } else { tail };
    match query {
        None => tail.parse().ok(),
        Some(query) => format!("{tail}?{query}").parse().ok(),
    }
}

/// The bearer token; `None` when there is more than one `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, ProxyError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(ProxyError::NoToken) };
    let text = value.to_str().map_err(|_| ProxyError::NoToken)?;
    let (scheme, token) = text.split_once(' ').ok_or(ProxyError::NoToken)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(ProxyError::NoToken) }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const RES: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/C";

    #[test]
    fn the_mount_is_matched_in_any_case_and_the_tail_is_kept() {
        let (id, tail) = split(&format!("{RES}/KubeConfig/proxy/api/v1/Names%2F//x"))
            .map(|(id, tail)| (id, tail.to_owned()))
            .unwrap();
        assert_eq!((id.name(), tail.as_str()), ("C", "/api/v1/Names%2F//x"));
        assert!(split(&format!("{RES}/kubeconfig/proxy")).is_some());
        for other in ["/kubeconfig/proxyx/", "/kubeconfig/new", "", "/kubeconfig/"] {
            assert!(split(&format!("{RES}{other}")).is_none(), "{other}");
        }
        assert_eq!(path_of("", None).unwrap(), "/");
        assert_eq!(path_of("/a%2fB", Some("x=%20&y")).unwrap(), "/a%2fB?x=%20&y");
    }

    #[test]
    fn one_bearer_token_or_none() {
        let mut headers = HeaderMap::new();
        assert!(bearer(&headers).is_err());
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
        assert_eq!(bearer(&headers).unwrap(), "abc");
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
        assert!(bearer(&headers).is_err());
        let mut basic = HeaderMap::new();
        basic.append(header::AUTHORIZATION, HeaderValue::from_static("Basic abc"));
        assert!(bearer(&basic).is_err());
    }
}
