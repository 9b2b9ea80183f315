//! Who may read the metrics (`contract/operator.md` "Do better" 31): the bearer of a token that the API server knows, and
//! that may `get` the path `/metrics`. Answers of the API server are kept for a short time.

use std::collections::HashMap;
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use parking_lot::Mutex;
use rp_base::{Digest, Secret, sha256};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::api::{Api, ApiError};
use crate::kinds::{ACCESS_REVIEW, TOKEN_REVIEW};

/// How long an answer holds: a reader who loses the right reads for so long. A refusal holds for a shorter time.
const ALLOWED: Duration = Duration::from_secs(60);
const REFUSED: Duration = Duration::from_secs(10);
/// Answers that are kept; there are two readers, as a rule.
const MOST_ANSWERS: usize = 64;
/// Questions to the API server at once, and how long a reader waits for the answer.
const MOST_QUESTIONS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(8);
/// The longest token that is looked at, bytes.
const MOST_TOKEN: usize = 16 * 1024;

/// What a reader may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is no token, or nobody knows it.
    Unknown,
    /// The token is somebody's who has not the right.
    Forbidden,
    /// The metrics are shown.
    Allowed,
}

/// Why nothing is known of a reader.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("the API server did not answer within {} s", PATIENCE.as_secs())]
    TooSlow,
}

/// Asks the API server who readers are, and what they may.
#[derive(Debug)]
pub struct Readers {
    api: Api,
    /// By the digest of the token: tokens themselves are not kept.
    answers: Mutex<HashMap<Digest, (Verdict, Instant)>>,
    questions: Semaphore,
}

impl Readers {
    /// Readers of the cluster of this API server.
    pub fn new(api: Api) -> Self {
        Self { api, answers: Mutex::default(), questions: Semaphore::new(MOST_QUESTIONS) }
    }

    /// What the sender of a request with these headers may.
    ///
    /// # Errors
    /// The API server could not be asked.
    pub async fn verdict(&self, headers: &HeaderMap) -> Result<Verdict, ReviewError> {
        let Some(token) = bearer(headers) else { return Ok(Verdict::Unknown) };
        let key = sha256(token.expose().as_bytes());
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let verdict = timeout(PATIENCE, self.ask(key, &token)).await.map_err(|_| ReviewError::TooSlow)??;
        Ok(verdict)
    }

    fn known(&self, key: Digest) -> Option<Verdict> {
        let answers = self.answers.lock();
        answers.get(&key).filter(|(_, end)| *end > Instant::now()).map(|(verdict, _)| *verdict)
    }

    async fn ask(&self, key: Digest, token: &Secret<String>) -> Result<Verdict, ApiError> {
        // The semaphore is never closed.
        let _turn = self.questions.acquire().await;
        // Another connection of the same reader may have asked meanwhile.
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let verdict = self.review(token).await?;
        self.keep(key, verdict);
        Ok(verdict)
    }

    async fn review(&self, token: &Secret<String>) -> Result<Verdict, ApiError> {
        let question = json!({
            "apiVersion": TOKEN_REVIEW.api_version(), "kind": TOKEN_REVIEW.kind,
            "spec": { "token": token.expose() },
        });
        let answer = self.api.review(&TOKEN_REVIEW, &question).await?;
        if answer.pointer("/status/authenticated") != Some(&Value::Bool(true)) {
            return Ok(Verdict::Unknown);
        }
        let user =
            |member: &str| answer.pointer(&format!("/status/user/{member}")).cloned().unwrap_or_default();
        let question = json!({
            "apiVersion": ACCESS_REVIEW.api_version(), "kind": ACCESS_REVIEW.kind,
            "spec": {
                "user": user("username"), "uid": user("uid"), "groups": user("groups"), "extra": user("extra"),
                "nonResourceAttributes": { "path": "/metrics", "verb": "get" },
            },
        });
        let answer = self.api.review(&ACCESS_REVIEW, &question).await?;
        let allowed = answer.pointer("/status/allowed") == Some(&Value::Bool(true));
        Ok(if allowed { Verdict::Allowed } else { Verdict::Forbidden })
    }

