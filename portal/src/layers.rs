//! The layers around the router, outermost first.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use portal_model::state::PortalState;
use portal_pages::frame::frame;
use portal_pages::signin::FormTarget;
use portal_session::context::{Context, Shared};
use portal_session::fault::Fault;
use portal_session::metrics::RequestLabels;
use portal_session::session_store::COOKIE;
use rp_base::Id;
use rp_documents::{ResourceId, Side};
use rp_net::door::ConnectionHandle;
use tower::ServiceBuilder;
use tower::util::MapRequestLayer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_sessions::SessionManagerLayer;
use tower_sessions::cookie::SameSite;

use crate::compression::pack;
use crate::failure::failure;

/// Limit for the time until a handler responds; the bodies of streams are not covered.
const TIME_OUT: Duration = Duration::from_secs(30);

/// Routes whose requests are not logged: probes, and what every page loads.
const QUIET: [&str; 3] = ["/healthz/ready", "/static/{*path}", "/favicon.ico"];

/// Puts the layers around the routes.
pub(crate) fn with_layers(state: PortalState, routes: Router) -> Router {
    let sessions = SessionManagerLayer::new(state.session.sign_in.sessions.store())
        .with_name(COOKIE)
        .with_secure(true)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/");
    let inner = ServiceBuilder::new()
        // A resource path is matched in any casing; what follows it stays as it is.
        .layer(MapRequestLayer::new(lower_resource_path))
        .layer(from_fn(session_not_stored))
        // The session is read when somebody asks for it, and written when it changed.
        .layer(sessions)
        .service(routes);
    Router::new()
        .fallback_service(inner)
        // A handler that hangs becomes a 503 response.
        .layer(from_fn(time_out))
        // A panic fails one response, not the process.
        .layer(CatchPanicLayer::custom(panicked))
        // Errors are rendered in the requested form: page, fragment or JSON.
        .layer(from_fn_with_state(state.clone(), render_fault))
        // Pages are compressed. CSRF tokens are masked anew in each, so the size reveals nothing (BREACH).
        .layer(from_fn(pack))
        // Every response carries the security headers for browsers.
        .layer(from_fn_with_state(state.clone(), protect))
        // Outermost: the id of the request, its context, one log line.
        .layer(from_fn_with_state(state, observe))
}

async fn observe(State(state): State<PortalState>, mut request: Request, next: Next) -> Response {
    let id = Id::random(&*state.session.random);
    let context: Shared = Arc::new(Context::from_request(&request, id));
    request.extensions_mut().insert(Arc::clone(&context));
    let (started, method) = (Instant::now(), request.method().clone());
    let visitor = request.extensions().get::<ConnectionHandle>().cloned();
    let mut response = next.run(request).await;
    // The listener stops limiting a connection as anonymous once its caller has signed in.
    if let Some(visitor) = visitor.filter(|_| context.user.get().is_some()) {
        visitor.known();
    }
    if let Ok(value) = HeaderValue::from_str(context.id.as_str()) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    log(&state, &context, &method, response.status(), started.elapsed());
    response
}

/// One line per request. The path is cleaned and has no query: a query may carry a code or a state.
fn log(state: &PortalState, context: &Context, method: &Method, status: StatusCode, took: Duration) {
    let route = context.route.get();
    let pattern = route.map_or("none", |route| route.path);
    let labels = RequestLabels {
        route: pattern,
        method: route.map_or("other", |route| route.method),
        code: status.as_u16(),
    };
    state.session.metrics.requests.with(&labels).inc();
    state.session.metrics.duration.observe(took.as_secs_f64());
    if QUIET.contains(&pattern) {
        return;
    }
    tracing::info!(
        method = %method,
        route = pattern,
        path = %rp_base::text::clean(context.path(), 300),
        status = status.as_u16(),
        duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        person = context.user.get().map_or("", |user| user.caller.person.name.as_str()),
        peer = %context.from,
        request_id = %context.id,
        "request"
    );
}

