//! The request towards the cluster: our headers, and those of the client's that may pass.

use std::net::IpAddr;
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use rp_base::Id;
use rp_documents::Rights;

use super::audit::AuditEntryGuard;
use super::error::ProxyError;
use super::headers;
use super::pool::{Class, Outgoing, Upstream};
use super::redaction::{self, Search};
use super::request_context::{ClientBody, RequestContext, is_end};
use super::service::ApiProxy;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

impl ApiProxy {
    /// Finds the cluster and the credential, and writes the head of the request. Notes the identity that is used.
    ///
    /// # Errors
    /// The cluster is not known, not reachable, or its stored access cannot be used.
    pub(super) async fn assemble(
        &self,
        request: &Request<ClientBody>,
        context: &RequestContext,
        settle: &mut AuditEntryGuard,
    ) -> Result<(Arc<Upstream>, Request<()>), ProxyError> {
        let id = context.live.grant.target.as_ref().ok_or(ProxyError::OtherTarget)?;
        let target = self.directory.find(id).await.map_err(ProxyError::Directory)?;
        let class = if context.live.rights > Rights::Read { Class::Admin } else { Class::Read };
        let upstream = self.pools.for_target(&target, class)?;
        let seen = upstream.impersonation_mode().await?;
        let mut headers = headers::inbound(request.headers(), context.upgrade);
        settle.identity(seen.apply(&context.live, &mut headers));
        if context.search == Search::Withheld {
            redaction::ask(&mut headers);
        }
        ours(&upstream, &context.request_id, context.ip, &mut headers);
        // The length that was parsed, not what a header says. A GET without a body names none.
        let length = request.body().as_ref().and_then(|body| http_body::Body::size_hint(body).exact());
        if let Some(length) =
            length.filter(|length| *length > 0 || request.headers().contains_key(header::CONTENT_LENGTH))
        {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let mut head = Request::new(());
        head.method_mut().clone_from(request.method());
        *head.uri_mut() = address(&upstream, &context.path)?;
        *head.headers_mut() = headers;
        Ok((upstream, head))
    }
}

/// Sets our credential, and whose request it is.
pub(super) fn ours(upstream: &Upstream, request_id: &Id, from: IpAddr, headers: &mut HeaderMap) {
    if let Some(authorization) = &upstream.authorization {
        headers.insert(header::AUTHORIZATION, authorization.clone());
    }
    for (name, text) in [(AUDIT_ID, request_id.as_str()), (X_FORWARDED_FOR, &*from.to_string())] {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    }
}

/// The path that was asked for, on the cluster.
pub(super) fn address(upstream: &Upstream, asked: &PathAndQuery) -> Result<Uri, ProxyError> {
    let unusable = || ProxyError::BadRequest("its path");
    let path = match upstream.target.base_path() {
        "" => asked.clone(),
        // Servers that resolve `..` would leave the imported part of a server that may serve other things beside.
        _ if names_parent_folder(asked.path()) => return Err(unusable()),
        base => format!("{base}{asked}").parse().map_err(|_| unusable())?,
    };
    Uri::builder()
        .scheme("https")
        .authority(upstream.authority.clone())
        .path_and_query(path)
        .build()
        .map_err(|_| unusable())
}

/// How often a path below an import's own is decoded, so that its check costs little.
const DECODED_TIMES: usize = 3;

/// Whether a path has a segment `..` in any spelling that some server resolves: encoded once or more often, in overlong UTF-8,
/// after `\`, or with parameters behind `;`. One that is encoded more than three times counts as one.
fn names_parent_folder(path: &str) -> bool {
    let mut decoded = path.as_bytes().to_vec();
    for round in 0..=DECODED_TIMES {
        let next: Vec<u8> = percent_encoding::percent_decode(&decoded).collect();
        if next.len() == decoded.len() {
            break;
        }
        if round == DECODED_TIMES {
            return true; // nobody encodes that often who means well
        }
        decoded = next;
    }
    let letters = without_overlong(&decoded);
    letters
        .split(|byte| matches!(byte, b'/' | b'\\'))
        .any(|segment| segment.split(|byte| *byte == b';').next() == Some(b".."))
}

/// The bytes with each letter of ASCII in its shortest form: some decoders of UTF-8 take `C0 AE` for `.` (RFC 3629 §10), also in
/// three bytes or more. The last byte has six bits of the letter, the one before it the seventh.
fn without_overlong(bytes: &[u8]) -> Vec<u8> {
    let (mut short, mut left) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some((first, rest)) = left.split_first() {
        let (letter, after) = match left {
            [0xc0 | 0xc1, last @ 0x80..=0xbf, after @ ..] => ((first & 1) << 6 | last & 0x3f, after),
            [0xe0, high @ (0x80 | 0x81), last @ 0x80..=0xbf, after @ ..]
            | [0xf0, 0x80, high @ (0x80 | 0x81), last @ 0x80..=0xbf, after @ ..]
            | [0xf8, 0x80, 0x80, high @ (0x80 | 0x81), last @ 0x80..=0xbf, after @ ..]
            | [0xfc, 0x80, 0x80, 0x80, high @ (0x80 | 0x81), last @ 0x80..=0xbf, after @ ..] => {
                ((high & 1) << 6 | last & 0x3f, after)
            }
            _ => (*first, rest),
        };
        short.push(letter);
        left = after;
    }
    short
}

/// The client's body on its way to the cluster.
pub(super) fn outgoing(request: Request<ClientBody>, settle: &AuditEntryGuard) -> Outgoing {
    let bodiless = matches!(*request.method(), Method::GET | Method::HEAD) && is_end(request.body());
    match request.into_body() {
        Some(body) if !bodiless => Outgoing::client(body, settle.counters().1),
        Some(_) | None => Outgoing::Empty,
    }
}

#[cfg(test)]
mod tests {
    use super::names_parent_folder;

    #[test]
    fn a_parent_folder_is_known_in_every_spelling() {
        for path in [
            "/../secret",
            "/api/..",
            "/api/%2e%2e/x",
            "/api/.%2E/x",
            "/api/%252e%252e/x",
            "/api/%25252e./x",
            "/api/..;v=1/x",
            "/api/..%3bv/x",
            "/api/..%2fx",
            "/api/x%5c..%5cy",
            "/api/x\\..",
            "/api/%25252525",
            "/api/%c0%ae%c0%ae/x",
            "/api/.%C0%AE",
            "/api/%25c0%25ae./x",
            "/api/%e0%80%ae./x",
            "/api/%f0%80%80%ae%c0%ae/x",
            "/api/x%c0%af..%c1%9c",
        ] {
            assert!(names_parent_folder(path), "{path}");
        }
        for path in [
            "/",
            "/api/v1/namespaces",
            "/api/v1/...",
            "/api/a..b",
            "/api/..a",
            "/api/%2e",
            "/x;..",
            "/api/%c3%ae%c3%ae",
        ] {
            assert!(!names_parent_folder(path), "{path}");
        }
    }
}