    fn keep(&self, key: Digest, verdict: Verdict) {
        let now = Instant::now();
        let mut answers = self.answers.lock();
        answers.retain(|_, (_, end)| *end > now);
        if answers.len() >= MOST_ANSWERS {
            let first = answers.iter().min_by_key(|(_, (_, end))| *end).map(|(key, _)| *key);
            first.and_then(|first| answers.remove(&first));
        }
        let holds = if verdict == Verdict::Allowed { ALLOWED } else { REFUSED };
        answers.insert(key, (verdict, now + holds));
    }
}

/// The token of a request (RFC 6750 §2.1); `None`: there is none that could be one.
fn bearer(headers: &HeaderMap) -> Option<Secret<String>> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_one = scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty() && token.len() <= MOST_TOKEN;
    is_one.then(|| Secret::new(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::HeaderValue;
    use rp_metrics::Registry;

    use super::*;
    use crate::metrics::Metrics;
    use crate::testing::{answering_api, unreachable_api};

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
    }

    /// An API server that knows tokens of the form NAME and lets `prometheus` read; counts its questions.
    fn api() -> (Api, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let api = answering_api(move |path, question| {
            count.fetch_add(1, Ordering::Relaxed);
            match path {
                "/apis/authentication.k8s.io/v1/tokenreviews" => {
                    let name = question["spec"]["token"].as_str().unwrap();
                    let user = json!({ "username": name, "groups": ["g"] });
                    json!({ "status": { "authenticated": name != "stranger", "user": user } })
                }
                "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                    let spec = &question["spec"];
                    assert_eq!(spec["nonResourceAttributes"], json!({ "path": "/metrics", "verb": "get" }));
                    assert_eq!(spec["groups"], json!(["g"]));
                    json!({ "status": { "allowed": spec["user"] == "prometheus" } })
                }
                other => panic!("{other}"),
            }
        });
        (api, asked)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_its_time() {
        let (api, asked) = api();
        let readers = Readers::new(api);
        let verdict = async |value: &str| readers.verdict(&headers(value)).await.unwrap();
        for _ in 0..3 {
            assert_eq!(verdict("Bearer prometheus").await, Verdict::Allowed);
            assert_eq!(verdict("bearer somebody").await, Verdict::Forbidden);
            assert_eq!(verdict("Bearer stranger").await, Verdict::Unknown);
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2 + 2 + 1);
        tokio::time::advance(REFUSED).await;
        assert_eq!(verdict("Bearer stranger").await, Verdict::Unknown);
        assert_eq!(verdict("Bearer prometheus").await, Verdict::Allowed);
        assert_eq!(
            asked.load(Ordering::Relaxed),
            6,
            "a refusal was asked again, the other answer still holds"
        );
        tokio::time::advance(ALLOWED).await;
        assert_eq!(verdict("Bearer prometheus").await, Verdict::Allowed);
        assert_eq!(asked.load(Ordering::Relaxed), 8);
    }

    #[tokio::test]
    async fn answers_are_bounded_and_hold_no_token() {
        let (api, _) = api();
        let readers = Readers::new(api);
        for number in 0..3 * MOST_ANSWERS {
            let value = format!("Bearer SECRET-{number}");
            assert_eq!(readers.verdict(&headers(&value)).await.unwrap(), Verdict::Forbidden);
        }
        assert_eq!(readers.answers.lock().len(), MOST_ANSWERS);
        assert!(!format!("{readers:?}").contains("SECRET"));
    }

    #[tokio::test]
    async fn what_is_no_token_is_not_asked() {
        let (api, asked) = api();
        let readers = Readers::new(api);
        let long = format!("Bearer {}", "a".repeat(MOST_TOKEN + 1));
        for value in ["", "Bearer", "Bearer ", "Basic YTpi", &long] {
            assert_eq!(readers.verdict(&headers(value)).await.unwrap(), Verdict::Unknown, "{value:.20}");
        }
        assert_eq!(readers.verdict(&HeaderMap::new()).await.unwrap(), Verdict::Unknown);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn without_an_answer_nobody_is_let_in_and_nothing_is_kept() {
        let metrics = Metrics::register(&Registry::new());
        let readers = Readers::new(unreachable_api(&metrics));
        let error = readers.verdict(&headers("Bearer SECRET")).await.unwrap_err();
        assert!(!rp_base::chain(&error).to_string().contains("SECRET"));
        assert!(readers.answers.lock().is_empty());
    }
}
