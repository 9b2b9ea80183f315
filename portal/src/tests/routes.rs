//! Every route with every kind of caller.

use axum::body::Body;
use rp_documents::{GrantKind, Role, Roles};

use super::kit::{Kit, RES, get, script};
use crate::route::{AllowedCaller, AuditClass, Method};
use crate::routes::table;

fn path(pattern: &str) -> String {
    let clusters = pattern.replace(
        "/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
        RES,
    );
    clusters
        .replace("{sub}", "0000aaaa-0000-0000-0000-00000000000f")
        .replace("{group}", "my.rg")
        .replace("{name}", "harbor-01")
        .replace("{id}", "none")
        .replace("{*path}", "app.css")
}

fn allowed(who: AllowedCaller, roles: Roles) -> bool {
    match who {
        AllowedCaller::Public | AllowedCaller::SignedIn => true,
        AllowedCaller::Role(role) => roles.has(role),
    }
}

/// What anybody may call without a sign-in, written out by hand: a row that becomes public by mistake is not in it.
const PUBLIC: [(&str, &str); 8] = [
    ("GET", "/healthz/ready"),
    ("GET", "/static/{*path}"),
    ("GET", "/favicon.ico"),
    ("GET", "/api/login"),
    ("GET", "/callback"),
    ("POST", "/backchannel-logout"),
    ("POST", "/api/v1/login/token"),
    ("POST", "/api/v1/login/device"),
];

/// Whom each removal is for, written out by hand.
const REMOVALS: [(&str, Role); 5] = [
    ("/api/v1/grants/{id}", Role::Viewer),
    ("/api/v1/robots/{name}", Role::Admin),
    ("/api/v1/imports/{name}", Role::Admin),
    ("/api/v1/views/{id}", Role::Viewer),
    ("/api/v1/queries/{id}", Role::Viewer),
];

/// Unsafe calls that change nothing of ours, or whose handlers write their own entries, written out by hand: a row that
/// loses its entry by mistake is not in it.
const WITHOUT_CHANGE: [(&str, &str); 7] = [
    ("POST", "/backchannel-logout"),
    ("POST", "/api/v1/login/token"),
    ("POST", "/api/v1/login/device"),
    (
        "POST",
        "/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}/prometheus/api/v1/{*tail}",
    ),
    (
        "POST",
        "/api/v1/prom/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}/{*tail}",
    ),
    ("POST", "/api/v1/fleet/query"),
    ("POST", "/columns"),
];

#[test]
fn unsafe_rows_leave_a_change_in_the_audit_log_but_for_those_of_the_list() {
    let changes = |audit: AuditClass| matches!(audit, AuditClass::Change(_));
    for route in table().filter(|route| route.method == Method::Get) {
        assert!(
            !changes(route.audit),
            "GET {}: a change needs a row whose CSRF token is checked",
            route.path
        );
    }
    let without = table().filter(|route| route.method != Method::Get && !changes(route.audit));
    let without = without.inspect(|route| assert_eq!(route.audit, AuditClass::None, "{}", route.path));
    let without: Vec<_> = without.map(|route| (route.method.name(), route.path)).collect();
    assert_eq!(without, WITHOUT_CHANGE);
}

#[test]
fn public_rows_and_removals_are_those_of_the_lists() {
    let public = table().filter(|route| route.who == AllowedCaller::Public);
    let public: Vec<_> = public.map(|route| (route.method.name(), route.path)).collect();
    assert_eq!(public, PUBLIC);
    let removals = table().filter(|route| route.method == Method::Delete);
    let removals: Vec<_> = removals.map(|route| (route.path, route.who)).collect();
    assert_eq!(removals, REMOVALS.map(|(path, role)| (path, AllowedCaller::Role(role))));
}

