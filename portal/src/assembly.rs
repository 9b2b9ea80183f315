//! The router, built from the table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};
use portal_api as api;
use portal_model::state::PortalState;
use portal_pages as pages;
use portal_session::backchannel;
use portal_session::fault::Fault;

use crate::gate::{Gate, gate};
use crate::routes::{Handler, Method, Route, table};
use crate::{layers, ready};

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
    layers::with_layers(state, router)
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
        Handler::Ready => on!(ready::ready),
        Handler::Asset => on!(pages::assets::asset),
        Handler::Login => on!(pages::login::login),
        Handler::Callback => on!(pages::callback::callback),
        Handler::Logout => on!(pages::logout::logout),
        Handler::BackchannelLogout => on!(backchannel::backchannel),
        Handler::CliLogin => on!(pages::signin::page),
        Handler::CliLoginDecide => on!(pages::signin::decide),
        Handler::DevicePage => on!(pages::device::page),
        Handler::DeviceDecide => on!(pages::device::decide),
        Handler::LoginToken => on!(api::login::token),
        Handler::LoginDevice => on!(api::login::device),
        Handler::V1Logout => on!(api::login::logout),
        Handler::OpenApi => on!(crate::openapi::serve),
        Handler::Info => on!(api::info::info),
        Handler::Regions => on!(api::info::regions),
        Handler::PromServe => on!(api::prom::serve),
        Handler::PromSources => on!(api::prom::sources),
        Handler::PromSuggest => on!(api::prom::suggest),
        Handler::PromExplain => on!(api::prom::explain),
        Handler::ClusterAlerts => on!(api::prom::alerts),
        Handler::Statistic => on!(api::prom::statistic),
        Handler::FleetQuery => on!(api::fleet::query),
        Handler::ClusterList => on!(api::clusters::list),
        Handler::ClusterDetail => on!(api::clusters::detail),
        Handler::V1Clusters => on!(api::clusters::search),
        Handler::ClusterOperatorsList => on!(api::cluster_legacy::operators),
        Handler::ClusterNodesList => on!(api::cluster_legacy::nodes),
        Handler::ClusterMachinesList => on!(api::cluster_legacy::machines),
        Handler::ClusterMachineSetsList => on!(api::cluster_legacy::machine_sets),
        Handler::V1Objects => on!(api::cluster_objects::list),
        Handler::LivePage => on!(pages::live_stream::stream),
        Handler::V1Grants => on!(api::grants::list),
        Handler::V1Grant => on!(api::grants::get),
        Handler::V1GrantNew => on!(api::grants::create),
        Handler::V1GrantRevoke => on!(api::grants::revoke),
        Handler::V1GrantExtend => on!(api::grants::extend),
        Handler::V1GrantToken => on!(api::grants::token),
        Handler::V1GrantsRevoke => on!(api::grants::revoke_all),
        Handler::V1Elevations => on!(api::elevations::list),
        Handler::V1Elevation => on!(api::elevations::get),
        Handler::V1ElevationNew => on!(api::elevations::create),
        Handler::V1ElevationApprove => on!(api::elevations::approve),
        Handler::V1ElevationRefuse => on!(api::elevations::refuse),
        Handler::V1ElevationEnd => on!(api::elevations::end),
        Handler::V1ElevationReview => on!(api::elevations::review),
        Handler::V1Tunnel => on!(api::tunnels::offer),
        Handler::V1Credentials => on!(api::tunnels::credentials),
        Handler::V1Robots => on!(api::robots::list),
        Handler::V1RobotNew => on!(api::robots::create),
        Handler::V1RobotRotate => on!(api::robots::rotate),
        Handler::V1RobotRevoke => on!(api::robots::revoke),
        Handler::V1Recordings => on!(api::recordings::list),
        Handler::V1Recording => on!(api::recordings::get),
        Handler::V1RecordingCast => on!(api::recordings::cast),
        Handler::RecordingsPage => on!(pages::recordings::page),
        Handler::RecordingPage => on!(pages::recordings::player),
        Handler::V1Audit => on!(api::audit::search),
        Handler::V1AuditExport => on!(api::audit::export),
        Handler::V1AuditReport => on!(api::audit::report),
        Handler::V1AuditProof => on!(api::audit::proof),
        Handler::V1Imports => on!(api::imports::list),
        Handler::V1Import => on!(api::imports::create),
        Handler::V1ImportRemove => on!(api::imports::remove),
        Handler::ClustersPage => on!(pages::clusters::page),
        Handler::OverviewPage => on!(pages::cluster::overview),
        Handler::ClusterAccessPage => on!(pages::cluster::access),
        Handler::NodesPage => on!(pages::objects::page),
        Handler::NodePage => on!(pages::objects::page),
        Handler::MachinesPage => on!(pages::objects::page),
        Handler::MachinePage => on!(pages::objects::page),
        Handler::SerialPage => on!(pages::serial::page),
        Handler::V1Serial => on!(api::serial::serial),
        Handler::V1Screenshot => on!(api::serial::screenshot),
        Handler::MachineSetsPage => on!(pages::objects::page),
        Handler::MachineSetPage => on!(pages::objects::page),
        Handler::ControlPlanePage => on!(pages::objects::page),
        Handler::OperatorsPage => on!(pages::objects::page),
        Handler::OperatorPage => on!(pages::objects::page),
        Handler::OldOperatorsTab => on!(pages::cluster::old_operators),
        Handler::OperationsPage => on!(pages::operations::page),
        Handler::OperationPage => on!(pages::operations::one),
        Handler::PodsPage => on!(pages::workloads::page),
        Handler::PodPage => on!(pages::workloads::page),
        Handler::LogPage => on!(pages::logs::page),
        Handler::TerminalPage => on!(pages::terminal::page),
        Handler::TerminalNew => on!(pages::terminal::give),
        Handler::TerminalSocket => on!(pages::terminal::socket),
        Handler::WorkloadsPage => on!(pages::workloads::page),
        Handler::WorkloadPage => on!(pages::workloads::page),
        Handler::EventsPage => on!(pages::workloads::page),
        Handler::ResourcesPage => on!(pages::resources::kinds_page),
        Handler::ResourceKindPage => on!(pages::resources::objects_page),
        Handler::ResourcePage => on!(pages::resources::object_page),
        Handler::NetworkPage => on!(pages::network::page),
        Handler::LookGive => on!(pages::look::give),
        Handler::V1Log => on!(api::looks::log),
        Handler::V1ObjectList => on!(api::looks::list),
        Handler::V1Object => on!(api::looks::object),
        Handler::KubeconfigDialog => on!(pages::kubeconfig::dialog),
        Handler::KubeconfigNew => on!(pages::kubeconfig::issue),
        Handler::TunnelDialog => on!(pages::tunnel::dialog),
        Handler::SshDialog => on!(pages::ssh::dialog),
        Handler::SshNew => on!(pages::ssh::issue),
        Handler::HostKeysPage => on!(pages::host_keys::page),
        Handler::HostKeyTrust => on!(pages::host_keys::post),
        Handler::V1SshCertificate => on!(api::ssh::certificate),
        Handler::V1SshDoor => on!(api::ssh::bastion),
        Handler::V1SshMachines => on!(api::ssh::machines),
        Handler::V1Terminals => on!(api::terminals::list),
        Handler::V1HostKeys => on!(api::ssh::host_keys),
        Handler::V1HostKeyTrust => on!(api::ssh::trust_key),
        Handler::AccessPage => on!(pages::access::page),
        Handler::GrantPage => on!(pages::access::detail),
        Handler::AccessRevokeDialog => on!(pages::revoke::revoke_dialog),
        Handler::AccessRevoke => on!(pages::revoke::revoke),
        Handler::AccessExtendDialog => on!(pages::extend::extend_dialog),
        Handler::AccessExtend => on!(pages::extend::extend),
        Handler::AccessRevokeManyDialog => on!(pages::revoke_many::dialog),
        Handler::AccessRevokeMany => on!(pages::revoke_many::post),
        Handler::ElevationBanner => on!(pages::elevations::banner),
        Handler::ElevationsPage => on!(pages::elevations::page),
        Handler::ElevatePage => on!(pages::elevate::form),
        Handler::ElevatePost => on!(pages::elevate::post),
        Handler::ElevationApproveDialog => on!(pages::elevation_decisions::approve_dialog),
        Handler::ElevationApprove => on!(pages::elevation_decisions::approve),
        Handler::ElevationRefuseDialog => on!(pages::elevation_decisions::refuse_dialog),
        Handler::ElevationRefuse => on!(pages::elevation_decisions::refuse),
        Handler::ElevationEndDialog => on!(pages::elevation_decisions::end_dialog),
        Handler::ElevationEnd => on!(pages::elevation_decisions::end),
        Handler::ElevationReviewDialog => on!(pages::elevation_decisions::review_dialog),
        Handler::ElevationReview => on!(pages::elevation_decisions::review),
        Handler::RobotsPage => on!(pages::robots::page),
        Handler::RobotsPost => on!(pages::robots::create),
        Handler::RobotRotateDialog => on!(pages::robots::rotate_dialog),
        Handler::RobotRotate => on!(pages::robots::rotate),
        Handler::RobotRevokeDialog => on!(pages::robots::revoke_dialog),
        Handler::RobotRevoke => on!(pages::robots::revoke),
        Handler::ReportPage => on!(pages::report::page),
        Handler::AuditPage => on!(pages::audit::page),
        Handler::ImportedPage => on!(pages::imported::page),
        Handler::ImportedPost => on!(pages::imported::create),
        Handler::ImportedRemove => on!(pages::imported::remove),
        Handler::JumpPage => on!(pages::jump::page),
        Handler::V1Jump => on!(pages::jump::json),
        Handler::GalleryPage => on!(pages::gallery::page),
        Handler::GalleryItem => on!(pages::gallery::item),
        Handler::ColumnsPost => on!(pages::clusters::choose_columns),
        Handler::ClustersChosen => on!(pages::clusters::chosen),
        Handler::ClustersExport => on!(pages::clusters::download),
        Handler::V1Cluster => on!(api::clusters::one),
        Handler::V1Operations => on!(api::operations::list),
        Handler::V1Operation => on!(api::operations::get),
        Handler::V1Views => on!(api::views::list),
        Handler::V1ViewSave => on!(api::views::create),
        Handler::V1ViewRemove => on!(api::views::remove),
        Handler::ViewSave => on!(pages::views::create),
        Handler::ViewRemove => on!(pages::views::remove),
        Handler::V1Queries => on!(api::queries::list),
        Handler::V1QuerySave => on!(api::queries::create),
        Handler::V1QueryRemove => on!(api::queries::remove),
        Handler::ExplorePage => on!(pages::explore::page),
        Handler::AlertsPage => on!(pages::alerts::page),
        Handler::FleetPage => on!(pages::fleet::page),
        Handler::StatisticsPage => on!(pages::statistics::page),
        Handler::StatisticsTab => on!(pages::statistics::tab),
        Handler::MetricsDialog => on!(pages::metrics::dialog),
        Handler::MetricsNew => on!(pages::metrics::issue),
        Handler::KeysPage => on!(pages::keys::page),
    };
    let gate_state = Gate { state: state.clone(), route };
    methods.layer(DefaultBodyLimit::max(route.body)).layer(from_fn_with_state(gate_state, gate))
}
