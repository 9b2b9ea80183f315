//! A portal of a few lines in this process.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use clap::{Parser, Subcommand};
use rp_base::{Clock as _, SystemClock, Timestamp};
use serde_json::{Value, json};

use crate::*;

pub(super) const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/Harbor";
pub(super) const KUBECONFIG: &str = "{\n    \"kind\": \"Config\"\n}";

#[derive(Parser)]
pub(super) struct Aro {
    #[command(subcommand)]
    pub(super) verb: ParsedVerb,
}

/// A session of a minute, most of it silence, and of tricks.
pub(super) const CAST: &str = concat!(
    "{\"version\":3,\"term\":{\"cols\":100,\"rows\":30}}\n",
    "[0.1,\"o\",\"\\u001b[32m$\\u001b[0m ls\\r\\n\"]\n[0,\"o\",\"\\u001b]0;title\\u0007\\u001b[6n\"]\n",
    "[0.1,\"i\",\"typed\"]\n[60,\"e\",\"gone\\n\"]\n[0,\"m\",\"exit 0\\u001b[2J\"]\n[0,\"x\",\"0\"]\n",
);

/// As the binary puts them together.
#[derive(Subcommand)]
pub(super) enum ParsedVerb {
    #[command(flatten)]
    Verb(Verb),
    #[command(subcommand)]
    Audit(AuditVerb),
}

impl ParsedVerb {
    pub(super) fn verb(self) -> Verb {
        match self {
            Self::Verb(verb) => verb,
            Self::Audit(verb) => Verb::Audit(AuditArgs { verb }),
        }
    }
}

/// What the portal saw: method, path with query, body.
type RecordedRequest = (String, String, Value);

pub(super) struct Portal {
    pub(super) url: String,
    pub(super) seen: Receiver<RecordedRequest>,
    pub(super) files: tempfile::TempDir,
}

fn error(status: StatusCode, code: &str) -> Response {
    let body = json!({"error": {"code": code, "message": "No.", "side": "you", "action": "Ask.", "request_id": "r-1"}});
    (status, axum::Json(body)).into_response()
}

fn in_a_quarter() -> Timestamp {
    SystemClock.now() + Duration::from_secs(900)
}

fn token(body: &Value) -> Response {
    static POLLS: AtomicU32 = AtomicU32::new(0);
    if body["device_code"] == "d" && POLLS.fetch_add(1, Ordering::Relaxed) == 0 {
        return error(StatusCode::BAD_REQUEST, "authorization_pending");
    }
    if body["code"] != "right" && body["device_code"] != "d" {
        return error(StatusCode::BAD_REQUEST, "invalid_grant");
    }
    let person = json!({"sub": "s", "name": "sre", "roles": ["sre"]});
    axum::Json(json!({"token": "good", "not_after": in_a_quarter(), "person": person})).into_response()
}

fn manifest(id: &str, state: &str) -> Value {
    json!({"id": id, "resourceId": ID.to_lowercase(), "task": "fix SSH", "state": state, "text": "a rule is locked",
        "runAfter": "2026-11-21T12:00:00Z"})
}

/// An operation of two steps, of which the second took so long or still runs.
fn operation(id: &str, state: &str, took: &Value) -> Value {
    let failed = state == "failed";
    let step = |at: u32, name: &str, took: &Value, failed: bool| {
        json!({"name": name, "at": at, "started": "2026-11-21T12:00:00Z", "tookMs": took, "attempts": 1,
            "message": if took.is_null() || failed { "2 of 3 are ready" } else { "" }, "failed": failed})
    };
    json!({"id": id, "kind": "Creating", "phase": "Bootstrap", "state": state, "started": "2026-11-21T12:00:00Z",
        "ended": null, "result": "", "error": if failed { "timed out" } else { "" }, "attempt": 1, "step": 2, "planned": 9,
        "current": {"name": "condition.apiServersReady"},
        "steps": [step(1, "action.ensureResourceGroup", &json!(1_250), false), step(2, "condition.apiServersReady", took, failed)],
        "lines": [{"at": "2026-11-21T12:00:01Z", "level": "info", "text": "Taken up"}], "diagnostics": []})
}

