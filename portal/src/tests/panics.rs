//! A handler that panics fails one request, and says nothing of why to the caller.

use std::net::SocketAddr;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::{Request, StatusCode};
use tower::ServiceExt as _;

use super::kit::Kit;
use crate::layers::with_layers;

async fn fails() -> &'static str {
    panic!("a secret of the handler")
}

#[tokio::test]
async fn a_panic_is_an_error_of_one_request_in_the_form_that_was_asked_for() {
    let kit = Kit::new().await;
    let routes = Router::new().route("/fails", get(fails)).route("/works", get(async || "fine"));
    let app = with_layers(kit.state.clone(), routes);
    let call = async |path: &str, accept: &str| {
        let mut request = Request::get(path).header("accept", accept).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>("192.0.2.7:4711".parse().unwrap()));
        let response = app.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        (head, String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap())
    };
    for (accept, kind) in [("text/html", "text/html"), ("application/json", "application/json")] {
        let (head, body) = call("/fails", accept).await;
        assert_eq!(head.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(head.headers["content-type"].to_str().unwrap().starts_with(kind), "{head:?}");
        let id = head.headers["x-request-id"].to_str().unwrap();
        assert!(body.contains(id) && !body.contains("secret"), "{body}");
    }
    assert_eq!(call("/works", "text/html").await.1, "fine");
}
