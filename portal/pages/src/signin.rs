//! `/api/cli/login`: a person lets a program on the same machine act for them (RFC 8252).

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{StatusCode, Uri};
use portal_model::state::PortalState;
use portal_session::codes::{CodeError, Consent};
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::sign_in_rate::often;
use portal_session::user::CurrentUser;
use rp_documents::{Rights, Role};
use serde::Deserialize;
use url::{Host, Url};
use web::ConsentPage;

use crate::answer::{answer, see_other};
use crate::frame::frame;

/// Longest address or state that a program may send.
const MOST: usize = 500;

/// Where the page of the answer may send its form on to, as a CSP source. In the extensions of a response.
#[derive(Debug, Clone)]
pub struct FormTarget(pub String);

/// The request of a program on the same machine.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LoopbackQuery {
    redirect_uri: String,
    state: String,
    code_challenge: String,
    code_challenge_method: String,
    fresh: String,
    /// Of the form: `yes` or `no`.
    answer: String,
}

impl LoopbackQuery {
    /// The checked address to go back to.
    fn target(&self) -> Result<Url, Fault> {
        let target = loopback(&self.redirect_uri).ok_or_else(|| {
            Fault::bad_input("redirect_uri must be http://127.0.0.1:PORT/… or http://[::1]:PORT/…")
        })?;
        let plain = |text: &str| text.len() <= MOST && text.bytes().all(|byte| byte.is_ascii_graphic());
        if self.state.is_empty() || !plain(&self.state) {
            return Err(Fault::bad_input("state is missing or too long"));
        }
        let digest = URL_SAFE_NO_PAD.decode(&self.code_challenge).is_ok_and(|bytes| bytes.len() == 32);
        if !digest || !matches!(self.code_challenge_method.as_str(), "" | "S256") {
            return Err(Fault::bad_input("code_challenge must be S256 of a verifier (RFC 7636)"));
        }
        Ok(target)
    }
}

/// An address of this machine, by number: a name could be another machine's (RFC 8252 §8.3).
fn loopback(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= MOST)?;
    let here = match url.host()? {
        Host::Ipv4(ip) => ip == std::net::Ipv4Addr::LOCALHOST,
        Host::Ipv6(ip) => ip == std::net::Ipv6Addr::LOCALHOST,
        Host::Domain(_) => false,
    };
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (url.scheme() == "http" && here && bare && url.port().is_some_and(|port| port > 0)).then_some(url)
}

/// `GET /api/cli/login`: asks the person.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    uri: Uri,
    Query(ask): Query<LoopbackQuery>,
) -> Result<Response, Fault> {
    by_session_only(&user)?;
    often(&state.session, &context)?;
    let target = ask.target()?;
    if ask.fresh == "1" && user.require_fresh(&state.session, &context.came_from).is_err() {
        let back = uri.path_and_query().map_or("/", |path| path.as_str());
        return Ok(see_other(&format!("/api/login?fresh=1&redirect_uri={}", web::text::encode(back))));
    }
    let port = target.port().unwrap_or_default();
    let page = ConsentPage {
        action: "/api/cli/login".to_owned(),
        fields: vec![
            ("redirect_uri".to_owned(), ask.redirect_uri),
            ("state".to_owned(), ask.state),
            ("code_challenge".to_owned(), ask.code_challenge),
        ],
        about: vec![
            ("Program".to_owned(), "aro, on the computer of this browser".to_owned()),
            ("Answers to".to_owned(), format!("{}:{port}", target.host_str().unwrap_or_default())),
            ("Your address".to_owned(), context.from.to_string()),
        ],
        ..consent(&state, &context, &user)
    };
    let mut response = answer(&context, StatusCode::OK, &page)?;
    response.extensions_mut().insert(FormTarget(target.origin().ascii_serialization()));
    Ok(response)
}

/// The common content of every consent page.
pub fn consent(state: &PortalState, context: &Context, user: &CurrentUser) -> ConsentPage {
    let policy = state.session.access.policy();
    let life = policy.access.cli_life.min(policy.longest(Rights::Read));
    ConsentPage {
        frame: frame(state, context),
        gets: gets(user),
        until: (state.session.clock.now() + life).seconds(),
        ..ConsentPage::default()
    }
}

