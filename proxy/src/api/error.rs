//! What the proxy answers when it cannot answer with the cluster's words: a Kubernetes `Status`.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use rp_access::{EndReason, Refusal, TooManyRequests, TooManyStreams};
use rp_documents::{Rights, Side};
use rp_net::{DialError, DirectoryError, Stage, TooOften};
use serde_json::{Value, json};

use super::rules::Denied;

/// A refused or failed request. The cause is for the log; the answer never carries it.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("no bearer token")]
    NoToken,
    #[error("the token was refused")]
    Refused(#[source] Refusal),
    #[error("the grant is for another cluster")]
    OtherTarget,
    #[error("the grant is of another kind")]
    OtherKind,
    #[error("not allowed: {0}")]
    Denied(Denied),
    #[error("a client may not impersonate")]
    Impersonation,
    #[error("the request is malformed: {0}")]
    BadRequest(&'static str),
    #[error("no target")]
    Directory(#[source] DirectoryError),
    #[error("the cluster could not be dialled")]
    Dial(#[source] DialError),
    #[error("the cluster did not answer in time")]
    NoAnswer,
    #[error("the cluster broke off before its answer")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("too many connections to this cluster")]
    Crowded,
    #[error("the audit trail cannot be written")]
    Audit(#[source] rp_audit::AuditError),
    #[error("the session cannot be recorded")]
    Recording(#[source] rp_recording::RecordError),
    #[error("too many streams")]
    TooManyStreams(#[source] TooManyStreams),
    #[error("too many requests at once")]
    TooManyRequests(#[source] TooManyRequests),
    #[error("no session is opened this way: {0}")]
    NotThisWay(&'static str),
    #[error("a session of an unknown kind cannot be recorded")]
    Unrecordable,
    #[error("the cluster's redirect leads elsewhere")]
    Astray,
    #[error("the cluster's answer cannot be searched for credentials")]
    Unsearchable,
    #[error("too often")]
    TooOften(#[source] TooOften),
    #[error("the request's body is too long")]
    LongBody,
    #[error("a review in an encoding that is not read")]
    ReviewEncoding,
    #[error("the cluster's list of rules cannot be limited: {0}")]
    Rules(&'static str),
    #[error("no release of Helm: {0}")]
    NotRelease(&'static str),
    #[error("a release of Helm in an encoding that is not read")]
    ReleaseEncoding,
    #[error("the body of a release of Helm is too long")]
    LongRelease,
    #[error("the cluster's answer about a release of Helm cannot be read: {0}")]
    UnreadRelease(&'static str),
    #[error("a watch cannot go on: {}", .0.sentence())]
    WatchExpired(EndReason),
    #[error("the process stops")]
    Stopping,
}

/// The text of an error of the proxy itself, not of the cluster.
#[derive(Debug, Clone)]
pub struct ErrorText {
    pub status: StatusCode,
    /// A stable word for machines.
    pub code: &'static str,
    pub message: String,
    pub side: Side,
    pub action: &'static str,
    /// Seconds until it is worth another try.
    pub again: Option<u64>,
}

struct StatusParts {
    status: StatusCode,
    reason: &'static str,
    code: &'static str,
    message: String,
    side: Side,
    action: &'static str,
    /// Seconds, for `Retry-After`.
    again: Option<u64>,
}

/// Seconds after which a permit may be free again.
const STREAMS_AGAIN: u64 = 10;
const REQUESTS_AGAIN: u64 = 1;
const NEW_FILE: &str = "Take a new kubeconfig from the portal.";
const AGAIN: &str = "Try again; if it stays, tell the team that runs this service and quote the request id.";
const ELEVATE: &str = "Elevate in the portal, with a reason; then take a kubeconfig with those rights.";
const CLUSTER: &str = "Look at the cluster's page in the portal.";

impl ProxyError {
    /// Whose fault it is.
    pub fn side(&self) -> Side {
        self.status_parts().side
    }

    /// The stable word and the sentence.
    pub(crate) fn words(&self) -> (&'static str, String) {
        let shown = self.status_parts();
        (shown.code, shown.message)
    }

    /// The HTTP status that is answered.
    pub fn status(&self) -> StatusCode {
        self.status_parts().status
    }

    fn status_parts(&self) -> StatusParts {
        match self {
            Self::NoToken => unauthorized("no_token", "This address needs a bearer token.".to_owned()),
            Self::Refused(refusal) => refused(*refusal),
            Self::OtherTarget => {
                you(StatusCode::FORBIDDEN, "Forbidden", "other_cluster", "This token is for another cluster.".to_owned(), NEW_FILE)
            }
            Self::OtherKind => {
                you(StatusCode::FORBIDDEN, "Forbidden", "other_kind", "This token is no kubeconfig's.".to_owned(), NEW_FILE)
            }
            Self::Denied(denied) => rights_denied(denied),
            Self::Impersonation => you(
                StatusCode::FORBIDDEN,
                "Forbidden",
                "impersonation",
                "Impersonate-* headers (--as, --as-group, --as-uid) are not passed on: the cluster is told who you are."
                    .to_owned(),
                "Leave out --as; take a grant with the rights that you need.",
            ),
            Self::BadRequest(what) => {
                you(StatusCode::BAD_REQUEST, "BadRequest", "bad_request", format!("The request cannot be read: {what}."), "")
            }
            Self::Directory(error) => directory(error),
            Self::Dial(error) => dial(error),
            Self::NoAnswer => StatusParts {
                status: StatusCode::GATEWAY_TIMEOUT,
                reason: "Timeout",
                code: "cluster_slow",
                message: "The cluster accepted the connection but did not answer in time.".to_owned(),
                side: Side::Cluster,
                action: CLUSTER,
                again: None,
            },
            Self::Broken(_) => StatusParts {
                status: StatusCode::BAD_GATEWAY,
                reason: "ServiceUnavailable",
                code: "cluster_broke_off",
                message: "The cluster broke the connection off before it answered.".to_owned(),
                side: Side::Cluster,
                action: CLUSTER,
                again: None,
            },
            Self::Recording(error) => ours("not_recorded", format!("The session is not opened: {error}.")),
            Self::Crowded => ours("crowded", "Too many connections to this cluster are open.".to_owned()),
            Self::TooManyStreams(TooManyStreams { most }) => too_many(
                "too_many_streams",
                format!("{most} streams of yours are open here already."),
                "Close some watches, logs or sessions.",
                STREAMS_AGAIN,
            ),
            Self::TooManyRequests(TooManyRequests { most }) => too_many(
                "too_many_requests",
                format!("{most} requests of yours are under way here already."),
                "Send fewer at once, and read the answers of those that were sent.",
                REQUESTS_AGAIN,
            ),
            Self::NotThisWay(sentence) => you(
                StatusCode::FORBIDDEN,
                "Forbidden",
                "not_this_way",
                format!("This address is not passed on. {sentence}."),
                "",
            ),
            Self::Unrecordable => you(
                StatusCode::FORBIDDEN,
                "Forbidden",
                "not_recordable",
                "Sessions are recorded here, and what this one would carry cannot be.".to_owned(),
                "Use exec, attach or port-forward of a pod.",
            ),
            Self::Astray => StatusParts {
                status: StatusCode::BAD_GATEWAY,
                reason: "ServiceUnavailable",
                code: "redirect_refused",
                message: "The cluster answered with a redirect that leads out of it, which is not passed on: your token would go with it."
                    .to_owned(),
                side: Side::Cluster,
                action: CLUSTER,
                again: None,
            },
            Self::Unsearchable => StatusParts {
                status: StatusCode::BAD_GATEWAY,
                reason: "ServiceUnavailable",
                code: "not_searchable",
                message: "The cluster answered in a form in which credentials cannot be found, and read rights do not open those."
                    .to_owned(),
                side: Side::Cluster,
                action: "Ask for JSON.",
                again: None,
            },
            Self::TooOften(wait) => too_often(*wait),
            Self::LongBody => you(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestEntityTooLarge",
                "long_body",
                "A review has at most 1 MiB.".to_owned(),
                "",
            ),
            Self::ReviewEncoding => you(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                "review_encoding",
                "A review of one's own access is read in JSON or Kubernetes' protobuf, not packed.".to_owned(),
                "Send application/json.",
            ),
            Self::Rules(what) => StatusParts {
                status: StatusCode::BAD_GATEWAY,
                reason: "ServiceUnavailable",
                code: "rules_not_limited",
                message: format!("The cluster's list of rules cannot be limited to those of your grant: {what}."),
                side: Side::Cluster,
                action: "Ask for single actions: kubectl auth can-i VERB RESOURCE.",
                again: None,
            },
            Self::NotRelease(what) => you(
                StatusCode::FORBIDDEN,
                "Forbidden",
                "not_a_release",
                format!("Of Secrets, write rights open those that hold releases of Helm: {what}."),
                ELEVATE,
            ),
            Self::ReleaseEncoding => you(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                "release_encoding",
                "With write rights a release of Helm is written in JSON, or by a JSON, merge or strategic merge patch, not packed."
                    .to_owned(),
                "Send application/json.",
            ),
            Self::LongRelease => you(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestEntityTooLarge",
                "long_body",
                "The body of a release has at most 3 MiB.".to_owned(),
                "",
            ),
            Self::UnreadRelease(what) => StatusParts {
                status: StatusCode::BAD_GATEWAY,
                reason: "ServiceUnavailable",
                code: "release_not_read",
                message: format!(
                    "The type of that Secret cannot be checked in the cluster's answer, and write rights open releases of Helm only: {what}."
                ),
                side: Side::Cluster,
                action: CLUSTER,
                again: None,
            },
            Self::WatchExpired(why) => {
                let sentence = capital(why.sentence());
                StatusParts {
                    side: Side::Us,
                    ..you(StatusCode::GONE, "Expired", "watch_expired", sentence, "List and watch anew.")
                }
            }
            Self::Stopping => {
                ours("stopping", "This process of the service stops; another one takes its place.".to_owned())
            }
            Self::Audit(_) => {
                ours("audit_unavailable", "The audit trail cannot be written, so nothing was sent to the cluster.".to_owned())
            }
        }
    }

    /// The same words for a page.
    pub(super) fn error_text(&self) -> ErrorText {
        let StatusParts { status, code, message, side, action, again, .. } = self.status_parts();
        ErrorText { status, code, message, side, action, again }
    }

    /// The `Status` that says it.
    pub(super) fn object(&self, request_id: &str) -> Value {
        self.status_parts().object(request_id)
    }

    /// The answer: `Status` in JSON, never cached.
    pub fn response(&self, request_id: &str) -> Response<Bytes> {
        let shown = self.status_parts();
        let mut response = Response::new(Bytes::from(shown.object(request_id).to_string()));
        *response.status_mut() = shown.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if shown.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = shown.again {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl StatusParts {
    fn object(&self, request_id: &str) -> Value {
        let message = if self.action.is_empty() {
            format!("{} (request {request_id})", self.message)
        } else {
            format!("{} {} (request {request_id})", self.message, self.action)
        };
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": self.reason, "code": self.status.as_u16(),
            "details": { "causes": [{ "reason": self.code, "message": self.action, "field": self.side.name() }] },
        })
    }
}

fn you(
    status: StatusCode,
    reason: &'static str,
    code: &'static str,
    message: String,
    action: &'static str,
) -> StatusParts {
    StatusParts { status, reason, code, message, side: Side::You, action, again: None }
}

fn too_many(code: &'static str, message: String, action: &'static str, again: u64) -> StatusParts {
    let shown = you(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", code, message, action);
    StatusParts { again: Some(again), ..shown }
}

fn too_often(wait: TooOften) -> StatusParts {
    let message = format!("That comes too often; try again in {} s.", wait.seconds());
    too_many("too_often", message, "", wait.seconds())
}

fn unauthorized(code: &'static str, message: String) -> StatusParts {
    you(StatusCode::UNAUTHORIZED, "Unauthorized", code, message, NEW_FILE)
}

fn ours(code: &'static str, message: String) -> StatusParts {
    StatusParts {
        status: StatusCode::SERVICE_UNAVAILABLE,
        reason: "ServiceUnavailable",
        code,
        message,
        side: Side::Us,
        action: AGAIN,
        again: Some(5),
    }
}

fn refused(refusal: Refusal) -> StatusParts {
    match refusal {
        Refusal::Malformed => unauthorized("bad_token", "This is not a token of this service.".to_owned()),
        Refusal::Spent => unauthorized("spent_password", capital(&Refusal::Spent.to_string())),
        Refusal::Unknown => unauthorized("unknown_token", "No access has this token.".to_owned()),
        // The token still opens what reading needs.
        Refusal::Ended(why @ EndReason::ElevationOver) => {
            you(StatusCode::FORBIDDEN, "Forbidden", "elevation_over", capital(why.sentence()), ELEVATE)
        }
        Refusal::Ended(why) => unauthorized("grant_ended", capital(why.sentence())),
        Refusal::TooOften(wait) => too_often(wait),
        Refusal::Unsure | Refusal::Unavailable => {
            ours("store_away", "The store does not answer, so no access can be checked.".to_owned())
        }
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}.", first.to_ascii_uppercase(), letters.as_str()))
}

fn rights_denied(denied: &Denied) -> StatusParts {
    let needed = match denied.needed {
        Rights::Read => "read",
        Rights::Write => "write",
        Rights::Admin => "admin",
    };
    let mut message =
        format!("{} needs a grant with {needed} rights; yours has {}.", denied.what, denied.held.name());
    let mut code = "rights";
    if let Some(why) = denied.fallen {
        code = "elevation_over";
        message = format!("{message} {}", capital(why));
    }
    you(StatusCode::FORBIDDEN, "Forbidden", code, message, denied.advice.unwrap_or(ELEVATE))
}

fn directory(error: &DirectoryError) -> StatusParts {
    match error {
        DirectoryError::Unknown => you(
            StatusCode::NOT_FOUND,
            "NotFound",
            "no_cluster",
            "No cluster has this resource id.".to_owned(),
            "",
        ),
        DirectoryError::NotReachable(what) => StatusParts {
            status: StatusCode::BAD_GATEWAY,
            reason: "ServiceUnavailable",
            code: "not_reachable",
            message: format!("The cluster cannot be reached: {what}."),
            side: Side::Cluster,
            action: CLUSTER,
            again: None,
        },
        DirectoryError::Unusable(what) => StatusParts {
            status: StatusCode::BAD_GATEWAY,
            reason: "InternalError",
            code: "stored_access",
            message: format!("What is stored about the cluster cannot be used: {what}."),
            side: Side::Us,
            action: AGAIN,
            again: None,
        },
        DirectoryError::Unavailable(_) => ours("store_away", "The store does not answer.".to_owned()),
    }
}

fn dial(error: &DialError) -> StatusParts {
    let what = match error.stage {
        Stage::Resolve => "Its name could not be resolved",
        Stage::Allow => "Its address is not one that this service may dial",
        Stage::Connect if error.timed_out => "It did not accept a connection in time",
        Stage::Connect => "It refused the connection",
        Stage::Proxy => "The way over the private link failed",
        Stage::Tls if error.timed_out => "It did not finish the TLS handshake in time",
        Stage::Tls if error.broke_off() => "It ended the connection during the TLS handshake",
        Stage::Tls => "Its certificate or ours was not accepted",
    };
    StatusParts {
        status: if error.timed_out { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY },
        reason: if error.timed_out { "Timeout" } else { "ServiceUnavailable" },
        code: "cluster_away",
        message: format!("The cluster did not answer. {what}."),
        side: error.side,
        action: CLUSTER,
        again: None,
    }
}
