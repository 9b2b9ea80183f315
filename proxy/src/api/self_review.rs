//! Reviews of one's own access, answered as the grant's limits and the cluster's rules allow together
//! (`contract/rules.md` §3.6). The cluster knows the credential that it sees and nothing of the grant: asked alone it
//! would answer "yes" to what the proxy refuses.
//!
//! A `SelfSubjectAccessReview` of what the grant refuses is answered here; any other goes to the cluster. The rules of a
//! `SelfSubjectRulesReview` are the cluster's, limited to those that the grant leaves. `SelfSubjectReview` says who the
//! cluster sees and passes unchanged.

mod actions;
mod limits;
mod strict_json;
mod well_known;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rp_documents::Rights;
use serde_json::{Value, json};

use super::assembly::outgoing;
use super::audit::AuditEntryGuard;
use super::error::ProxyError;
use super::kube_protobuf;
use super::pool::{BROKEN_BODY, Outgoing, Upstream, UpstreamBody};
use super::request::Classified;
use super::request_context::{ClientBody, RequestContext};
use super::rules::is_self_review;
use super::service::ApiProxy;

/// Of a review, and of the answer to one, bytes.
const MOST: usize = 1024 * 1024;

/// A review whose answer depends on the grant too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SelfReview {
    /// May I do this?
    Access,
    /// What may I do?
    Rules,
}

/// The review that a request asks for.
pub(super) fn self_review(request: &Classified) -> Option<SelfReview> {
    match request.resource.as_str() {
        "selfsubjectaccessreviews" if is_self_review(request) => Some(SelfReview::Access),
        "selfsubjectrulesreviews" if is_self_review(request) => Some(SelfReview::Rules),
        _ => None,
    }
}

impl ApiProxy {
    /// Answers a review, with the cluster's help where the grant leaves anything to it.
    ///
    /// # Errors
    /// The review or the answer is too long, broken off, or in an encoding that is not read.
    pub(super) async fn review(
        &self,
        kind: SelfReview,
        request: Request<ClientBody>,
        mut head: Request<()>,
        upstream: &Arc<Upstream>,
        context: &RequestContext,
        settle: &AuditEntryGuard,
    ) -> Result<Response<UpstreamBody>, ProxyError> {
        let held = context.live.rights;
        match kind {
            SelfReview::Access => {
                let mut asked = self.asked(request, settle).await?;
                match asked.refusal(held, context.path.path()) {
                    Some(review) => Ok(answer(&review)),
                    None => upstream.send(head, Outgoing::Full(asked.body), self.timeouts.head).await,
                }
            }
            SelfReview::Rules if held == Rights::Admin => {
                upstream.send(head, outgoing(request, settle), self.timeouts.head).await
            }
            SelfReview::Rules => {
                head.headers_mut().insert(header::ACCEPT, json_type());
                head.headers_mut().remove(header::ACCEPT_ENCODING);
                let answer = upstream.send(head, outgoing(request, settle), self.timeouts.head).await?;
                self.limited(answer, held).await
            }
        }
    }

    /// Reads a review of an access.
    async fn asked(
        &self,
        request: Request<ClientBody>,
        settle: &AuditEntryGuard,
    ) -> Result<AccessReview, ProxyError> {
        let (parts, body) = request.into_parts();
        let Some(body) = body else { return Err(ProxyError::BadRequest("a review has a body")) };
        let collected = tokio::time::timeout(self.timeouts.head, Limited::new(body, MOST).collect()).await;
        let collected = collected.map_err(|_| ProxyError::BadRequest("its body did not come in time"))?;
        let body = collected.map_err(|error| unread(&*error))?.to_bytes();
        settle.counters().1.fetch_add(body.len() as u64, Ordering::Relaxed);
        let review = read(&parts.headers, &body)?;
        Ok(AccessReview { body, review: Some(review) })
    }

    /// The cluster's answer without the rules that the grant refuses.
    async fn limited(
        &self,
        answer: Response<UpstreamBody>,
        held: Rights,
    ) -> Result<Response<UpstreamBody>, ProxyError> {
        if !answer.status().is_success() {
            return Ok(answer);
        }
        let (mut parts, body) = answer.into_parts();
        if !is_json(&parts.headers) {
            return Err(ProxyError::Rules("they are not in JSON"));
        }
        let collected = tokio::time::timeout(self.timeouts.head, Limited::new(body, MOST).collect()).await;
        let collected = collected.map_err(|_| ProxyError::NoAnswer)?;
        let bytes = collected.map_err(|error| {
            if error.is::<LengthLimitError>() {
                ProxyError::Rules("they are longer than 1 MiB")
            } else {
                ProxyError::Broken(error)
            }
        })?;
        let mut review: Value = serde_json::from_slice(&bytes.to_bytes())
            .map_err(|_| ProxyError::Rules("they are not in JSON"))?;
        limits::limit(&mut review, held)
            .map_err(|limits::TooManyRules| ProxyError::Rules("they are too many or too long"))?;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::TRANSFER_ENCODING);
        Ok(Response::from_parts(parts, UpstreamBody::read(Bytes::from(review.to_string()))))
    }
}

/// A review of an access that was read.
struct AccessReview {
    /// As it came.
    body: Bytes,
    /// What it asks; `None`: it was taken.
    review: Option<Value>,
}

