//! Questions about a cluster over the API, with an investigator in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use rp_audit::{Audit, Query};
use rp_documents::{ClusterDocument, Phase};
use rp_investigate::{InvestigateError, Investigation, Investigator, Question};
use serde_json::json;
use tests_kit::{GENEROUS, until};
use tower::ServiceExt as _;

use super::callers::{trail, unguarded};
use super::{Api, TestResponse, id, path, wanted};
use crate::{AdminParts, Edge, FrontendParts, Investigations};

/// What an investigation prints and how it ends; the last piece may be followed by silence.
#[derive(Debug, Clone, Default)]
struct Script {
    pieces: Vec<&'static [u8]>,
    /// After the pieces nothing comes, and no end.
    silent: bool,
    /// Before the first piece.
    refuses: bool,
    fails: bool,
}

/// Plays scripts and counts what runs.
#[derive(Debug, Clone, Default)]
struct Player {
    script: Arc<Mutex<Script>>,
    asked: Arc<Mutex<Vec<String>>>,
    running: Arc<AtomicUsize>,
}

struct Played {
    script: Script,
    /// Ends with this value, however that goes.
    running: Arc<AtomicUsize>,
}

impl Drop for Played {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Investigator for Player {
    async fn begin(
        &self,
        cluster: &ClusterDocument,
        question: &Question,
    ) -> Result<Box<dyn Investigation>, InvestigateError> {
        let mut script = self.script.lock().clone();
        if script.refuses {
            return Err(InvestigateError::NoPrivateEndpoint);
        }
        self.asked.lock().push(format!("{} {}", cluster.cluster.id.name(), question.text()));
        self.running.fetch_add(1, Ordering::SeqCst);
        script.pieces.reverse();
        Ok(Box::new(Played { script, running: Arc::clone(&self.running) }))
    }

    fn within(&self) -> Duration {
        GENEROUS
    }
}

#[async_trait]
impl Investigation for Played {
    async fn next(&mut self) -> Result<Option<Bytes>, InvestigateError> {
        match self.script.pieces.pop() {
            Some(piece) => Ok(Some(Bytes::from_static(piece))),
            None if self.script.silent => std::future::pending().await,
            None => Ok(None),
        }
    }

    async fn end(&mut self) -> Result<(), InvestigateError> {
        match self.script.fails {
            true => Err(InvestigateError::Failed("exit code 1\u{1b}[2J".to_owned())),
            false => Ok(()),
        }
    }