async fn protect(State(state): State<PortalState>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let mut targets = state.session.sign_in.provider.form_targets();
    if let Some(FormTarget(more)) = response.extensions().get() {
        targets.push(' ');
        targets.push_str(more);
    }
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'{targets}; base-uri 'none'; frame-ancestors 'none'"
    );
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, value);
    }
    for (name, value) in [
        (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

async fn render_fault(State(state): State<PortalState>, request: Request, next: Next) -> Response {
    let Some(context) = request.extensions().get::<Shared>().cloned() else {
        return next.run(request).await;
    };
    let response = next.run(request).await;
    let fault = match response.extensions().get::<Fault>() {
        Some(fault) => fault.clone(),
        // A response without a body of ours, e.g. the rejection of an extractor.
        None if is_bodyless_error(&response) => Fault::status(response.status()),
        None => return response,
    };
    let mut dressed = failure(&fault, &context, frame(&state, &context));
    for (name, value) in response.headers() {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            dressed.headers_mut().append(name, value.clone());
        }
    }
    dressed
}

fn is_bodyless_error(response: &Response) -> bool {
    let failed = response.status().is_client_error() || response.status().is_server_error();
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    failed && kind.is_none_or(|kind| kind.starts_with(b"text/plain"))
}

/// The session layer answers a bare 500 when it cannot write the session: the store's failure, no defect.
async fn session_not_stored(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let is_bare = response.headers().is_empty() && response.extensions().get::<Fault>().is_none();
    if is_bare && response.status() == StatusCode::INTERNAL_SERVER_ERROR {
        return Fault::session_not_stored().into_response();
    }
    response
}

async fn time_out(request: Request, next: Next) -> Response {
    tokio::time::timeout(TIME_OUT, next.run(request)).await.unwrap_or_else(|_| {
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", Side::Us, "This took too long")
            .why(format!("No answer was ready within {} s.", TIME_OUT.as_secs()))
            .into_response()
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that the layer wants")]
fn panicked(payload: Box<dyn Any + Send + 'static>) -> Response {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    tracing::error!(panic = %rp_base::text::clean(&text, 300), "a handler panicked");
    Fault::internal().into_response()
}

/// Lower-cases a resource path at the start of the path; the rest and the query stay byte for byte.
fn lower_resource_path<B>(mut request: http::Request<B>) -> http::Request<B> {
    let path = request.uri().path();
    let Ok((id, rest)) = ResourceId::parse_prefix(path) else { return request };
    if path.starts_with(id.key()) {
        return request;
    }
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{}{rest}{query}", id.key());
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = target.parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;
    use tower_sessions::session::{Id as SessionId, Record};
    use tower_sessions::session_store::{Error, Result};
    use tower_sessions::{Session, SessionStore};

    use super::*;

    /// A store that is away when a session is written.
    #[derive(Debug, Clone)]
    struct Away;

    #[async_trait]
    impl SessionStore for Away {
        async fn create(&self, record: &mut Record) -> Result<()> {
            self.save(record).await
        }

        async fn save(&self, _: &Record) -> Result<()> {
            Err(Error::Backend("away".to_owned()))
        }

        async fn load(&self, _: &SessionId) -> Result<Option<Record>> {
            Ok(None)
        }

        async fn delete(&self, _: &SessionId) -> Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_session_that_cannot_be_written_is_the_stores_failure() {
        let change = |session: Session| async move { session.insert("key", 1).await.unwrap() };
        let routes = Router::new().route("/", get(change)).route("/none", get(|| async {}));
        let layers =
            ServiceBuilder::new().layer(from_fn(session_not_stored)).layer(SessionManagerLayer::new(Away));
        let routes = routes.layer(layers);
        let ask = |path: &str| {
            let request = http::Request::get(path).body(Body::empty()).unwrap();
            routes.clone().oneshot(request)
        };
        let answer = ask("/").await.unwrap();
        let fault = answer.extensions().get::<Fault>().unwrap();
        assert_eq!((answer.status().as_u16(), fault.code), (503, "store_unavailable"));
        assert_eq!(ask("/none").await.unwrap().status(), 200);
    }

    #[test]
    fn probes_and_assets_are_quiet() {
        use crate::route::{AllowedCaller, Method};
        let public = crate::routes::table()
            .filter(|row| row.who == AllowedCaller::Public && row.method == Method::Get)
            .map(|row| row.path);
        let quiet = public.filter(|path| !["/api/login", "/callback"].contains(path));
        assert_eq!(quiet.collect::<Vec<_>>(), QUIET);
    }

    #[test]
    fn only_the_resource_path_is_lowered() {
        let lower = |target: &str| {
            let request = http::Request::get(target).body(()).unwrap();
            lower_resource_path(request).uri().to_string()
        };
        let id = "/subscriptions/AAAAAAAA-0000-0000-0000-000000000000/resourceGroups/G/providers/Microsoft.RedHatOpenShift/openShiftClusters/C";
        assert_eq!(lower(&format!("{id}/Tab%2FX?Q=Y")), format!("{}/Tab%2FX?Q=Y", id.to_ascii_lowercase()));
        assert_eq!(lower("/Access?Q=Y"), "/Access?Q=Y");
        assert_eq!(lower("/subscriptions/x/Y"), "/subscriptions/x/Y");
    }
}