fn answer(request: &Request, path: &str, query: &str, body: &Value) -> Response {
    let header =
        |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if path == "/api/v1/login/token" {
        return token(body);
    }
    if path == "/api/v1/login/device" {
        let asked = json!({"device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": "https://p/device", "expires_in": 60, "interval": 1});
        return axum::Json(asked).into_response();
    }
    let by_cookie = header("cookie") == "__Host-session=abc";
    if !by_cookie && header("authorization") != "Bearer good" {
        return error(StatusCode::UNAUTHORIZED, "not_signed_in");
    }
    let changes = request.method() != Method::GET;
    if by_cookie
        && changes
        && (header("x-csrf-token") != "to+ken=" || !header("origin").starts_with("http://127."))
    {
        return error(StatusCode::FORBIDDEN, "csrf");
    }
    match (request.method().as_str(), path) {
        ("GET", path) if path.ends_with("/harbor/ssh/machines") => axum::Json(json!({"items": [
            {"name": "harbor-x-master-0", "control_plane": true, "ready": true},
        ]})).into_response(),
        ("GET", "/api/v1/grants/s-kept") => axum::Json(json!({"id": "s-kept", "state": "active", "not_after": in_a_quarter()})).into_response(),
        ("GET", "/api/v1/grants/s-over") => axum::Json(json!({"id": "s-over", "state": "ended", "end_reason": "elevation_over", "not_after": in_a_quarter()})).into_response(),
        ("POST", "/api/v1/grants/s-kept/ssh-certificate") => error(StatusCode::GONE, "grant_ended"),
        ("POST", "/api/v1/grants/s-new/ssh-certificate") => axum::Json(json!({
            "certificate": "ssh-ed25519-cert-v01@openssh.com AAAA", "host": "ssh.example", "port": 2222,
            "known_hosts": ["@cert-authority [ssh.example]:2222 ssh-ed25519 AAAA"],
        })).into_response(),
        ("POST", "/api/v1/grants") if body["kind"] == "ssh" => axum::Json(json!({"grant": {"id": "s-new"}})).into_response(),
        ("POST", "/api/v1/grants") if body["plugin"] == true => axum::Json(json!({
            "grant": {"id": "g-1", "kind": "kubeconfig", "rights": body["rights"]},
            "server": "https://proxy.example/x/kubeconfig/proxy", "ca": "PEM",
        })).into_response(),
        ("POST", "/api/v1/grants/g-1/token") => axum::Json(json!({"token": "aro1_kubeconfig_x", "not_after": in_a_quarter()})).into_response(),
        ("POST", "/api/v1/grants/g-ended/token") => error(StatusCode::FORBIDDEN, "grant_revoked"),
        ("POST", "/api/v1/grants/g-1/extend") => axum::Json(json!({"id": "g-1", "not_after": in_a_quarter()})).into_response(),
        ("POST", "/api/v1/grants/revoke") => axum::Json(json!({"revoked": 3})).into_response(),
        ("POST", "/api/v1/logout") => StatusCode::NO_CONTENT.into_response(),
        ("POST", "/api/v1/elevations") => axum::Json(json!({"id": "e-1", "state": "waiting", "owner": {"name": "sre"}, "rights": body["rights"], "reason": body["reason"]})).into_response(),
        ("GET", "/api/v1/elevations/e-1") => axum::Json(json!({"id": "e-1", "state": "refused", "owner": {"name": "sre"}})).into_response(),
        ("POST", "/api/v1/elevations/e-1/approve") => error(StatusCode::FORBIDDEN, "sign_in_again"),
        ("GET", "/api/v1/robots") => axum::Json(json!({"items": [{"name": "nightly", "state": "active", "rights": "read"}]})).into_response(),
        ("POST", "/api/v1/robots") => axum::Json(json!({"robot": {"name": body["name"]}, "token": "aro1_robot_x", "not_after": in_a_quarter()})).into_response(),
        ("GET", "/api/v1/notifications") => axum::Json(json!({"items": [{"name": "hub", "kind": "webhook", "waiting": 0,
            "notifications": [{"id": "n-1", "event": "test", "state": "delivered", "attempts": 1, "title": "Test notification"}]}]})).into_response(),
        ("POST", "/api/v1/notifications/hub/test") => (StatusCode::CREATED, axum::Json(json!({"id": "n-2"}))).into_response(),
        ("GET", "/api/v1/audit/export") => "{\"seq\":1}\n{\"seq\":2}\n".into_response(),
        ("GET", "/api/v1/audit/report") if query.contains("format=csv") => {
            "target,person\r\n".into_response()
        }
        ("GET", "/api/v1/audit/report") => axum::Json(json!({"target": ID, "people": []})).into_response(),
        ("GET", "/api/info") => axum::Json(json!({"username": "sre\u{1b}[31m", "csrf": "to+ken=", "roles": ["viewer", "sre"]})).into_response(),
        ("GET", "/api/v1/clusters") => {
            let (name, next) = if query.contains("continue=") { ("Quay", None) } else { ("Harbor", Some("n 1")) };
            let items = json!([{"resourceId": ID, "name": name, "state": "Succeeded", "version": "4.18.1", "source": "aro", "health": "ok"}]);
            axum::Json(json!({"items": items, "total": 2, "continue": next})).into_response()
        }
        ("GET", path) if path.ends_with("/harbor/nodes") => axum::Json(json!({
            "as_of": "2026-11-21T12:00:00Z", "state": "stale", "why": "it does not answer", "left_out": 3,
            "items": [{"name": "master-0", "ready": "False", "schedulable": false, "roles": ["control-plane", "master"], "version": "v1.31.1"}],
        })).into_response(),
        ("GET", path) if path.ends_with("/harbor/operators") => axum::Json(json!({
            "as_of": "2026-11-21T12:00:00Z", "state": "live", "left_out": 0,
            "items": [{"name": "etcd", "version": "4.18.3", "available": {"status": "True"}, "progressing": {"status": "False"}, "degraded": {"status": "True", "message": "no quorum, 1 of 3"}}],
        })).into_response(),
        ("GET", path) if path.ends_with("/harbor/events") => axum::Json(json!({
            "as_of": "2026-11-21T12:00:00Z", "state": "live", "left_out": 0,
            "items": [
                {"namespace": "openshift-etcd", "name": "e2", "type": "Warning", "reason": "Unhealthy", "message": "probe failed", "object_kind": "Pod", "object_namespace": "openshift-etcd", "object_name": "etcd-0", "last": "2026-11-21T12:00:00Z", "count": 4},
                {"namespace": "openshift-etcd", "name": "e1", "type": "Normal", "reason": "Pulled", "message": "image", "object_kind": "Pod", "object_namespace": "openshift-etcd", "object_name": "etcd-0", "last": "2026-11-21T11:00:00Z", "count": 1},
            ],
        })).into_response(),
        ("GET", path) if path == "/api/v1/maintenance" || path.ends_with("/harbor/maintenance") => {
            // Looked at again, it is over.
            static ASKED: AtomicU32 = AtomicU32::new(0);
            let state = if ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { "InProgress" } else { "Failed" };
            axum::Json(json!({"items": [manifest("m-1", state), manifest("m-2", "Pending")]})).into_response()
        }
        ("GET", path) if path.ends_with("/harbor/operator") => axum::Json(json!({
            "asOf": "2026-11-21T12:00:00Z", "state": "live", "operatorVersion": "v7", "conditions": [
                {"type": "ServicePrincipalValid", "status": "False", "health": "wrong", "message": "AADSTS7000222", "action": "Set another secret."},
                {"type": "MachineValid", "status": "True", "health": "healthy", "message": "", "action": ""},
            ], "flags": [
                {"name": "aro.banner.enabled", "effective": "false", "default": "false", "source": "default", "changed": false, "pending": false, "problem": ""},
                {"name": "aro.rbac.enabled", "effective": "true", "document": "false", "source": "document", "changed": true, "pending": true, "problem": ""},
            ],
        })).into_response(),
        ("POST", path) if path.ends_with("/harbor/operator/flags") => {
            axum::Json(json!({"flags": body["flags"], "manifest": manifest("m-1", "Pending")})).into_response()
        }
        ("POST", path) if path.ends_with("/harbor/nodes/worker-1/drain") => {
            // The first request leaves a pod, the second does not.
            let left = if body["waitSeconds"] == 15 { json!([]) } else { json!([blocked_pod()]) };
            let done = left.as_array().is_some_and(Vec::is_empty);
            axum::Json(json!({"action": "node.drain", "kind": "Node", "namespace": "", "name": "worker-1",
                "before": "schedulable", "after": "cordoned", "changed": true, "dryRun": body["dryRun"],
                "drain": {"done": done, "moved": ["openshift-dns/a"], "left": left}})).into_response()
        }
        ("POST", path) if path.contains("/harbor/workloads/") || path.contains("/harbor/csrs/") => {
            axum::Json(json!({"action": "workload.scale", "kind": "Deployment", "namespace": "openshift-dns",
                "name": "web", "before": "2 replicas", "after": "3 replicas", "changed": true, "dryRun": false})).into_response()
        }
        ("GET", "/api/v1/maintenance/schedules") => axum::Json(json!({"items": [
            {"id": "s-1", "task": "fix SSH", "state": "Stopped", "calendar": "Tue *-*-* 4:00", "across": "2h", "waves": [5, 100],
                "next": null, "rollout": {"window": "2026-11-24T04:00:00Z", "failed": ["/a", "/b"], "of": 7, "stopped": "2026-11-24T05:00:00Z"}},
            {"id": "s-2", "task": "operator update", "state": "Enabled", "calendar": "*-*-* 4:00", "across": "2h", "waves": [],
                "next": "2026-11-25T04:00:00Z", "rollout": null},
        ]})).into_response(),
        ("GET", "/api/v1/maintenance/tasks") => axum::Json(json!({"items": [
            {"id": "888fc221-b059-49db-bd02-22ad86cccd6b", "name": "fix SSH", "about": "Repairs rules.", "missing": ""},
        ]})).into_response(),
        ("POST", path) if path.ends_with("/harbor/maintenance") => {
            // The second never begins.
            let id = if body["task"] == "operator update" { "m-2" } else { "m-1" };
            axum::Json(manifest(id, "Pending")).into_response()
        }
        ("POST", path) if path.ends_with("/harbor/maintenance/m-1/cancel") => {
            axum::Json(manifest("m-1", "Cancelled")).into_response()
        }
        ("GET", path) if path.ends_with("/harbor/operations") => axum::Json(json!({"items": [
            operation("o-2", "running", &json!(null)), operation("o-1", "succeeded", &json!(900)),
        ]})).into_response(),
        ("GET", path) if path.ends_with("/harbor/operations/o-1") => {
            axum::Json(operation("o-1", "succeeded", &json!(900))).into_response()
        }
        ("GET", path) if path.ends_with("/harbor/operations/o-2") => {
            // Asked again, it has ended.
            static ASKED: AtomicU32 = AtomicU32::new(0);
            let over = ASKED.fetch_add(1, Ordering::Relaxed) > 0;
            let (state, took) = if over { ("failed", json!(1_500)) } else { ("running", json!(null)) };
            axum::Json(operation("o-2", state, &took)).into_response()
        }
        ("GET", path) if path.ends_with("/harbor/pods/openshift-etcd/etcd-0/log") => "one\ntwo\n".into_response(),
        ("POST", path) if path.ends_with("/harbor/kubeconfig/new") => match body["rights"].as_str() {
            Some("admin") => error(StatusCode::FORBIDDEN, "elevation_needed"),
            _ => KUBECONFIG.into_response(),
        },
        ("POST", "/api/v1/imports") => axum::Json(json!({"name": body["name"], "server": "https://h"})).into_response(),
        ("GET", "/api/v1/imports") => axum::Json(json!({"items": [{"name": "lab", "server": "https://h"}]})).into_response(),
        ("DELETE", "/api/v1/imports/lab") => StatusCode::NO_CONTENT.into_response(),
        ("GET", "/api/v1/recordings") => {
            let hits = if query.contains("q=") { json!([{"at_ms": 61_000, "line": "member is healthy"}]) } else { Value::Null };
            axum::Json(json!({"items": [{"id": "rec-1", "kind": "ssh", "state": "broken off", "person": "sre\u{1b}[31m", "started": "2026-11-21T12:00:00Z",
                "cluster": ID, "place": "master-0", "hits": hits}]})).into_response()
        }
        ("GET", "/api/v1/recordings/rec-1") => axum::Json(json!({"id": "rec-1", "kind": "ssh", "outcome": "exit 0"})).into_response(),
        ("GET", "/api/v1/recordings/rec-1/cast") => CAST.into_response(),
        ("GET", "/api/v1/grants") => axum::Json(json!({"items": [
            {"id": "g1", "kind": "kubeconfig", "state": "active", "owner": {"name": "sre"}, "rights": "write", "rights_now": "read"},
            {"id": "g2", "kind": "ssh", "state": "ended", "end_reason": "elevation_over", "owner": {"name": "sre"}, "rights": "write"},
        ]})).into_response(),
        ("GET", "/api/v1/elevations") => axum::Json(json!({"items": [{"id": "e-1", "state": "active", "owner": {"name": "sre"}, "rights": "write"}]})).into_response(),
        ("GET", path) if path.ends_with("/pods/vault/app/log") => error(StatusCode::FORBIDDEN, "reason_needed"),
        ("DELETE", "/api/v1/grants/g1") => axum::Json(json!({"id": "g1"})).into_response(),
        ("DELETE", "/api/v1/grants/away") => error(StatusCode::BAD_GATEWAY, "store_away"),
        ("DELETE", "/api/v1/grants/often") => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")]).into_response(),
        ("GET", "/api/v1/audit") => axum::Json(json!({"items": [{"at": "2026-11-21T12:00:00Z", "verb": "get", "resource": "pods", "subresource": "log", "namespace": "n", "name": "a", "actor": {"name": "sre"}, "result": {"word": "ok"}}]})).into_response(),
        _ => (StatusCode::NOT_FOUND, "<html>").into_response(),
    }
}

