//! What scripts ask of a running development server: a session cookie, a change of an account at the
//! provider. Loopback, with the folder's token.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, StatusCode, header};
use portal_model::state::PortalState;
use rp_base::chain;
use rp_documents::Person;
use rp_runtime::Lifecycle;
use rp_simulator_oidc::OidcProvider;
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;

use crate::accounts::DevAccount;

#[derive(Debug)]
struct Control {
    portal: PortalState,
    oidc: OidcProvider,
    accounts: Vec<DevAccount>,
    token: String,
}

/// Serves until `life` ends.
pub(crate) fn start(
    tcp: TcpListener,
    portal: PortalState,
    oidc: OidcProvider,
    accounts: Vec<DevAccount>,
    token: String,
    life: &Lifecycle,
) {
    let control = Arc::new(Control { portal, oidc, accounts, token });
    let app = Router::new()
        .route("/session/{account}", post(session))
        .route("/account/{account}", post(account))
        .with_state(control);
    let stop = life.stopping();
    tokio::spawn(async move {
        let served = axum::serve(tcp, app).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(error = %chain(&error), "the control listener ended");
        }
    });
}

impl Control {
    fn refused(&self, headers: &HeaderMap) -> Option<(StatusCode, Json<Value>)> {
        let given = headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes).unwrap_or_default();
        let wanted = format!("Bearer {}", self.token);
        (!bool::from(given.ct_eq(wanted.as_bytes())))
            .then(|| (StatusCode::UNAUTHORIZED, Json(json!({ "message": "the folder's token is missing" }))))
    }
}

/// What changes of an account.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Change {
    disabled: Option<bool>,
    groups: Option<Vec<String>>,
    sign_out: bool,
}

async fn account(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(change): Json<Change>,
) -> (StatusCode, Json<Value>) {
    if let Some(refused) = control.refused(&headers) {
        return refused;
    }
    let oidc = &control.oidc;
    let mut done = control.accounts.iter().any(|account| account.name == name);
    if let Some(groups) = change.groups {
        done &= oidc.set_groups(&name, groups);
    }
    if let Some(disabled) = change.disabled {
        done &= oidc.set_disabled(&name, disabled);
    }
    if change.sign_out {
        done &= oidc.sign_out(&name);
    }
    if done {
        (StatusCode::OK, Json(json!({ "account": name })))
    } else {
        (StatusCode::NOT_FOUND, Json(json!({ "message": format!("no account is called {name}") })))
    }
}

async fn session(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> (StatusCode, Json<Value>) {
    if let Some(refused) = control.refused(&headers) {
        return refused;
    }
    let Some(account) = control.accounts.iter().find(|account| account.name == name) else {
        return (StatusCode::NOT_FOUND, Json(json!({ "message": format!("no account is called {name}") })));
    };
    let person = Person {
        sub: format!("dev-{}", account.name),
        name: account.name.clone(),
        groups: account.groups.clone(),
    };
    match control.portal.mint_session(person).await {
        Ok(cookie) => (StatusCode::OK, Json(json!({ "cookie": cookie }))),
        Err(error) => {
            let message = chain(&error).to_string();
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "message": message })))
        }
    }
}