impl AccessReview {
    /// The review with the refusal as its status; `None`: the grant leaves the answer to the cluster. The review is
    /// taken: it has many times the size of the body, and would be held while the cluster is asked.
    fn refusal(&mut self, held: Rights, path: &str) -> Option<Value> {
        let mut review = self.review.take()?;
        let reason = actions::Action::of_review(&review)?.refusal(held)?;
        let review_object = review.as_object_mut()?;
        // A body may leave out what the path says.
        if !review_object.contains_key("apiVersion")
            && let Some(["apis", group, version]) = first_words(path)
        {
            review_object.insert("apiVersion".to_owned(), format!("{group}/{version}").into());
        }
        review_object.entry("kind").or_insert_with(|| "SelfSubjectAccessReview".into());
        review_object
            .insert("status".to_owned(), json!({ "allowed": false, "denied": true, "reason": reason }));
        Some(review)
    }
}

fn first_words(path: &str) -> Option<[&str; 3]> {
    let mut words = path.trim_start_matches('/').splitn(4, '/');
    Some([words.next()?, words.next()?, words.next()?])
}

/// The review as JSON. What this proxy and an API server may read differently is refused: the cluster knows nothing of the
/// grant, so it would answer "yes" to what was not judged here.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Value, ProxyError> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ProxyError::ReviewEncoding);
    }
    match media_type(headers).to_ascii_lowercase().as_str() {
        // The API server takes what names no type for JSON.
        "" | "application/json" => strict_json::review(body).ok_or(ProxyError::BadRequest(
            "the review is malformed, gives a member twice, or spells one in other letters",
        )),
        kube_protobuf::MEDIA_TYPE => kube_protobuf::access_review(body)
            .ok_or(ProxyError::BadRequest("the review is malformed, or gives a field twice")),
        _ => Err(ProxyError::ReviewEncoding),
    }
}

fn media_type(headers: &HeaderMap) -> &str {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim()
}

fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).eq_ignore_ascii_case("application/json")
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Whose fault it is that a review could not be read: always the client's.
fn unread(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ProxyError {
    if error.is::<LengthLimitError>() { ProxyError::LongBody } else { ProxyError::BadRequest(BROKEN_BODY) }
}

fn json_type() -> HeaderValue {
    HeaderValue::from_static("application/json")
}

/// An answer in the cluster's place: 201, as an API server answers what is created.
fn answer(review: &Value) -> Response<UpstreamBody> {
    let mut response = Response::new(UpstreamBody::read(Bytes::from(review.to_string())));
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(header::CONTENT_TYPE, json_type());
    response
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::super::request::classify;
    use super::*;

    #[test]
    fn reviews_are_known_in_every_version_that_is_served() {
        for (path, kind) in [
            ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Some(SelfReview::Access)),
            ("/apis/authorization.k8s.io/v1beta1/selfsubjectaccessreviews", Some(SelfReview::Access)),
            ("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", Some(SelfReview::Rules)),
            (
                "/apis/authorization.openshift.io/v1/namespaces/a/selfsubjectrulesreviews",
                Some(SelfReview::Rules),
            ),
            ("/apis/authentication.k8s.io/v1/selfsubjectreviews", None),
            ("/apis/authorization.k8s.io/v1/subjectaccessreviews", None),
            ("/apis/example.io/v1/selfsubjectaccessreviews", None),
        ] {
            assert_eq!(self_review(&classify(&Method::POST, path, None)), kind, "{path}");
            assert_eq!(self_review(&classify(&Method::GET, path, None)), None, "{path}");
        }
    }

    #[test]
    fn a_refusal_is_the_review_with_a_status() {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let of = |review: Value, held| {
            AccessReview { body: Bytes::new(), review: Some(review) }.refusal(held, path)
        };
        let spec = json!({ "resourceAttributes": { "verb": "get", "resource": "secrets" } });
        let refused = of(json!({ "spec": spec }), Rights::Read).unwrap();
        assert_eq!(refused["apiVersion"], "authorization.k8s.io/v1");
        assert_eq!((&refused["kind"], &refused["spec"]), (&"SelfSubjectAccessReview".into(), &spec));
        assert_eq!(refused["status"]["allowed"], false);
        assert!(refused["status"]["reason"].as_str().unwrap().contains("admin rights"), "{refused}");
        assert!(of(json!({ "spec": spec }), Rights::Admin).is_none());
        assert!(of(json!({ "spec": {} }), Rights::Read).is_none());
        assert!(of(json!([]), Rights::Read).is_none());
    }

    #[test]
    fn what_is_packed_or_in_another_encoding_is_refused() {
        let of = |name, value| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            read(&headers, b"{}")
        };
        assert!(of(header::CONTENT_TYPE, "application/json; charset=utf-8").is_ok());
        let malformed = of(header::CONTENT_TYPE, "application/vnd.kubernetes.protobuf");
        assert!(matches!(malformed, Err(ProxyError::BadRequest(_))));
        assert!(of(header::USER_AGENT, "x").is_ok());
        assert!(of(header::CONTENT_TYPE, "application/yaml").is_err());
        assert!(of(header::CONTENT_ENCODING, "gzip").is_err());
    }
}