async fn handle(State(seen): State<Arc<Sender<RecordedRequest>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    let request = Request::from_parts(parts, axum::body::Body::empty());
    if path != "/api/info" {
        seen.send((request.method().to_string(), format!("{path}?{query}"), body.clone())).unwrap();
    }
    answer(&request, &path, &query, &body)
}

pub(super) async fn portal() -> Portal {
    let (sender, seen) = channel();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new().fallback(handle).with_state(Arc::new(sender));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let files = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("token", "good\n"),
        ("bad", "expired\n"),
        ("cookie", "__Host-session=abc\n"),
        ("k", "kind: Config\n"),
    ] {
        std::fs::write(files.path().join(name), content).unwrap();
    }
    Portal { url, seen, files }
}

impl Portal {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Runs `aro ARGS` with a credential; gives exit status, standard output and standard error.
    pub(super) async fn run_as(&self, credential: (&str, &str), args: &[&str]) -> (Exit, String, String) {
        let file = self.path(credential.1);
        let connection = ["--portal", &self.url, credential.0, file.to_str().unwrap()];
        let line: Vec<&str> = args.iter().chain(&connection).copied().collect();
        let notes = Buffer::default();
        let (exit, answer) = self.run_plain(&line, &notes).await;
        (exit, answer, notes.text())
    }

