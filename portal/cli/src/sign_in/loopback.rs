//! A browser on this machine brings the code to a listener that lives for one sign-in (RFC 8252 §7.3), with
//! PKCE (RFC 7636) and a state that only this process knows.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::{Random as _, Secret, SystemRandom, sha256};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use super::browser;
use crate::client::Client;
use crate::{CliError, Output};

/// Time for the person.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time for a browser to say what it wants.
const HEAD: Duration = Duration::from_secs(10);
const LONGEST_HEAD: usize = 16 * 1024;
/// Browsers open connections before they need them.
const MOST_CONNECTIONS: usize = 32;
const PATH: &str = "/signed-in";
/// Shown when the browser comes back; it looks as the portal's own pages do and loads nothing.
const PAGE: &str = include_str!("signed-in.html");

/// Gives the portal's answer with the token.
pub(super) async fn sign_in(
    client: &Client,
    open: bool,
    fresh: bool,
    out: &mut Output,
) -> Result<Value, CliError> {
    let failed = |cause| CliError::File { path: "127.0.0.1".into(), cause };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
    let back = format!("http://{}{PATH}", listener.local_addr().map_err(failed)?);
    let (verifier, state) = (random(), random());
    let challenge = URL_SAFE_NO_PAD.encode(sha256(verifier.expose().as_bytes()).0);
    let mut asked = vec![
        ("redirect_uri", back.as_str()),
        ("state", state.expose()),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    if fresh {
        asked.push(("fresh", "1"));
    }
    let page = client.page("/api/cli/login", &asked);
    let opened = open && browser::open(&page);
    let say = if opened { "Sign in in your browser. If it does not open:" } else { "Sign in at:" };
    out.note(say);
    out.note(&format!("  {page}"));
    let code = tokio::time::timeout(PATIENCE, code(&listener, state.expose())).await;
    let code = code.map_err(|_| CliError::Waited(PATIENCE.as_secs() / 60))??;
    drop(listener);
    let body = json!({ "code": code.expose(), "code_verifier": verifier.expose() });
    client.post("/api/v1/login/token", &body).await
}

/// 43 characters of 256 random bits: what RFC 7636 §4.1 recommends.
fn random() -> Secret<String> {
    let mut bytes = [0; 32];
    SystemRandom.fill(&mut bytes);
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// What a request to the listener is.
#[derive(Debug)]
enum CallbackResult {
    Code(Secret<String>),
    Error(String),
    /// Not ours: another page's guess, an icon, a scan.
    Nothing(&'static str),
}

/// Waits for the browser; strangers and silent connections neither end nor delay it.
async fn code(listener: &TcpListener, state: &str) -> Result<Secret<String>, CliError> {
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that broke before it was accepted is ignored.
                if let Ok((stream, _)) = accepted && visits.len() < MOST_CONNECTIONS {
                    let state = state.to_owned();
                    visits.spawn(async move { tokio::time::timeout(HEAD, visit(stream, &state)).await });
                }
            }
            Some(visit) = visits.join_next() => match visit {
                Ok(Ok(CallbackResult::Code(code))) => return Ok(code),
                Ok(Ok(CallbackResult::Error(error))) => return Err(CliError::Declined(error)),
                _ => {}
            },
        }
    }
}

async fn visit(mut stream: TcpStream, state: &str) -> CallbackResult {
    let brought = match head(&mut stream).await {
        Some(head) => look(&head, state),
        None => CallbackResult::Nothing("400 Bad Request"),
    };
    let (status, head, text) = match &brought {
        CallbackResult::Code(_) => {
            ("200 OK", "You are signed in", "You can close this tab and go back to the terminal.")
        }
        CallbackResult::Error(_) => {
            ("200 OK", "You were not signed in", "The terminal says more. You can close this tab.")
        }
        CallbackResult::Nothing(status) => (*status, "There is nothing here", "You can close this tab."),
    };
    let page = PAGE.replace("{head}", head).replace("{text}", text);
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n{page}",
        page.len()
    );
    // The code counts, not whether its page was seen.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    brought
}

/// The head of one request; `None` when it is none of HTTP/1.1, or too long.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::with_capacity(2048);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() >= LONGEST_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

fn look(head: &str, state: &str) -> CallbackResult {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let Ok(url) = Url::parse("http://127.0.0.1").and_then(|base| base.join(target)) else {
        return CallbackResult::Nothing("400 Bad Request");
    };
    if url.path() != PATH || url.host_str() != Some("127.0.0.1") {
        return CallbackResult::Nothing("404 Not Found");
    }
    if method != "GET" {
        return CallbackResult::Nothing("405 Method Not Allowed");
    }
    let value = |wanted: &str| {
        url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    // Compared as digests: how long it takes says nothing.
    if sha256(value("state").unwrap_or_default().as_bytes()) != sha256(state.as_bytes()) {
        return CallbackResult::Nothing("400 Bad Request");
    }
    match (value("code"), value("error")) {
        (Some(code), None) if !code.is_empty() => CallbackResult::Code(Secret::new(code)),
        (_, Some(error)) => {
            let said = value("error_description").unwrap_or(error);
            CallbackResult::Error(rp_base::text::clean(&said, 200))
        }
        _ => CallbackResult::Nothing("400 Bad Request"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_only_what_its_own_browser_brings() {
        let look = |line: &str| look(&format!("{line} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "s");
        assert!(
            matches!(look("GET /signed-in?code=c%2B1&state=s"), CallbackResult::Code(code) if code.expose() == "c+1")
        );
        assert!(matches!(
            look("GET /signed-in?error=access_denied&error_description=No%0a&state=s"),
            CallbackResult::Error(said) if said == "No"
        ));
        for other in [
            "GET /signed-in?code=c&state=t",
            "GET /signed-in?code=c",
            "GET /signed-in?state=s",
            "GET /signed-in?code=&state=s",
            "GET /favicon.ico",
            "POST /signed-in?code=c&state=s",
            "GET http://elsewhere.example/signed-in?code=c&state=s",
            "GET //elsewhere.example/signed-in?code=c&state=s",
            "",
        ] {
            assert!(matches!(look(other), CallbackResult::Nothing(_)), "{other}");
        }
    }

    #[tokio::test]
    async fn silent_connections_and_strangers_do_not_delay_the_code() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let visitors = async move {
            let _silent = [TcpStream::connect(at).await.unwrap(), TcpStream::connect(at).await.unwrap()];
            let mut answers = Vec::new();
            for target in ["/favicon.ico", "/signed-in?code=guess&state=x", "/signed-in?code=right&state=s"] {
                let mut stream = TcpStream::connect(at).await.unwrap();
                stream.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                answers.push(answer);
            }
            answers
        };
        let (code, answers) = tokio::join!(code(&listener, "s"), visitors);
        assert_eq!(code.unwrap().expose(), "right");
        assert!(answers[0].starts_with("HTTP/1.1 404") && answers[1].starts_with("HTTP/1.1 400"));
        assert!(answers[2].contains("close this tab"), "{}", answers[2]);
    }
}
