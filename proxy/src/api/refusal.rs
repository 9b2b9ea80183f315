//! Requests that are refused or fail: what is logged, counted, noted for the audit trail and answered.

use std::net::IpAddr;

use http::Response;
use rp_base::{Id, chain};
use rp_documents::{ResourceId, Side};

use super::audit::AuditEntryGuard;
use super::body::Body;
use super::error::ProxyError;
use super::metrics::RequestLabels;
use super::request::Classified;
use super::request_context::RequestContext;
use super::service::ApiProxy;

impl ApiProxy {
    /// A request that had a grant and was refused or failed.
    pub(super) fn failed(
        &self,
        error: &ProxyError,
        context: &RequestContext,
        settle: Option<AuditEntryGuard>,
    ) -> Response<Body> {
        let (status, side) = (error.status(), error.side());
        if side != Side::You {
            tracing::warn!(
                request_id = %context.request_id,
                resource_id = context.live.grant.target.as_ref().map(ResourceId::key).unwrap_or_default(),
                side = side.name(),
                error = %chain(error),
                "request to a cluster failed"
            );
        }
        if let Some(mut settle) = settle {
            settle.status(status.as_u16(), Some(side));
        }
        self.count(&context.classified, status.as_u16(), Some(side));
        let mut response = error.response(context.request_id.as_str()).map(Body::full);
        response.extensions_mut().insert(error.error_text());
        response
    }

    /// A request without a grant: one log line and no audit entry, because anyone can send any number of these.
    pub(super) fn refuse_unauthenticated(
        &self,
        error: &ProxyError,
        request_id: &Id,
        ip: IpAddr,
    ) -> Response<Body> {
        self.metrics.strangers.inc();
        tracing::info!(
            target: "proxy.access",
            request_id = %request_id,
            peer = %ip,
            status = error.status().as_u16(),
            result = "refused",
            error = %chain(error),
            "request"
        );
        error.response(request_id.as_str()).map(Body::full)
    }

    /// Counts an answered request; `side`: whose fault it is that it failed.
    pub(super) fn count(&self, classified: &Classified, code: u16, side: Option<Side>) {
        let labels = RequestLabels { verb: classified.verb, code, side: side.map_or("", Side::name) };
        self.metrics.requests.with(&labels).inc();
    }
}