    async fn close(self: Box<Self>) -> Result<(), InvestigateError> {
        Ok(())
    }
}

/// An API with the cluster `c`, an investigator that allows two at a time, and its audit log.
async fn api(player: &Player) -> (Api, Audit) {
    let audit = trail().await;
    let investigations = Some(Investigations::new(Arc::new(player.clone()), 2));
    let admin = AdminParts { investigations, ..AdminParts::default() };
    let edge = Edge { audit: Some(audit.clone()), ..Edge::default() };
    let api = Api::from_parts(FrontendParts { edge, admin, ..unguarded() });
    api.subscription("Registered").await;
    assert_eq!(api.call("PUT", &path("c"), Some(wanted(1))).await.status, 201);
    (api, audit)
}

fn at(name: &str) -> String {
    format!("/admin{}/investigate", id(name))
}

async fn ask(api: &Api, body: &str) -> TestResponse {
    api.send("POST", &at("c"), &[], body.to_owned()).await
}

/// Status, code, target and message of an error.
fn refusal(told: &TestResponse) -> (u16, String, String, String) {
    let (status, code, target) = told.refusal();
    let message = told.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    (status, code, target, message)
}

#[tokio::test]
async fn a_bad_question_starts_nothing() {
    let player = Player::default();
    let (api, _) = api(&player).await;
    let question = |text: &str| json!({"question": text}).to_string();
    let empty = "The question parameter is required and must be non-empty.";
    let long = "The question must not exceed 1000 characters.";
    let control = "The question must not contain control characters.";
    for (body, message) in [
        (question(""), empty),
        (question(" "), empty),
        ("{}".to_owned(), empty),
        (question(&"x".repeat(1001)), long),
        (question("a\nb"), control),
        (question("\u{1b}[31mred"), control),
        (question("a\u{9b}b"), control),
        (question("a\0"), control),
    ] {
        let told = refusal(&ask(&api, &body).await);
        let wanted = (400, "InvalidParameter".to_owned(), "question".to_owned(), message.to_owned());
        assert_eq!(told, wanted, "{body}");
    }
    for body in ["", "[", "7", r#"{"question": 7}"#, "{\"question\": \"a\u{1}\"}"] {
        let told = refusal(&ask(&api, body).await);
        assert_eq!((told.0, told.1.as_str()), (400, "InvalidRequestContent"), "{body}");
        assert!(told.3.starts_with("The request body could not be parsed: "), "{told:?}");
    }
    let told = api.send("POST", &at("none"), &[], question("x")).await;
    assert_eq!(told.refusal().1, "ResourceNotFound");
    assert_eq!(player.asked.lock().len(), 0);
    player.script.lock().refuses = true;
    let told = refusal(&ask(&api, &question("x")).await);
    assert_eq!((told.0, told.3.as_str()), (500, "cluster does not have a private endpoint IP configured"));
}

#[tokio::test]
async fn without_an_investigator_nothing_is_answered() {
    let api = Api::registered().await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    let told = refusal(&ask(&api, r#"{"question": "x"}"#).await);
    let message = "Holmes investigation is not configured".to_owned();
    assert_eq!(told, (500, "InternalServerError".to_owned(), String::new(), message));
    // A bad question is one in any case.
    assert_eq!(ask(&api, "{}").await.refusal().0, 400);
}

#[tokio::test]
async fn an_answer_is_passed_on_as_text_and_is_on_the_record() {
    let player = Player::default();
    let pieces: Vec<&[u8]> = vec![
        b"dns is \x1b[3",
        b"1mdegraded\x1b[0m\r\n\x1b]0;owned",
        b"\x07gr\xc3",
        b"\xb6\xc3",
        b"\x9fe\xff\n",
    ];
    *player.script.lock() = Script { pieces, ..Script::default() };
    let (api, audit) = api(&player).await;
    let question = r#"why "$(id)" `x`; rm -rf / #'"#;
    let body = json!({"question": question}).to_string();
    let told = ask(&api, &body).await;
    assert_eq!((told.status.as_u16(), told.text.as_str()), (200, "dns is degraded\ngröße\u{fffd}\n"));
    assert_eq!(told.header("content-type"), "text/plain");
    assert_eq!(*player.asked.lock(), [format!("c {question}")]);
    player.script.lock().fails = true;
    let told = ask(&api, &body).await;
    let last = "\n[investigation failed: the investigation pod failed: exit code 1[2J]\n";
    assert!(told.text.ends_with(last), "{:?}", told.text);
    assert_eq!(player.running.load(Ordering::SeqCst), 0);
    let entries = until("both answers are on the record", GENEROUS, || async {
        let all = audit.search(&Query::default()).await?.entries;
        let all: Vec<_> = all.into_iter().filter(|entry| entry.resource.ends_with("/investigate")).collect();
        anyhow::ensure!(all.len() == 4, "{}", all.len());
        Ok(all)
    })
    .await
    .unwrap();
    for entry in &entries {
        assert_eq!((entry.verb.as_str(), entry.subresource.as_str()), ("rp-admin.post", "Question"));
        assert_eq!(entry.command, [question]);
    }
    let mut words: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.phase == Phase::End)
        .map(|entry| entry.result.word.as_str())
        .collect();
    words.sort_unstable();
    assert_eq!(words, ["failed", "ok"]);
}

#[tokio::test]
async fn an_answer_without_end_is_cut_and_ended() {
    static FLOOD: [u8; 3 << 20] = [b'x'; 3 << 20];
    let player = Player::default();
    *player.script.lock() = Script { pieces: vec![&FLOOD], silent: true, ..Script::default() };
    let (api, _) = api(&player).await;
    let told = ask(&api, r#"{"question": "x"}"#).await;
    let end = "xxx\n[answer truncated at 1 MiB]\n";
    assert!(told.text.ends_with(end) && told.text.len() == (1 << 20) + end.len() - 3, "{}", told.text.len());
    assert_eq!(player.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn as_many_run_as_may_and_one_ends_with_its_caller() {
    let player = Player::default();
    *player.script.lock() = Script { pieces: vec![b"begun\n"], silent: true, ..Script::default() };
    let (api, _) = api(&player).await;
    let open = || async {
        let request = Request::post(at("c")).header("content-type", "application/json");
        let request = request.body(Body::from(r#"{"question": "x"}"#)).unwrap();
        let mut answer = api.router.clone().oneshot(request).await.unwrap();
        let first = answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first, "begun\n", "the first piece comes at once");
        answer
    };
    let (first, second) = (open().await, open().await);
    let told = refusal(&ask(&api, r#"{"question": "x"}"#).await);
    let message = "Too many concurrent investigations (2). Please try again later.";
    assert_eq!((told.0, told.1.as_str(), told.3.as_str()), (429, "ThrottlingLimitExceeded", message));
    drop(first);
    until("the one whose caller left has ended", GENEROUS, || async {
        anyhow::ensure!(player.running.load(Ordering::SeqCst) == 1);
        Ok(())
    })
    .await
    .unwrap();
    *player.script.lock() = Script::default();
    let free = || async {
        let told = ask(&api, r#"{"question": "y"}"#).await;
        anyhow::ensure!(told.status == 200, "{}", told.text);
        Ok(())
    };
    until("its place is free", GENEROUS, free).await.unwrap();
    drop(second);
}
