//! Against a portal of a few lines in this process.

use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use clap::Parser;
use serde_json::{Value, json};

use crate::args::seconds;
use crate::*;

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/Harbor";
const KUBECONFIG: &str = "{\n    \"kind\": \"Config\"\n}";

#[derive(Parser)]
struct Aro {
    #[command(subcommand)]
    verb: Verb,
}

/// What the portal saw: method, path with query, body.
type Seen = (String, String, Value);

struct Portal {
    url: String,
    seen: Receiver<Seen>,
    files: tempfile::TempDir,
}

fn error(status: StatusCode, code: &str) -> Response {
    let body = json!({"error": {"code": code, "message": "No.", "side": "you", "action": "Ask.", "request_id": "r-1"}});
    (status, axum::Json(body)).into_response()
}

fn answer(request: &Request, path: &str, query: &str, body: &Value) -> Response {
    let header =
        |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
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
        ("GET", "/api/info") => axum::Json(json!({"username": "sre\u{1b}[31m", "csrf": "to+ken=", "roles": ["viewer", "sre"]})).into_response(),
        ("GET", "/api/v1/clusters") => {
            let (name, next) = if query.contains("continue=") { ("Quay", None) } else { ("Harbor", Some("n 1")) };
            let items = json!([{"resourceId": ID, "name": name, "state": "Succeeded", "version": "4.18.1", "source": "aro", "health": "ok"}]);
            axum::Json(json!({"items": items, "total": 2, "continue": next})).into_response()
        }
        ("POST", path) if path.ends_with("/harbor/kubeconfig/new") => match body["rights"].as_str() {
            Some("admin") => error(StatusCode::FORBIDDEN, "elevation_needed"),
            _ => KUBECONFIG.into_response(),
        },
        ("POST", "/api/v1/imports") => axum::Json(json!({"name": body["name"], "server": "https://h"})).into_response(),
        ("GET", "/api/v1/imports") => axum::Json(json!({"items": [{"name": "lab", "server": "https://h"}]})).into_response(),
        ("DELETE", "/api/v1/imports/lab") => StatusCode::NO_CONTENT.into_response(),
        ("GET", "/api/v1/grants") => axum::Json(json!({"items": [{"id": "g1", "kind": "kubeconfig", "state": "active", "owner": {"name": "sre"}}]})).into_response(),
        ("DELETE", "/api/v1/grants/g1") => axum::Json(json!({"id": "g1"})).into_response(),
        ("DELETE", "/api/v1/grants/away") => error(StatusCode::BAD_GATEWAY, "store_away"),
        ("GET", "/api/v1/audit") => axum::Json(json!({"items": [{"at": "2026-11-21T12:00:00Z", "verb": "get", "resource": "pods", "subresource": "log", "namespace": "n", "name": "a", "actor": {"name": "sre"}, "result": {"word": "ok"}}]})).into_response(),
        _ => (StatusCode::NOT_FOUND, "<html>").into_response(),
    }
}

async fn handle(State(seen): State<Arc<Sender<Seen>>>, request: Request) -> Response {
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

async fn portal() -> Portal {
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
    fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Runs `aro ARGS` with a credential; gives exit status, standard output and standard error.
    async fn run_as(&self, credential: (&str, &str), args: &[&str]) -> (Exit, String, String) {
        let file = self.path(credential.1);
        let connection = ["--portal", &self.url, credential.0, file.to_str().unwrap()];
        let line = ["aro"].iter().chain(args).chain(&connection);
        let verb = Aro::try_parse_from(line).unwrap().verb;
        let (answer, notes) = (Buffer::default(), Buffer::default());
        let mut out = Output::to(Box::new(answer.clone()), Box::new(notes.clone()));
        let exit = run_to_exit(verb, &mut out).await;
        (exit, answer.text(), notes.text())
    }

    async fn run(&self, args: &[&str]) -> (Exit, String, String) {
        self.run_as(("--token-file", "token"), args).await
    }
}

#[derive(Clone, Default)]
struct Buffer(Arc<tokio::sync::Mutex<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
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

#[tokio::test]
async fn lists_every_page_in_each_format() {
    let portal = portal().await;
    let (exit, table, notes) = portal.run(&["clusters", "list", "4.18 x"]).await;
    assert_eq!((exit, notes.as_str()), (Exit::Ok, ""));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("NAME    STATE      VERSION  HEALTH  SOURCE  RESOURCE ID"), "{table}");
    assert!(
        lines.len() == 3
            && lines[1].starts_with("Harbor  Succeeded  4.18.1   ok")
            && lines[2].starts_with("Quay")
    );
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/clusters?q=4.18+x&limit=500");
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/clusters?q=4.18+x&limit=499&continue=n+1");

    let (_, text, notes) = portal.run(&["clusters", "list", "--limit", "1", "-o", "json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["items"][0]["name"], "Harbor");
    assert_eq!(notes, "1 of 2 shown; more with --limit\n");
    let (_, text, _) = portal.run(&["clusters", "list", "-o", "yaml"]).await;
    assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap()["items"][1]["name"], "Quay");
}

#[tokio::test]
async fn a_kubeconfig_goes_to_a_private_file_or_to_standard_output() {
    let portal = portal().await;
    let file = portal.path("kubeconfig");
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let path = file.to_str().unwrap();
    let args = ["kubeconfig", "harbor", "--reason", "INC-1 looking", "--life", "2h", "-f", path];
    let (exit, text, notes) = portal.run(&args).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, ""));
    assert!(notes.contains("kubectl --kubeconfig"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), KUBECONFIG);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(portal.files.path()).unwrap().count(), 5, "no temporary file is left");
    let posted = portal.seen.iter().nth(1).unwrap();
    assert_eq!(posted.1, format!("{}/kubeconfig/new?", ID.to_lowercase()));
    assert_eq!(posted.2, json!({"reason": "INC-1 looking", "rights": "read", "life": 7200}));

    let (exit, text, _) = portal.run(&["kubeconfig", ID, "--reason", "x"]).await;
    assert_eq!((exit, text), (Exit::Ok, format!("{KUBECONFIG}\n")));
    let (exit, text, notes) = portal.run(&["kubeconfig", ID, "--reason", "x", "--rights", "admin"]).await;
    assert_eq!((exit, text.as_str()), (Exit::NotAllowed, ""));
    assert_eq!(notes, "error: No. (elevation_needed)\n  Ask.\n  request id: r-1\n");
}