    /// Runs `aro ARGS` with the sign-ins of this portal's folder and no other credential.
    pub(super) async fn run_plain(&self, args: &[&str], notes: &Buffer) -> (Exit, String) {
        let config = self.path("aro");
        let folder = ["--config-dir", config.to_str().unwrap()];
        let line = ["aro"].iter().chain(args).chain(&folder);
        let verb = Aro::try_parse_from(line).unwrap().verb.verb();
        let answer = Buffer::default();
        let mut out = Output::with_writers(Box::new(answer.clone()), Box::new(notes.clone()));
        let exit = run_to_exit(verb, &mut out).await;
        (exit, answer.text())
    }

    pub(super) async fn run(&self, args: &[&str]) -> (Exit, String, String) {
        self.run_as(("--token-file", "token"), args).await
    }
}

#[derive(Clone, Default)]
pub(super) struct Buffer(Arc<tokio::sync::Mutex<Vec<u8>>>);

impl Buffer {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.try_lock().unwrap().clone()).unwrap()
    }
}

impl Write for Buffer {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.try_lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A pod that a budget holds.
fn blocked_pod() -> Value {
    json!({"namespace": "openshift-dns", "name": "b", "controller": "", "localData": true, "state": "blocked",
        "why": "needs 1 healthy pods"})
}