/// The lists and not the table say whom a removal lets in: everybody else is refused, and changes nothing.
#[tokio::test]
async fn each_removal_lets_in_whom_the_list_says() {
    let kit = Kit::new().await;
    for (pattern, needed) in REMOVALS {
        let path = path(pattern);
        let stranger = kit.send(script("DELETE", &path).body(Body::empty()).unwrap()).await;
        assert_eq!(stranger.status, 401, "{path}");
        for role in Role::ALL {
            let answer = kit.unsafe_call(role, "DELETE", &path, "").await;
            let missing = answer.status == 403 && answer.body.contains("This needs the role");
            assert_eq!(missing, !Roles::NONE.with(role).has(needed), "{path} as {role:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn strangers_get_nothing_but_the_public_routes() {
    let kit = Kit::new().await;
    for route in table() {
        let path = path(route.path);
        let answer = kit.send(script(route.method.name(), &path).body(Body::empty()).unwrap()).await;
        if route.who == AllowedCaller::Public {
            assert!(![401, 403].contains(&answer.status.as_u16()), "{path}: {answer:?}");
            continue;
        }
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.json()["code"], "not_signed_in", "{path}");
        if route.method == Method::Get && !path.starts_with("/api/") {
            let answer = kit.send(get(&path).body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 303, "{path}");
            assert!(answer.header("location").starts_with("/api/login?redirect_uri=/"), "{path}");
        }
        let htmx =
            script(route.method.name(), &path).header("hx-request", "true").body(Body::empty()).unwrap();
        assert_eq!(kit.send(htmx).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn roles_decide() {
    let kit = Kit::new().await;
    for role in Role::ALL {
        for route in table().filter(|route| route.who != AllowedCaller::Public && route.path != "/api/logout")
        {
            let path = path(route.path);
            let answer = match route.method {
                Method::Get => kit.page(role, &path).await,
                Method::Post | Method::Delete => kit.unsafe_call(role, route.method.name(), &path, "").await,
            };
            let missing = answer.status == 403 && answer.body.contains("This needs the role");
            assert_eq!(
                missing,
                !allowed(route.who, Roles::NONE.with(role)),
                "{path} as {role:?}: {answer:?}"
            );
            // No cluster can be reached here, which is no fault of ours.
            let away = matches!(answer.status.as_u16(), 502 | 504) && answer.json()["side"] == "cluster";
            assert!(away || !answer.status.is_server_error(), "{path} as {role:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn people_without_a_role_see_no_page() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(None).await;
    for route in
        table().filter(|route| matches!(route.who, AllowedCaller::Role(_)) && route.method == Method::Get)
    {
        let answer =
            kit.send(get(&path(route.path)).header("cookie", &cookie).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 403, "{}", route.path);
    }
}

#[tokio::test]
async fn a_cookie_alone_changes_nothing() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Admin)).await;
    let csrf = kit.csrf(&cookie).await;
    let other = kit.csrf(&kit.cookie(Some(Role::Admin)).await).await;
    for route in table() {
        let is_unsafe = route.method != Method::Get;
        // A public route looks at no cookie.
        let guarded = is_unsafe && route.who != AllowedCaller::Public;
        assert_eq!(route.csrf, guarded, "{}: every unsafe route checks", route.path);
        if !guarded {
            continue;
        }
        let path = path(route.path);
        for (token, origin) in [
            ("", super::kit::PORTAL),
            (other.as_str(), super::kit::PORTAL),
            (csrf.as_str(), "https://evil.example"),
            (csrf.as_str(), "null"),
        ] {
            let request = script(route.method.name(), &path)
                .header("cookie", &cookie)
                .header("origin", origin)
                .header("x-csrf-token", token);
            let answer = kit.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(
                (answer.status.as_u16(), answer.json()["code"].as_str()),
                (403, Some("csrf")),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn tokens_open_the_api_without_csrf_but_a_kubeconfigs_does_not() {
    let kit = Kit::new().await;
    let call = async |token: &str, method: &str, path: &str| {
        let request = script(method, path).header("authorization", format!("Bearer {token}"));
        kit.send(request.body(Body::empty()).unwrap()).await
    };
    let cli = kit.token(Role::Sre, GrantKind::Cli).await;
    assert_eq!(call(&cli, "GET", "/api/v1/clusters").await.json()["total"], 1);
    assert_eq!(call(&cli, "POST", &format!("{RES}/kubeconfig/new")).await.status, 200);
    assert_eq!(call(&cli, "GET", "/api/v1/imports").await.status, 403);
    let kubeconfig = kit.token(Role::Sre, GrantKind::Kubeconfig).await;
    assert_eq!(call(&kubeconfig, "GET", "/api/v1/clusters").await.status, 401);
    for bad in ["", "x", "aro1_cli_a_b_c", &cli[..cli.len() - 1]] {
        let answer = call(bad, "GET", "/api/v1/clusters").await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (401, Some("token_refused")),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_have_words_and_every_answer_its_headers() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Viewer)).await;
    for (request, status) in [
        (get("/doesnotexist"), 404),
        (script("GET", "/api/v1/nothing"), 404),
        (script("PUT", "/api/v1/clusters"), 405),
        (get("/"), 200),
    ] {
        let answer = kit.send(request.header("cookie", &cookie).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, status);
        assert!(!answer.body.is_empty() && !answer.header("x-request-id").is_empty());
        for (name, part) in [
            ("content-security-policy", "default-src 'none'; script-src 'self'"),
            ("content-security-policy", "frame-ancestors 'none'"),
            ("strict-transport-security", "max-age="),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert!(answer.header(name).contains(part), "{name}: {answer:?}");
        }
    }
    let css = kit.send(get(&web::assets::url("app.css")).body(Body::empty()).unwrap()).await;
    assert_eq!(
        (css.status.as_u16(), css.header("cache-control")),
        (200, "public, max-age=31536000, immutable")
    );
}

#[tokio::test]
async fn assets_are_packed_when_built_and_pages_whole() {
    let kit = Kit::new().await;
    let url = web::assets::url("app.js");
    let fetch = async |path: &str, accepted: &str, held: Option<&str>| {
        let mut request = get(path).header("accept-encoding", accepted);
        if let Some(held) = held {
            request = request.header("if-none-match", held);
        }
        kit.send(request.body(Body::empty()).unwrap()).await
    };
    let asset = web::assets::get(&url).unwrap();
    for (accepted, coding, size) in [
        ("gzip, br", "br", asset.brotli.unwrap().len()),
        ("gzip", "gzip", asset.gzip.unwrap().len()),
        ("br;q=0", "", asset.bytes.len()),
    ] {
        let answer = fetch(&url, accepted, None).await;
        let told = (answer.header("content-encoding"), answer.header("vary"), answer.size);
        assert_eq!(told, (coding, "accept-encoding", size), "{accepted}");
        assert_eq!(fetch(&url, accepted, Some(answer.header("etag"))).await.status, 304);
    }
    // A page that anybody may ask for: it has its length, so that no encoder waits for a reader.
    let page = fetch("/nothing-here", "gzip, br", None).await;
    assert_eq!((page.status.as_u16(), page.header("content-encoding")), (404, "gzip"), "{page:?}");
    assert_eq!(page.exact, Some(page.size as u64));
}

/// Samples are in what `aro-dev` is built of, and in nothing that ships.
#[tokio::test]
async fn a_gallery_is_only_where_samples_are_built_in() {
    let kit = Kit::new().await;
    let list = if cfg!(feature = "samples") { 200 } else { 404 };
    for (path, status) in [("/gallery", list), ("/gallery/x", 404)] {
        assert_eq!(kit.page(Role::Viewer, path).await.status, status, "{path}");
    }
}
