//! One API request from its first byte to its answer: authenticate, authorize, audit, send, forward the response.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use rp_access::ActiveGrant;
use rp_base::Id;
use rp_documents::{GrantKind, Phase};

use super::audit::{AuditEntryGuard, Weight, entry, weight};
use super::body::Body;
use super::error::ProxyError;
use super::redaction;
use super::request::classify;
use super::request_context::{ClientBody, RequestContext};
use super::rules::needed;
use super::service::ApiProxy;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A GET request that a portal page sends to a cluster on behalf of its viewer.
#[derive(Debug)]
pub struct PageRequest {
    /// The viewer's grant of kind page.
    pub live: Arc<ActiveGrant>,
    pub request_id: Id,
    pub from: IpAddr,
    /// Path and query as the API server knows them.
    pub path: PathAndQuery,
    /// The header of that name.
    pub accept: &'static str,
}

impl ApiProxy {
    /// Answers a request.
    pub async fn handle(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let request_id = Id::random(&*self.random);
        let ip = peer.ip().to_canonical();
        let upgrade = request.version() < Version::HTTP_2 && request.headers().contains_key(header::UPGRADE);
        let mut response = match self.admit(&request, request_id.clone(), ip).await {
            Ok(context) => self.forward(request.map(Some), context).await,
            Err(error) => self.refuse_unauthenticated(&error, &request_id, ip),
        };
        if let Ok(id) = HeaderValue::from_str(request_id.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        if upgrade && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            // What the client sent after its handshake is no request.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Answers what a page asks with the viewer's own grant: the same decisions, audit and cuts as a client's
    /// request. A failure of this service or of the connection puts its [`ErrorText`](super::ErrorText) into the response's extensions.
    pub async fn look(&self, look: PageRequest) -> Response<Body> {
        let PageRequest { live, request_id, from, path, accept } = look;
        let mut request = Request::new(None);
        *request.method_mut() = Method::GET;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accept));
        let classified = classify(&Method::GET, path.path(), path.query());
        let search = redaction::search(&classified, live.rights);
        let (needed, upgrade) = (search.needed(needed(&classified, false)), false);
        let context = RequestContext {
            request_id,
            ip: from,
            live,
            upgrade,
            classified,
            needed,
            search,
            release: None,
            path,
        };
        if context.live.grant.kind != GrantKind::Page {
            return self.failed(&ProxyError::OtherKind, &context, None);
        }
        Box::pin(self.forward(request, context)).await
    }

    /// Sends an admitted request if it may be sent, with its entries in the audit trail.
    async fn forward(&self, request: Request<ClientBody>, context: RequestContext) -> Response<Body> {
        let began = self.clock.now();
        let from = context.ip.to_string();
        let make = |phase| {
            let mut entry =
                entry(began, phase, &context.request_id, &context.live, &from, &context.classified);
            if let Some(Ok(asked)) = context.release.as_ref().map(|release| release.asked) {
                asked.action().clone_into(&mut entry.verb);
            }
            entry
        };
        let allowed = self.check(&request, &context);
        let heavy = weight(&context.classified, context.upgrade) == Weight::Heavy;
        let (phase, started) = match &allowed {
            Ok(_) if heavy => (Phase::End, Box::pin(self.audit.promise(make(Phase::Start))).await.map(drop)),
            // A full audit queue delays the request here, before anything is sent.
            Ok(_) | Err(_) => (Phase::Single, self.audit.room().await),
        };
        if let Err(error) = started {
            return self.failed(&ProxyError::Audit(error), &context, None);
        }
        let settle = AuditEntryGuard::new(make(phase), &self.audit, &self.clock);
        let permit = match allowed {
            Ok(permit) => permit,
            Err(error) => return self.failed(&error, &context, Some(settle)),
        };
        let ended = context.live.token_for(context.needed);
        tokio::select! {
            // Check the cancellation first: access that ended while the entry was written must not be used.
            biased;
            () = ended.cancelled() => {
                let why = context.live.end_reason(self.clock.now());
                let error = ProxyError::Refused(rp_access::Refusal::Ended(why));
                self.failed(&error, &context, None)
            }
            answer = self.exchange(request, &context, settle, permit) => match answer {
                Ok(response) => {
                    self.count(&context.classified, response.status().as_u16(), None);
                    self.metrics.head.observe_duration(self.clock.now().since(began));
                    response
                }
                Err((error, settle)) => self.failed(&error, &context, Some(settle)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, B, F>(_: impl FnOnce(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_carries_no_room_for_what_is_rare() {
        let handle = size(|api: &'static ApiProxy, (request, peer)| api.handle(request, peer));
        assert!(handle <= 6 * 1024, "{handle} bytes");
    }
}