#[tokio::test]
async fn a_cluster_must_be_found_and_meant() {
    let portal = portal().await;
    let (exit, _, notes) = portal.run(&["kubeconfig", "nowhere", "--reason", "x"]).await;
    assert_eq!(exit, Exit::NotFound, "{notes}");
    for bad in ["/subscriptions/../api", "/a?b", "/"] {
        let (exit, _, notes) = portal.run(&["kubeconfig", bad, "--reason", "x"]).await;
        assert_eq!(exit, Exit::Usage, "{bad}: {notes}");
    }
}

#[tokio::test]
async fn a_session_cookie_brings_the_csrf_token() {
    let portal = portal().await;
    let cookie = ("--session-cookie-file", "cookie");
    let file = portal.path("k");
    let import =
        ["clusters", "import", "--kubeconfig", file.to_str().unwrap(), "--name", "lab", "--as-groups", "a,b"];
    let (exit, text, notes) = portal.run_as(cookie, &import).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(text.contains("lab   https://h"), "{text}");
    let body = portal.seen.recv().unwrap().2;
    assert_eq!(
        body,
        json!({"name": "lab", "context": null, "as_groups": ["a", "b"], "kubeconfig": "kind: Config\n"})
    );
    let (exit, text, _) = portal.run_as(cookie, &["clusters", "remove", "lab"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "removed lab\n"));
    let (exit, text, _) = portal.run_as(cookie, &["grants", "revoke", "g1", "--why", "left & gone"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "revoked g1\n"));
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/imports/lab?");
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/grants/g1?why=left+%26+gone");
}

#[tokio::test]
async fn tables_of_the_other_lists() {
    let portal = portal().await;
    assert!(portal.run(&["clusters", "imported"]).await.1.contains("lab   https://h"));
    assert!(portal.run(&["grants", "list"]).await.1.contains("g1  kubeconfig  active  sre"));
    let (_, text, _) = portal.run(&["audit", "list", "--person", "sre", "--verb", "get"]).await;
    assert!(text.contains("2026-11-21T12:00:00Z  sre     get   pods/log n/a  ok"), "{text}");
    let (_, text, _) = portal.run(&["whoami"]).await;
    assert_eq!(text, "sre[31m\nroles: viewer, sre\n", "no control character reaches the terminal");
    let (_, text, _) = portal.run(&["whoami", "-o", "json"]).await;
    assert!(!text.contains("csrf") && text.contains("\"roles\""), "{text}");
}

#[tokio::test]
async fn every_failure_has_its_exit_code() {
    let portal = portal().await;
    let (exit, text, notes) = portal.run_as(("--token-file", "bad"), &["grants", "list", "-o", "json"]).await;
    assert_eq!((exit, text.as_str()), (Exit::NotSignedIn, ""));
    assert_eq!(serde_json::from_str::<Refusal>(&notes).unwrap().code, "not_signed_in");
    assert_eq!(portal.run(&["grants", "revoke", "away"]).await.0, Exit::Away);
    assert_eq!(portal.run(&["grants", "revoke", "unknown"]).await.0, Exit::NotFound);
    assert_eq!(portal.run(&["grants", "revoke", "../x"]).await.0, Exit::Usage);
    let missing = portal.run_as(("--token-file", "missing"), &["grants", "list"]).await;
    assert_eq!(missing.0, Exit::Failed);
    assert!(missing.2.contains("No such file"), "{}", missing.2);

    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let file = portal.path("token");
    let parse = |url: &str| {
        let line = ["aro", "whoami", "--portal", url, "--token-file", file.to_str().unwrap()];
        Aro::try_parse_from(line).unwrap().verb
    };
    let mut out = Output::to(Box::new(Buffer::default()), Box::new(Buffer::default()));
    assert_eq!(run_to_exit(parse(&format!("http://{closed}")), &mut out).await, Exit::Away);
    assert_eq!(
        run_to_exit(parse("http://portal.example"), &mut out).await,
        Exit::Usage,
        "no credential in the clear"
    );
}

#[test]
fn reads_lives() {
    assert_eq!(seconds("90"), Ok(90));
    assert_eq!(seconds("30m"), Ok(1800));
    assert_eq!(seconds("8h"), Ok(28_800));
    for bad in ["", "h", "-1h", "1w", "0", "99999999999999999999d", "1h30m"] {
        assert!(seconds(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(files::write_private(&folder.path().join("taken"), "x").is_err());
    assert!(files::write_private(Path::new("/"), "x").is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
