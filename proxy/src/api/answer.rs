//! The cluster's answer on its way to the client: what of it may pass, and what it holds until its end.

use std::sync::Arc;

use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use rp_access::{RequestGuard, StreamGuard};
use rp_metrics::GaugeGuard;

use super::audit::AuditEntryGuard;
use super::body::{Body, ClusterBody};
use super::error::ProxyError;
use super::headers;
use super::pool::{Upstream, UpstreamBody};
use super::redaction::{self, Search};
use super::redirect;
use super::request_context::{ClientBody, RequestContext, RequestPermit};
use super::service::ApiProxy;
use super::watch_end::WatchEndEvent;
use crate::overseer::WatchLimits;

/// What of a client's request its answer depends on.
pub(super) struct ClientTerms {
    method: Method,
    /// The client takes trailers.
    trailers: bool,
}

impl ClientTerms {
    pub(super) fn of_request(request: &Request<ClientBody>) -> Self {
        Self { method: request.method().clone(), trailers: headers::takes_trailers(request.headers()) }
    }
}

impl ApiProxy {
    /// Passes an answer on, tied to the grant, the audit entry and the owner's limits.
    ///
    /// # Errors
    /// The answer may not pass: a redirect that leads out of the cluster, or config maps that cannot be searched.
    pub(super) fn forward_response(
        &self,
        answer: Response<UpstreamBody>,
        terms: &ClientTerms,
        upstream: &Upstream,
        context: &RequestContext,
        mut settle: AuditEntryGuard,
        permit: RequestPermit,
    ) -> Result<Response<Body>, (ProxyError, AuditEntryGuard)> {
        let (parts, answer) = answer.into_parts();
        settle.status(parts.status.as_u16(), None);
        let mut headers = headers::outbound(&parts.headers);
        if let Err(error) = redirected(&mut headers, parts.status, upstream, context) {
            return Err((error, settle));
        }
        let redactor = match context.search {
            Search::Withheld => match redaction::redactor(&terms.method, parts.status, &mut headers) {
                Ok(redactor) => redactor,
                Err(error) => return Err((error, settle)),
            },
            Search::None | Search::Visible(_) => None,
        };
        // Digests of what is searched would be those of another text.
        let takes = terms.trailers && redactor.is_none();
        let trailers = if takes { headers::declared_trailers(&parts.headers) } else { Vec::new() };
        if let Some(declared) = headers::trailer_header(&trailers) {
            headers.insert(header::TRAILER, declared);
        }
        let (open, place) = self.counted(permit);
        let live = Arc::clone(&context.live);
        let until = WatchLimits {
            ended: Some(live.token_for(context.needed)),
            idle: open.is_none().then_some(self.timeouts.idle),
        };
        let id = context.request_id.as_str();
        let answer = ClusterBody {
            answer,
            redactor,
            trailers,
            sent: settle.counters().0,
            settle,
            farewell: WatchEndEvent::for_answer(&context.classified, &parts.headers, &self.clock, id),
            _live: live,
            _open: open,
        };
        let mut response = Response::new(Body::watched(&self.overseer, answer, until, place));
        *response.status_mut() = parts.status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// A stream with its place in the gauge, or a place among the requests.
type Places = (Option<(StreamGuard, GaugeGuard)>, Option<RequestGuard>);

impl ApiProxy {
    fn counted(&self, permit: RequestPermit) -> Places {
        match permit {
            RequestPermit::Stream(open) => (Some((open, self.metrics.streams.track())), None),
            RequestPermit::Request(place) => (None, Some(place)),
        }
    }
}

/// Rewrites the `Location` of an answer, where it has one.
fn redirected(
    headers: &mut HeaderMap,
    status: StatusCode,
    upstream: &Upstream,
    context: &RequestContext,
) -> Result<(), ProxyError> {
    if !headers.contains_key(header::LOCATION) {
        return Ok(());
    }
    let asked = format!("{}{}", upstream.target.base_path(), context.path.path());
    redirect::rewrite(headers, status, &upstream.redirect_context(&asked))
}
