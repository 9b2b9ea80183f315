//! The router, built from the table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};

use crate::fault::Fault;
use crate::gate::{Gate, gate};
use crate::routes::{Handler, Method, Route, table};
use crate::state::PortalState;
use crate::{api, auth, layers, pages};

/// The whole portal behind one router: no socket is opened, so tests send requests into it. The front
/// service puts `ConnectInfo<SocketAddr>` into each request.
pub fn app(state: PortalState) -> Router {
    let mut router = Router::new();
    for route in table() {
        router = router.route(route.path, method_router(&state, route));
    }
    let router = router
        .fallback(|| async { Fault::not_found() })
        .method_not_allowed_fallback(|| async { Fault::status(http::StatusCode::METHOD_NOT_ALLOWED) })
        .with_state(state.clone());
    layers::around(state, router)
}

fn method_router(state: &PortalState, route: &'static Route) -> MethodRouter<PortalState> {
    macro_rules! on {
        ($handler:path) => {
            match route.method {
                Method::Get => get($handler),
                Method::Post => post($handler),
                Method::Delete => delete($handler),
            }
        };
    }
    let methods = match route.handler {
        Handler::Ready => on!(pages::ready),
        Handler::Asset => on!(pages::asset),
        Handler::Login => on!(auth::login),
        Handler::Callback => on!(auth::callback),
        Handler::Logout => on!(auth::logout),
        Handler::BackchannelLogout => on!(auth::backchannel),
        Handler::CliLogin => on!(pages::signin::loopback_page),
        Handler::CliLoginDecide => on!(pages::signin::loopback_decide),
        Handler::DevicePage => on!(pages::signin::device_page),
        Handler::DeviceDecide => on!(pages::signin::device_decide),
        Handler::LoginToken => on!(api::login::token),
        Handler::LoginDevice => on!(api::login::device),
        Handler::V1Logout => on!(api::login::logout),
        Handler::Info => on!(api::info::info),
        Handler::Regions => on!(api::info::regions),
        Handler::ClusterList => on!(api::clusters::list),
        Handler::ClusterDetail => on!(api::clusters::detail),
        Handler::V1Clusters => on!(api::clusters::search),
        Handler::V1Grants => on!(api::grants::list),
        Handler::V1GrantRevoke => on!(api::grants::revoke),
        Handler::V1Audit => on!(api::audit::search),
        Handler::V1Imports => on!(api::imports::list),
        Handler::V1Import => on!(api::imports::create),
        Handler::V1ImportRemove => on!(api::imports::remove),
        Handler::ClustersPage => on!(pages::clusters::page),
        Handler::OverviewPage => on!(pages::cluster::overview),
        Handler::ClusterAccessPage => on!(pages::cluster::access),
        Handler::KubeconfigDialog => on!(pages::kubeconfig::dialog),
        Handler::KubeconfigNew => on!(pages::kubeconfig::issue),
        Handler::AccessPage => on!(pages::access::page),
        Handler::AccessRevoke => on!(pages::access::revoke),
        Handler::AuditPage => on!(pages::audit::page),
        Handler::ImportedPage => on!(pages::imported::page),
        Handler::ImportedPost => on!(pages::imported::create),
        Handler::ImportedRemove => on!(pages::imported::remove),
        Handler::KeysPage => on!(pages::keys),
    };
    let gate_state = Gate { state: state.clone(), route };
    methods.layer(DefaultBodyLimit::max(route.body)).layer(from_fn_with_state(gate_state, gate))
}
