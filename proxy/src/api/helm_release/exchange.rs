//! Requests for releases on their way to the cluster and back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode, response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::super::assembly::outgoing;
use super::super::audit::AuditEntryGuard;
use super::super::error::ProxyError;
use super::super::pool::{BROKEN_BODY, Outgoing, Upstream, UpstreamBody};
use super::super::request_context::{ClientBody, RequestContext};
use super::super::service::ApiProxy;
use super::{ReleaseRequest, bodies};

/// Bytes of a body, as API servers take them: a Secret holds at most 1 MiB, which JSON makes longer.
const MOST: usize = 3 * 1024 * 1024;

/// What the cluster has under a name.
enum Stored {
    /// A release: its answer, read, and its uid.
    Release(response::Parts, Bytes, String),
    /// The cluster's refusal.
    Refused(Response<UpstreamBody>),
}

impl ApiProxy {
    /// Sends a request for releases. A list or a watch has its field selector already, and passes as others do.
    ///
    /// # Errors
    /// The body, or what the cluster has, is not a release or cannot be read.
    pub(in crate::api) async fn release(
        &self,
        asked: ReleaseRequest,
        request: Request<ClientBody>,
        mut head: Request<()>,
        upstream: &Arc<Upstream>,
        context: &RequestContext,
        settle: &mut AuditEntryGuard,
    ) -> Result<Response<UpstreamBody>, ProxyError> {
        let named = Some(context.classified.name.as_str()).filter(|name| !name.is_empty());
        let body = match asked {
            ReleaseRequest::List | ReleaseRequest::Watch => {
                return upstream.send(head, outgoing(request, settle), self.timeouts.head).await;
            }
            ReleaseRequest::Get => {
                return Ok(match self.stored(head, upstream).await? {
                    Stored::Release(parts, bytes, _) => {
                        Response::from_parts(parts, UpstreamBody::read(bytes))
                    }
                    Stored::Refused(answer) => answer,
                });
            }
            ReleaseRequest::Create | ReleaseRequest::Update => {
                let (headers, body) = self.release_body(request, settle).await?;
                let (body, name) = bodies::secret(&headers, &body, named)?;
                settle.name(&name);
                body
            }
            ReleaseRequest::Patch => {
                let (headers, body) = self.release_body(request, settle).await?;
                bodies::patch(&headers, &body)?
            }
            ReleaseRequest::Delete => {
                let (headers, body) = self.release_body(request, settle).await?;
                let uid = match self.stored(look_of(&head), upstream).await? {
                    Stored::Release(_, _, uid) => uid,
                    Stored::Refused(answer) => return Ok(answer),
                };
                head.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
                bodies::delete_options(&headers, &body, &uid)?
            }
        };
        head.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        upstream.send(head, Outgoing::Full(body), self.timeouts.head).await
    }

    /// Reads what the cluster has, whole and before any of it passes.
    async fn stored(&self, mut head: Request<()>, upstream: &Arc<Upstream>) -> Result<Stored, ProxyError> {
        // Neither a table nor metadata says of which type a Secret is.
        head.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(JSON));
        for name in NOT_SENT {
            head.headers_mut().remove(name);
        }
        let answer = upstream.send(head, Outgoing::Empty, self.timeouts.head).await?;
        if !answer.status().is_success() {
            return Ok(Stored::Refused(answer));
        }
        if answer.status() != StatusCode::OK {
            return Err(ProxyError::UnreadRelease("it is not whole"));
        }
        let (mut parts, body) = answer.into_parts();
        let collected = tokio::time::timeout(self.timeouts.head, Limited::new(body, MOST).collect()).await;
        let collected = collected.map_err(|_| ProxyError::NoAnswer)?;
        let bytes = collected.map_err(|error| {
            if error.is::<LengthLimitError>() {
                ProxyError::UnreadRelease("it is longer than 3 MiB")
            } else {
                ProxyError::Broken(error)
            }
        })?;
        let bytes = bytes.to_bytes();
        let uid = bodies::stored_uid(&parts.headers, &bytes)?;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::TRANSFER_ENCODING);
        Ok(Stored::Release(parts, bytes, uid))
    }

    /// The client's body, whole.
    async fn release_body(
        &self,
        request: Request<ClientBody>,
        settle: &AuditEntryGuard,
    ) -> Result<(HeaderMap, Bytes), ProxyError> {
        let (parts, body) = request.into_parts();
        let Some(body) = body else { return Ok((parts.headers, Bytes::new())) };
        let collected = tokio::time::timeout(self.timeouts.head, Limited::new(body, MOST).collect()).await;
        let collected = collected.map_err(|_| ProxyError::BadRequest("its body did not come in time"))?;
        let body = collected.map_err(|error| {
            if error.is::<LengthLimitError>() {
                ProxyError::LongRelease
            } else {
                ProxyError::BadRequest(BROKEN_BODY)
            }
        })?;
        let body = body.to_bytes();
        settle.counters().1.fetch_add(body.len() as u64, Ordering::Relaxed);
        Ok((parts.headers, body))
    }
}

const JSON: &str = "application/json";
/// Of a request whose answer is read here: what would make the answer packed or less than whole, and what is about a
/// body.
const NOT_SENT: [header::HeaderName; 5] = [
    header::ACCEPT_ENCODING,
    header::RANGE,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
];

/// The GET of what a request changes.
fn look_of(head: &Request<()>) -> Request<()> {
    let mut look = Request::new(());
    *look.method_mut() = Method::GET;
    look.uri_mut().clone_from(head.uri());
    look.headers_mut().clone_from(head.headers());
    for name in [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE] {
        look.headers_mut().remove(name);
    }
    look
}
