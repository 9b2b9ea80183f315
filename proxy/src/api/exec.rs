//! A command in a container for the portal's terminal. Authorization, audit, identity and termination are those of a
//! client's exec.
//!
//! The far side speaks `v5.channel.k8s.io` (KEP-4006): one byte names the channel of a message, and either end may
//! close a channel.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rp_access::{ActiveGrant, Refusal};
use rp_base::Id;
use rp_documents::{GrantKind, Phase, Side};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::audit::{AuditEntryGuard, entry};
use super::error::{ErrorText, ProxyError};
use super::redaction::Search;
use super::request::classify;
use super::request_context::{ClientBody, RequestContext};
use super::rules::needed;
use super::service::ApiProxy;
use super::upgrade::{Session, handshake};

/// Status bodies of an API server are small; more is not read.
const MOST_STATUS: usize = 64 * 1024;
const PROTOCOL: &str = "v5.channel.k8s.io";
/// Room for what is read at once, and the largest message that an API server sends for an exec.
const READ: usize = 16 * 1024;
const MOST_MESSAGE: usize = 1024 * 1024;

/// A command to start in a container.
#[derive(Debug)]
pub(crate) struct ExecRequest<'a> {
    /// A grant of kind terminal.
    pub(crate) live: Arc<ActiveGrant>,
    pub(crate) request_id: Id,
    pub(crate) from: IpAddr,
    /// Validated names.
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    /// Empty: the cluster's choice.
    pub(crate) container: &'a str,
    pub(crate) command: &'a [&'a str],
}

/// A running command on a terminal of its own.
pub(crate) struct RunningExec {
    /// Messages of `v5.channel.k8s.io`.
    pub(crate) socket: WebSocketStream<TokioIo<Upgraded>>,
    pub(crate) held: ExecGuard,
}

/// Keeps a running command counted. Dropping it writes the end of the audit entry and frees the stream permit.
pub(crate) struct ExecGuard(Session);

impl ExecGuard {
    /// Counters of the bytes for the person, and of those from them.
    pub(crate) fn counters(&self) -> (Arc<AtomicU64>, Arc<AtomicU64>) {
        self.0.settle.counters()
    }

    /// Resolves when the access ends or the process must stop; gives the side that caused it.
    pub(crate) fn over(&self) -> impl Future<Output = Side> + use<> {
        let (ended, cut) = (self.0.ended.clone(), self.0.cut.clone());
        async move {
            tokio::select! {
                () = ended.cancelled() => Side::You,
                () = cut.cancelled() => Side::Us,
            }
        }
    }

    /// How it ended, unless it ended well: `cut` or `failed`.
    pub(crate) fn outcome(&mut self, word: &str, side: Side) {
        self.0.settle.outcome(word, side);
    }
}

impl ApiProxy {
    /// Starts a command on a terminal. The start is in the audit trail before the cluster hears of it.
    ///
    /// # Errors
    /// Refused, by us or by the cluster, or the way failed: in words for the person.
    pub(crate) async fn exec(&self, exec: ExecRequest<'_>) -> Result<RunningExec, Box<ErrorText>> {
        self.start(exec).await.map_err(|(error, context)| match error {
            ExecError::Ours(error) => {
                // Logs and counts the error; the HTTP response itself is not sent to the browser's socket.
                drop(self.failed(&error, &context, None));
                Box::new(error.error_text())
            }
            ExecError::Theirs(told) => told,
        })
    }

    async fn start(&self, exec: ExecRequest<'_>) -> Result<RunningExec, (ExecError, Box<RequestContext>)> {
        let path = exec.path();
        let (uri, query) = path.as_ref().map_or(("/", None), |path| (path.path(), path.query()));
        let classified = classify(&Method::GET, uri, query);
        let needed = needed(&classified, true);
        let context = RequestContext {
            request_id: exec.request_id.clone(),
            ip: exec.from,
            live: Arc::clone(&exec.live),
            upgrade: true,
            classified,
            needed,
            search: Search::None,
            release: None,
            path: path.clone().unwrap_or_else(|| PathAndQuery::from_static("/")),
        };
        match self.started(path.is_some(), &context).await {
            Ok(running) => Ok(running),
            Err(failed) => Err((failed, Box::new(context))),
        }
    }

