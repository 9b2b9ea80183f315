//! Who asks for what, and whether it may be sent. Nothing goes to a cluster here.

use std::net::IpAddr;

use http::{Request, Uri, Version};
use hyper::body::Incoming;
use rp_base::Id;
use rp_config::RecordingPolicy;
use rp_documents::{GrantKind, Rights};

use super::address::{bearer, path_of, split};
use super::error::ProxyError;
use super::headers;
use super::helm_release;
use super::redaction;
use super::request::{classify, is_escaped};
use super::request_context::{ClientBody, RequestContext, RequestPermit, is_end};
use super::rules::{Denied, needed, permit, stream_of};
use super::service::ApiProxy;
use super::session_kind::{SessionKind, session_kind};

impl ApiProxy {
    /// Authenticates and classifies the request.
    ///
    /// # Errors
    /// No living grant of kind kubeconfig for that cluster, or a request that cannot be read.
    pub(super) async fn admit(
        &self,
        request: &Request<Incoming>,
        request_id: Id,
        ip: IpAddr,
    ) -> Result<RequestContext, ProxyError> {
        let (target, tail) = split(request.uri().path()).ok_or(ProxyError::BadRequest("no such address"))?;
        let live =
            self.access.authenticate(bearer(request.headers())?, ip).await.map_err(ProxyError::Refused)?;
        if live.grant.kind != GrantKind::Kubeconfig {
            return Err(ProxyError::OtherKind);
        }
        if live.grant.target.as_ref() != Some(&target) {
            return Err(ProxyError::OtherTarget);
        }
        if !is_of_http(request.uri()) {
            return Err(ProxyError::BadRequest("the scheme of its target is not that of HTTP"));
        }
        let query = request.uri().query();
        if !is_escaped(tail) {
            return Err(ProxyError::BadRequest("a % of its path begins no escape"));
        }
        let classified = classify(request.method(), tail, query);
        // What a proxied application makes of its query is its own affair.
        if classified.subresource != "proxy" && query.is_some_and(|query| !is_escaped(query)) {
            return Err(ProxyError::BadRequest("a % of its query begins no escape"));
        }
        let mut path = path_of(tail, query).ok_or(ProxyError::BadRequest("its path"))?;
        let upgrade = headers::upgrade_of(request.headers()).is_some();
        let search = redaction::search(&classified, live.rights);
        let mut needed = search.needed(needed(&classified, upgrade));
        let mut release = None;
        if self.helm_secrets && !upgrade && live.rights < Rights::Admin {
            release = helm_release::release(request.method(), &path, &classified).map(Box::new);
        }
        if let Some(release) = &release {
            needed = Rights::Write;
            path.clone_from(&release.path);
        }
        Ok(RequestContext { request_id, ip, live, upgrade, classified, needed, search, release, path })
    }

    /// Decides whether the request may be sent, and counts it from then on.
    ///
    /// # Errors
    /// The rights, the policy of recordings or a limit refuse it, or it is no request that could be sent.
    pub(super) fn check(
        &self,
        request: &Request<ClientBody>,
        context: &RequestContext,
    ) -> Result<RequestPermit, ProxyError> {
        check_form(request, context)?;
        let live = &context.live;
        permit(&context.classified, context.upgrade, context.needed, live.rights).map_err(|denied| {
            let path = &context.path;
            let for_helm = denied.needed == Rights::Admin
                && helm_release::looks_like_helm(request.method(), path, &context.classified);
            ProxyError::Denied(Denied {
                fallen: live.reduction_reason().map(rp_access::EndReason::sentence),
                advice: for_helm.then_some(helm_release::ADVICE_OFF),
                ..denied
            })
        })?;
        if let Some(Err(why)) = context.release.as_ref().map(|release| release.asked) {
            return Err(ProxyError::NotRelease(why));
        }
        match session_kind(&context.classified, context.upgrade) {
            SessionKind::Refused(sentence) => return Err(ProxyError::NotThisWay(sentence)),
            SessionKind::Unknown if self.recordings.policy() == RecordingPolicy::Required => {
                return Err(ProxyError::Unrecordable);
            }
            SessionKind::Answer
            | SessionKind::Session
            | SessionKind::Bytes
            | SessionKind::Unknown
            | SessionKind::Kubelet => {}
        }
        self.permitted(context)
    }

    /// A place among the requests or streams that the grant's owner may have.
    fn permitted(&self, context: &RequestContext) -> Result<RequestPermit, ProxyError> {
        let live = &context.live;
        if !(context.upgrade || context.classified.watch || context.classified.follow) {
            return self
                .access
                .request(live)
                .map(RequestPermit::Request)
                .map_err(ProxyError::TooManyRequests);
        }
        self.access.rates().stream(live.grant.primary_id().as_str()).map_err(ProxyError::TooOften)?;
        let open = self.access.stream(live, || stream_of(&context.classified));
        open.map(RequestPermit::Stream).map_err(ProxyError::TooManyStreams)
    }
}

/// A target in absolute form names a scheme (RFC 9112 §3.2.2). Ours is one of the two of HTTP, whatever the connection.
fn is_of_http(target: &Uri) -> bool {
    target
        .scheme_str()
        .is_none_or(|scheme| ["http", "https"].iter().any(|ours| scheme.eq_ignore_ascii_case(ours)))
}

/// What no rights could open.
fn check_form(request: &Request<ClientBody>, context: &RequestContext) -> Result<(), ProxyError> {
    if headers::impersonates(request.headers()) {
        return Err(ProxyError::Impersonation);
    }
    if !context.upgrade {
        return Ok(());
    }
    if request.version() != Version::HTTP_11 {
        return Err(ProxyError::BadRequest("an upgrade needs HTTP/1.1"));
    }
    if !headers::known_upgrade(request.headers()) {
        return Err(ProxyError::BadRequest("an upgrade is to websocket or SPDY/3.1"));
    }
    if !is_end(request.body()) {
        return Err(ProxyError::BadRequest("an upgrade has no body"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_of_http_or_name_no_scheme() {
        for (target, ours) in [
            ("/a", true),
            ("https://host/a", true),
            ("http://host/a", true),
            ("HTTPS://host/a", true),
            ("file://host/a", false),
            ("ftp://host/a", false),
            ("httpss://host/a", false),
        ] {
            assert_eq!(is_of_http(&target.parse().unwrap()), ours, "{target}");
        }
    }
}