/// What the command line may do as this person.
fn gets(user: &CurrentUser) -> Vec<String> {
    let rules = [
        (Role::Viewer, "List clusters and look at them."),
        (Role::Sre, "Take access to clusters for you, with a reason each time."),
        (
            Role::Elevated,
            "Ask for more rights for you. They still need a reason, and an approver where the policy says so.",
        ),
        (Role::Approver, "Decide on other people's requests for you, after you signed in again."),
        (Role::Auditor, "Read the audit trail and everybody's grants."),
        (Role::Admin, "Import clusters and revoke access."),
    ];
    rules.into_iter().filter(|(role, _)| user.has(*role)).map(|(_, words)| words.to_owned()).collect()
}

/// `POST /api/cli/login`: back to the program, with a code or a refusal.
pub async fn decide(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    body: Bytes,
) -> Result<Response, Fault> {
    by_session_only(&user)?;
    let ask: LoopbackQuery = form(&body);
    let mut target = ask.target()?;
    if ask.answer == "yes" {
        let agreed = agree(&state, &context, &user, &format!("a program at {}", target.authority())).await?;
        let code = state.session.sign_in.codes.agree(agreed, ask.code_challenge).await;
        let code = code.map_err(|error| not_stored(&error))?;
        target.query_pairs_mut().append_pair("code", code.expose());
    } else {
        target.query_pairs_mut().append_pair("error", "access_denied");
    }
    target.query_pairs_mut().append_pair("state", &ask.state);
    Ok(see_other(target.as_str()))
}

/// Writes the durable audit entry, then returns the consent that the code represents.
pub async fn agree(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    what: &str,
) -> Result<Consent, Fault> {
    let promised =
        state.session.promise(&user.caller, "login.agree", |entry| what.clone_into(&mut entry.query)).await;
    promised.map_err(|error| Fault::audit(&error))?;
    Ok(Consent { session: user.session.clone().unwrap_or_default(), from: context.from.to_string() })
}

/// A bearer token cannot create further tokens.
pub fn by_session_only(user: &CurrentUser) -> Result<(), Fault> {
    if user.session_ends.is_some() {
        return Ok(());
    }
    Err(Fault::new(
        StatusCode::FORBIDDEN,
        "browser_needed",
        rp_documents::Side::You,
        "This takes a person in a browser",
    )
    .why("A token cannot agree to another token."))
}

pub fn not_stored(error: &CodeError) -> Fault {
    match error {
        CodeError::Store(error) => Fault::store(error),
        CodeError::Unknown | CodeError::Verifier | CodeError::Seal(_) => Fault::internal(),
    }
}

/// A form; what is no form has no fields.
pub fn form<T: Default + serde::de::DeserializeOwned>(body: &[u8]) -> T {
    serde_urlencoded(body).unwrap_or_default()
}

fn serde_urlencoded<T: serde::de::DeserializeOwned>(body: &[u8]) -> Option<T> {
    std::str::from_utf8(body).ok()?;
    let pairs: serde_json::Map<String, serde_json::Value> = url::form_urlencoded::parse(body)
        .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
        .collect();
    serde_json::from_value(pairs.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_by_number_is_gone_back_to() {
        for good in ["http://127.0.0.1:4711/callback", "http://[::1]:1/", "http://127.0.0.1:65535/a?b=c"] {
            assert!(loopback(good).is_some(), "{good}");
        }
        for bad in [
            "http://localhost:4711/",
            "https://127.0.0.1:4711/",
            "http://127.0.0.1/",
            "http://127.0.0.1:0/",
            "http://127.0.0.2:4711/",
            "http://127.0.0.1:4711/#x",
            "http://user@127.0.0.1:4711/",
            "http://127.0.0.1.evil.example:4711/",
            "http://127.0.0.1:4711@evil.example/",
            "//127.0.0.1:4711/",
            "javascript:alert(1)",
            "",
        ] {
            assert!(loopback(bad).is_none(), "{bad}");
        }
        assert!(loopback(&format!("http://127.0.0.1:1/{}", "a".repeat(MOST))).is_none());
    }
}