    async fn started(&self, readable: bool, context: &RequestContext) -> Result<RunningExec, ExecError> {
        if !readable {
            return Err(ProxyError::BadRequest("its path").into());
        }
        if context.live.grant.kind != GrantKind::Terminal {
            return Err(ProxyError::OtherKind.into());
        }
        let mut key = [0u8; 16];
        self.random.fill(&mut key);
        let key = STANDARD.encode(key);
        let request = upgrade_request(&key).ok_or(ProxyError::BadRequest("its key"))?;
        let open = self.check(&request, context)?.stream();
        let from = context.ip.to_string();
        let (began, id, live) = (self.clock.now(), &context.request_id, &context.live);
        let make = |phase| entry(began, phase, id, live, &from, &context.classified);
        Box::pin(self.audit.promise(make(Phase::Start))).await.map_err(ProxyError::Audit)?;
        let mut settle = AuditEntryGuard::new(make(Phase::End), &self.audit, &self.clock);
        // Access that ended while the entry was written must not be used.
        if live.token_for(context.needed).is_cancelled() {
            return Err(ProxyError::Refused(Refusal::Ended(live.end_reason(self.clock.now()))).into());
        }
        let assembled = self.assemble(&request, context, &mut settle).await;
        let (upstream, head) = match assembled {
            Ok(assembled) => assembled,
            Err(error) => return Err(exec_failed(error, &mut settle)),
        };
        let mut session = Session {
            live: Arc::clone(live),
            ended: live.token_for(context.needed),
            settle,
            open,
            streams: self.metrics.streams.track(),
            clock: Arc::clone(&self.clock),
            request_id: context.request_id.to_string(),
            cut: self.cut.clone(),
            idle: None,
            overseer: Arc::clone(&self.overseer),
            // The terminal records the session itself, with resizes and the exit status.
            recorder: None,
            input: false,
            // And says itself why it ends.
            has_status: false,
        };
        let answered = Box::pin(handshake(&upstream, head, self.timeouts.head, &session)).await;
        let answer = answered.map_err(|error| exec_failed(error, &mut session.settle))?;
        session.settle.status(answer.status().as_u16(), None);
        self.count(&context.classified, answer.status().as_u16(), None);
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(ExecError::Theirs(Box::new(refused(answer).await)));
        }
        check_handshake(&answer, &key).map_err(|error| exec_failed(error, &mut session.settle))?;
        let upgraded = hyper::upgrade::on(answer).await;
        let upgraded = upgraded
            .map_err(|error| exec_failed(ProxyError::Broken(Box::new(error)), &mut session.settle))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .write_buffer_size(0)
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, Some(config)).await;
        Ok(RunningExec { socket, held: ExecGuard(session) })
    }
}

enum ExecError {
    Ours(ProxyError),
    Theirs(Box<ErrorText>),
}

impl From<ProxyError> for ExecError {
    fn from(error: ProxyError) -> Self {
        Self::Ours(error)
    }
}

fn exec_failed(error: ProxyError, settle: &mut AuditEntryGuard) -> ExecError {
    settle.status(error.status().as_u16(), Some(error.side()));
    ExecError::Ours(error)
}

impl ExecRequest<'_> {
    fn path(&self) -> Option<PathAndQuery> {
        let text = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut path = format!("/api/v1/namespaces/{}/pods/{}/exec?", self.namespace, self.pod);
        if !self.container.is_empty() {
            path.push_str(&format!("container={}&", text(self.container)));
        }
        for word in self.command {
            path.push_str(&format!("command={}&", text(word)));
        }
        // On a terminal there is no stream of errors apart.
        path.push_str("stdin=true&stdout=true&tty=true");
        path.parse().ok()
    }
}

fn upgrade_request(key: &str) -> Option<Request<ClientBody>> {
    let mut request = Request::new(None);
    let headers = request.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    headers.insert(header::SEC_WEBSOCKET_KEY, HeaderValue::from_str(key).ok()?);
    Some(request)
}

/// The cluster switched to what was asked for, and read our key.
fn check_handshake(answer: &Response<Incoming>, key: &str) -> Result<(), ProxyError> {
    let is = |name, wanted: &str| {
        let given = answer.headers().get(name).map(HeaderValue::as_bytes);
        given.is_some_and(|given: &[u8]| given.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    let accept = answer.headers().get(header::SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    let right = is(header::UPGRADE, "websocket")
        && is(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL)
        && accept == Some(derive_accept_key(key.as_bytes()).as_bytes());
    if right {
        Ok(())
    } else {
        Err(ProxyError::Broken("the cluster switched to a protocol that was not asked for".into()))
    }
}

/// The error text of the cluster's refusal.
async fn refused(answer: Response<Incoming>) -> ErrorText {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MOST_STATUS).collect();
    let body = tokio::time::timeout(std::time::Duration::from_secs(5), body).await;
    let bytes = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let said: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let said = said.get("message").and_then(serde_json::Value::as_str).unwrap_or_default();
    let said = rp_base::text::clean(said, 500);
    let message = match (status.as_u16(), said.is_empty()) {
        (_, false) => format!("The cluster refused: {said}"),
        (404, true) => "The cluster has no such pod or container.".to_owned(),
        (code, true) => format!("The cluster refused with status {code}."),
    };
    ErrorText { status, code: "cluster_refused", message, side: Side::Cluster, action: "", again: None }
}
