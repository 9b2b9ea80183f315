//! Sends an admitted request to its cluster: as a request, as an upgrade, or as a review that the grant limits too.

use std::sync::Arc;

use http::{Request, Response};
use rp_recording::{RecordError, Recorder};

use super::answer::ClientTerms;
use super::assembly::outgoing;
use super::audit::AuditEntryGuard;
use super::body::Body;
use super::error::ProxyError;
use super::pool::Upstream;
use super::request_context::{ClientBody, RequestContext, RequestPermit};
use super::self_review::self_review;
use super::service::ApiProxy;
use super::session_kind::{SessionKind, session_kind};
use super::session_recording;
use super::upgrade::{self, Session};

/// A failure with the audit entry that is still to be settled.
type Unsettled = (ProxyError, AuditEntryGuard);

impl ApiProxy {
    /// Sends the request and gives the answer, whose body goes on by itself.
    pub(super) async fn exchange(
        &self,
        request: Request<ClientBody>,
        context: &RequestContext,
        mut settle: AuditEntryGuard,
        permit: RequestPermit,
    ) -> Result<Response<Body>, Unsettled> {
        let (upstream, head) = match self.assemble(&request, context, &mut settle).await {
            Ok(assembled) => assembled,
            Err(error) => return Err((error, settle)),
        };
        self.metrics.admission.observe_duration(settle.age());
        if context.upgrade {
            return Box::pin(self.leave_http(&upstream, request, head, context, settle, permit)).await;
        }
        let terms = ClientTerms::of_request(&request);
        // Boxed: rare, and every request would carry room for it.
        let sent = if let Some(Ok(asked)) = context.release.as_ref().map(|release| release.asked) {
            Box::pin(self.release(asked, request, head, &upstream, context, &mut settle)).await
        } else if let Some(kind) = self_review(&context.classified) {
            Box::pin(self.review(kind, request, head, &upstream, context, &settle)).await
        } else {
            upstream.send(head, outgoing(request, &settle), self.timeouts.head).await
        };
        match sent {
            Ok(answer) if answer.status().is_informational() => {
                let error = ProxyError::Broken("the cluster switched protocols unasked".into());
                Err((error, settle))
            }
            Ok(answer) => self.forward_response(answer, &terms, &upstream, context, settle, permit),
            Err(error) => Err((error, settle)),
        }
    }

    /// Asks the cluster to leave HTTP, on a connection of its own.
    async fn leave_http(
        &self,
        upstream: &Arc<Upstream>,
        request: Request<ClientBody>,
        head: Request<()>,
        context: &RequestContext,
        settle: AuditEntryGuard,
        permit: RequestPermit,
    ) -> Result<Response<Body>, Unsettled> {
        let recorder = match self.recorder(context).await {
            Ok(recorder) => recorder,
            Err(error) => return Err((ProxyError::Recording(error), settle)),
        };
        let kind = session_kind(&context.classified, context.upgrade);
        let session = Session {
            recorder,
            input: self.recordings.records_input(),
            live: Arc::clone(&context.live),
            ended: context.live.token_for(context.needed),
            settle,
            open: permit.stream(),
            streams: self.metrics.streams.track(),
            clock: Arc::clone(&self.clock),
            request_id: context.request_id.to_string(),
            cut: self.cut.clone(),
            idle: (!context.classified.watch && !context.classified.follow).then_some(self.timeouts.idle),
            overseer: Arc::clone(&self.overseer),
            has_status: kind == SessionKind::Session,
        };
        let (parts, body) = request.into_parts();
        let Some(body) = body else {
            return Err((ProxyError::BadRequest("an upgrade needs a client"), session.settle));
        };
        let request = Request::from_parts(parts, body);
        Box::pin(upgrade::upgrade(upstream, request, head, self.timeouts.head, session)).await
    }

    /// Starts the recording of a session; `None` when the request opens no session or it is not recorded.
    async fn recorder(&self, context: &RequestContext) -> Result<Option<Recorder>, RecordError> {
        if session_kind(&context.classified, context.upgrade) != SessionKind::Session {
            return Ok(None);
        }
        Box::pin(session_recording::begin(&self.recordings, &context.live, &context.classified)).await
    }
}
