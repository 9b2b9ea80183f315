//! What scripts ask of a running development server: a session cookie. Loopback, with the folder's token.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, StatusCode, header};
use portal::PortalState;
use rp_documents::Person;
use rp_runtime::Lifecycle;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;

use crate::accounts::DevAccount;

#[derive(Debug)]
struct Control {
    portal: PortalState,
    accounts: Vec<DevAccount>,
    token: String,
}

/// Serves until `life` ends.
pub(crate) fn start(
    tcp: TcpListener,
    portal: PortalState,
    accounts: Vec<DevAccount>,
    token: String,
    life: &Lifecycle,
) {
    let control = Arc::new(Control { portal, accounts, token });
    let app = Router::new().route("/session/{account}", post(session)).with_state(control);
    let stop = life.stopping();
    tokio::spawn(async move {
        let served = axum::serve(tcp, app).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(error = %rp_base::chain(&error), "the control listener ended");
        }
    });
}

async fn session(
    State(control): State<Arc<Control>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> (StatusCode, Json<Value>) {
    let given = headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let wanted = format!("Bearer {}", control.token);
    if !bool::from(given.ct_eq(wanted.as_bytes())) {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "message": "the folder's token is missing" })));
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
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "message": error }))),
    }
}
