//! Every route, with the decision who may call it. The router is built from this table and a contract
//! test calls each row with every kind of caller (`contract/rules.md` §3.6: no route without a decision).

use rp_documents::Role;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedCaller {
    /// Anybody.
    Public,
    /// Any signed-in caller, whatever their role.
    SignedIn,
    /// Callers with the role.
    Role(Role),
}

/// What a call leaves in the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditClass {
    /// Nothing.
    None,
    /// One entry at its end, queued.
    Read,
    /// A durable entry before the effect, by the handler; refusals are queued here.
    Change,
}

/// The functions behind the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handler {
    Ready,
    Asset,
    Login,
    Callback,
    Logout,
    CliLogin,
    CliLoginDecide,
    DevicePage,
    DeviceDecide,
    LoginToken,
    LoginDevice,
    V1Logout,
    BackchannelLogout,
    Info,
    OpenApi,
    Regions,
    PromServe,
    PromSources,
    PromSuggest,
    PromExplain,
    ClusterAlerts,
    Statistic,
    FleetQuery,
    ClusterList,
    ClusterDetail,
    V1Clusters,
    ClusterOperatorsList,
    ClusterNodesList,
    ClusterMachinesList,
    ClusterMachineSetsList,
    V1Objects,
    LivePage,
    V1Grants,
    V1Grant,
    V1GrantNew,
    V1GrantRevoke,
    V1GrantExtend,
    V1GrantToken,
    V1SshCertificate,
    V1SshDoor,
    V1SshMachines,
    V1Terminals,
    V1HostKeys,
    V1HostKeyTrust,
    V1GrantsRevoke,
    V1Tunnel,
    V1Credentials,
    V1Elevations,
    V1Elevation,
    V1ElevationNew,
    V1ElevationApprove,
    V1ElevationRefuse,
    V1ElevationEnd,
    V1ElevationReview,
    V1Robots,
    V1RobotNew,
    V1RobotRotate,
    V1RobotRevoke,
    V1Recordings,
    V1Recording,
    V1RecordingCast,
    RecordingsPage,
    RecordingPage,
    V1Audit,
    V1AuditExport,
    V1AuditReport,
    V1AuditProof,
    V1Imports,
    V1Import,
    V1ImportRemove,
    ClustersPage,
    OverviewPage,
    ClusterAccessPage,
    NodesPage,
    NodePage,
    MachinesPage,
    MachinePage,
    SerialPage,
    MachineSetsPage,
    MachineSetPage,
    ControlPlanePage,
    OperatorsPage,
    OperatorPage,
    OldOperatorsTab,
    OperationsPage,
    OperationPage,
    PodsPage,
    PodPage,
    LogPage,
    TerminalPage,
    TerminalNew,
    TerminalSocket,
    TunnelDialog,
    WorkloadsPage,
    WorkloadPage,
    EventsPage,
    ResourcesPage,
    ResourceKindPage,
    ResourcePage,
    NetworkPage,
    LookGive,
    V1Log,
    V1Serial,
    V1Screenshot,
    V1ObjectList,
    V1Object,
    KubeconfigDialog,
    KubeconfigNew,
    SshDialog,
    SshNew,
    HostKeysPage,
    HostKeyTrust,
    AccessPage,
    GrantPage,
    AccessRevokeDialog,
    AccessRevoke,
    AccessExtendDialog,
    AccessExtend,
    AccessRevokeManyDialog,
    AccessRevokeMany,
    ElevationBanner,
    ElevationsPage,
    ElevatePage,
    ElevatePost,
    ElevationApproveDialog,
    ElevationApprove,
    ElevationRefuseDialog,
    ElevationRefuse,
    ElevationEndDialog,
    ElevationEnd,
    ElevationReviewDialog,
    ElevationReview,
    RobotsPage,
    RobotsPost,
    RobotRotateDialog,
    RobotRotate,
    RobotRevokeDialog,
    RobotRevoke,
    ReportPage,
    AuditPage,
    ImportedPage,
    ImportedPost,
    ImportedRemove,
    GalleryPage,
    GalleryItem,
    ColumnsPost,
    JumpPage,
    V1Jump,
    ClustersChosen,
    ClustersExport,
    V1Cluster,
    V1Operations,
    V1Operation,
    V1Views,
    V1ViewSave,
    V1ViewRemove,
    ViewSave,
    ViewRemove,
    V1Queries,
    V1QuerySave,
    V1QueryRemove,
    StatisticsPage,
    StatisticsTab,
    ExplorePage,
    AlertsPage,
    FleetPage,
    MetricsDialog,
    MetricsNew,
    KeysPage,
}

/// The methods that the table uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: Method,
    /// Pattern; `{x}` is one segment, `{*x}` the rest.
    pub path: &'static str,
    pub who: AllowedCaller,
    /// An unsafe call with a cookie needs a CSRF token and the right origin; with a bearer token, none.
    pub csrf: bool,
    pub audit: AuditClass,
    pub handler: Handler,
    /// Longest request body, in bytes.
    pub body: usize,
}

/// The resource path of a cluster, lower case (`contract/portal.md`, "Words used here").
macro_rules! res {
    ($rest:literal) => {
        concat!(
            "/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
            $rest
        )
    };
}

/// What the explorer asks of a cluster.
macro_rules! prom {
    ($rest:literal) => {
        concat!(
            "/api/v1/prom/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
            $rest
        )
    };
}

/// What fires in a cluster.
macro_rules! alerts {
    () => {
        "/api/v1/alerts/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
    };
}

/// A cluster by JSON.
macro_rules! v1 {
    ($rest:literal) => {
        concat!(
            "/api/v1/clusters/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
            $rest
        )
    };
}

/// What a cluster is made of, for scripts.
macro_rules! objects {
    ($rest:literal) => {
        concat!(
            "/api/v1/clusters/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
            $rest
        )
    };
}

const BODY: usize = 256 * 1024;
/// A code or a signed token.
const SMALL_BODY: usize = 32 * 1024;
/// A kubeconfig of 1 MiB, JSON- or form-encoded.
const IMPORT_BODY: usize = 3 * 1024 * 1024 + 64 * 1024;

const fn get(path: &'static str, who: AllowedCaller, audit: AuditClass, handler: Handler) -> Route {
    Route { method: Method::Get, path, who, csrf: false, audit, handler, body: 0 }
}

const fn change(method: Method, path: &'static str, who: AllowedCaller, handler: Handler) -> Route {
    Route { method, path, who, csrf: true, audit: AuditClass::Change, handler, body: BODY }
}

/// A query by POST, because it may be too long for a URL; it changes nothing and writes its own audit entry.
const fn question(path: &'static str, handler: Handler) -> Route {
    let (method, who, audit) = (Method::Post, AllowedCaller::Role(Role::Sre), AuditClass::None);
    Route { method, path, who, csrf: true, audit, handler, body: BODY }
}

/// What only the caller's own browser remembers.
const fn preference(path: &'static str, handler: Handler) -> Route {
    let (who, audit) = (AllowedCaller::SignedIn, AuditClass::None);
    Route { method: Method::Post, path, who, csrf: true, audit, handler, body: SMALL_BODY }
}

/// For callers without a cookie: the body authenticates them, and each handler writes its own audit entry.
const fn open(path: &'static str, handler: Handler) -> Route {
    let (who, audit) = (AllowedCaller::Public, AuditClass::None);
    Route { method: Method::Post, path, who, csrf: false, audit, handler, body: SMALL_BODY }
}

const fn import(path: &'static str, handler: Handler) -> Route {
    Route { body: IMPORT_BODY, ..change(Method::Post, path, AllowedCaller::Role(Role::Admin), handler) }
}

const VIEWER: AllowedCaller = AllowedCaller::Role(Role::Viewer);
const SRE: AllowedCaller = AllowedCaller::Role(Role::Sre);
const ELEVATED: AllowedCaller = AllowedCaller::Role(Role::Elevated);
const APPROVER: AllowedCaller = AllowedCaller::Role(Role::Approver);
const AUDITOR: AllowedCaller = AllowedCaller::Role(Role::Auditor);
const ADMIN: AllowedCaller = AllowedCaller::Role(Role::Admin);

static TABLE: &[Route] = &[
    get("/healthz/ready", AllowedCaller::Public, AuditClass::None, Handler::Ready),
    get("/static/{*path}", AllowedCaller::Public, AuditClass::None, Handler::Asset),
    get("/favicon.ico", AllowedCaller::Public, AuditClass::None, Handler::Asset),
    get("/api/login", AllowedCaller::Public, AuditClass::None, Handler::Login),
    // Writes its own audit entry, once the person is known.
    get("/callback", AllowedCaller::Public, AuditClass::None, Handler::Callback),
    change(Method::Post, "/api/logout", AllowedCaller::SignedIn, Handler::Logout),
    // The provider signs the body.
    open("/backchannel-logout", Handler::BackchannelLogout),
    // The command line (`contract/rules.md` §5.4). A code is what its caller has in place of a sign-in.
    get("/api/cli/login", AllowedCaller::SignedIn, AuditClass::None, Handler::CliLogin),
    change(Method::Post, "/api/cli/login", AllowedCaller::SignedIn, Handler::CliLoginDecide),
    get("/device", AllowedCaller::SignedIn, AuditClass::None, Handler::DevicePage),
    change(Method::Post, "/device", AllowedCaller::SignedIn, Handler::DeviceDecide),
    open("/api/v1/login/token", Handler::LoginToken),
    open("/api/v1/login/device", Handler::LoginDevice),
    change(Method::Post, "/api/v1/logout", AllowedCaller::SignedIn, Handler::V1Logout),
    // JSON (`contract/portal.md` §8).
    get("/api/info", AllowedCaller::SignedIn, AuditClass::None, Handler::Info),
    get("/api/v1/openapi.json", AllowedCaller::SignedIn, AuditClass::None, Handler::OpenApi),
    get("/api/regions", AllowedCaller::SignedIn, AuditClass::None, Handler::Regions),
    // Prometheus (`contract/portal.md` §13, §14). Questions write their own entries, refused ones too.
    get(res!("/prometheus/api/v1/{*tail}"), SRE, AuditClass::None, Handler::PromServe),
    question(res!("/prometheus/api/v1/{*tail}"), Handler::PromServe),
    get(res!("/prometheus/-/{tail}"), SRE, AuditClass::None, Handler::PromServe),
    get(prom!("/sources"), SRE, AuditClass::None, Handler::PromSources),
    get(prom!("/suggest"), SRE, AuditClass::None, Handler::PromSuggest),
    get(prom!("/{*tail}"), SRE, AuditClass::None, Handler::PromServe),
    question(prom!("/{*tail}"), Handler::PromServe),
    get("/api/v1/prom/explain", VIEWER, AuditClass::None, Handler::PromExplain),
    get(alerts!(), VIEWER, AuditClass::None, Handler::ClusterAlerts),
    get("/api/{sub}/{group}/{name}/statistics/{kind}", VIEWER, AuditClass::None, Handler::Statistic),
    question("/api/v1/fleet/query", Handler::FleetQuery),
    get("/api/clusters", VIEWER, AuditClass::Read, Handler::ClusterList),
    get("/api/{sub}/{group}/{name}", VIEWER, AuditClass::Read, Handler::ClusterDetail),
    // Objects of a cluster (`contract/portal.md` §8.6–8.9), and the same with consistent names.
    get(
        "/api/{sub}/{group}/{name}/clusteroperators",
        VIEWER,
        AuditClass::Read,
        Handler::ClusterOperatorsList,
    ),
    get("/api/{sub}/{group}/{name}/nodes", VIEWER, AuditClass::Read, Handler::ClusterNodesList),
    get("/api/{sub}/{group}/{name}/machines", VIEWER, AuditClass::Read, Handler::ClusterMachinesList),
    get("/api/{sub}/{group}/{name}/machine-sets", VIEWER, AuditClass::Read, Handler::ClusterMachineSetsList),
    get(objects!("/nodes"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get(objects!("/machines"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get(objects!("/machinesets"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get(objects!("/operators"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get(objects!("/pods"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get(objects!("/events"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get(objects!("/workloads"), VIEWER, AuditClass::Read, Handler::V1Objects),
    get("/api/v1/clusters", VIEWER, AuditClass::Read, Handler::V1Clusters),
    get(v1!(""), VIEWER, AuditClass::Read, Handler::V1Cluster),
    get(v1!("/operations"), VIEWER, AuditClass::Read, Handler::V1Operations),
    get(v1!("/operations/{id}"), VIEWER, AuditClass::Read, Handler::V1Operation),
    // Destinations of tunnels, and the cluster's admin credential.
    get(v1!("/tunnel"), ELEVATED, AuditClass::Read, Handler::V1Tunnel),
    change(Method::Post, v1!("/credentials"), ELEVATED, Handler::V1Credentials),
    get("/api/v1/grants", VIEWER, AuditClass::None, Handler::V1Grants),
    change(Method::Post, "/api/v1/grants", SRE, Handler::V1GrantNew),
    get("/api/v1/grants/{id}", VIEWER, AuditClass::None, Handler::V1Grant),
    change(Method::Delete, "/api/v1/grants/{id}", VIEWER, Handler::V1GrantRevoke),
    change(Method::Post, "/api/v1/grants/{id}/extend", VIEWER, Handler::V1GrantExtend),
    change(Method::Post, "/api/v1/grants/{id}/token", VIEWER, Handler::V1GrantToken),
    change(Method::Post, "/api/v1/grants/{id}/ssh-certificate", VIEWER, Handler::V1SshCertificate),
    get("/api/v1/ssh", VIEWER, AuditClass::None, Handler::V1SshDoor),
    get(objects!("/ssh/machines"), SRE, AuditClass::Read, Handler::V1SshMachines),
    get(objects!("/terminals"), SRE, AuditClass::Read, Handler::V1Terminals),
    get(objects!("/host-keys"), SRE, AuditClass::Read, Handler::V1HostKeys),
    change(Method::Post, objects!("/host-keys/trust"), ADMIN, Handler::V1HostKeyTrust),
    // One's own: anybody; a cluster's and everybody's: admins, decided by the handler.
    change(Method::Post, "/api/v1/grants/revoke", VIEWER, Handler::V1GrantsRevoke),
    get("/api/v1/elevations", VIEWER, AuditClass::None, Handler::V1Elevations),
    change(Method::Post, "/api/v1/elevations", ELEVATED, Handler::V1ElevationNew),
    get("/api/v1/elevations/{id}", VIEWER, AuditClass::None, Handler::V1Elevation),
    change(Method::Post, "/api/v1/elevations/{id}/approve", APPROVER, Handler::V1ElevationApprove),
    change(Method::Post, "/api/v1/elevations/{id}/refuse", APPROVER, Handler::V1ElevationRefuse),
    change(Method::Post, "/api/v1/elevations/{id}/end", VIEWER, Handler::V1ElevationEnd),
    // Approvers and auditors, decided by the handler.
    change(Method::Post, "/api/v1/elevations/{id}/review", VIEWER, Handler::V1ElevationReview),
    get("/api/v1/robots", ADMIN, AuditClass::Read, Handler::V1Robots),
    change(Method::Post, "/api/v1/robots", ADMIN, Handler::V1RobotNew),
    change(Method::Post, "/api/v1/robots/{name}/rotate", ADMIN, Handler::V1RobotRotate),
    change(Method::Delete, "/api/v1/robots/{name}", ADMIN, Handler::V1RobotRevoke),
    // One's own: sre; everybody's: auditors, decided by the handler.
    get("/api/v1/recordings", VIEWER, AuditClass::Read, Handler::V1Recordings),
    get("/api/v1/recordings/{id}", VIEWER, AuditClass::Read, Handler::V1Recording),
    // Writes its own entry, durably, before the first byte.
    get("/api/v1/recordings/{id}/cast", VIEWER, AuditClass::Read, Handler::V1RecordingCast),
    get("/recordings", VIEWER, AuditClass::Read, Handler::RecordingsPage),
    get("/recordings/{id}", VIEWER, AuditClass::Read, Handler::RecordingPage),
    get("/api/v1/audit", AUDITOR, AuditClass::Read, Handler::V1Audit),
    get("/api/v1/audit/export", AUDITOR, AuditClass::Read, Handler::V1AuditExport),
    get("/api/v1/audit/report", AUDITOR, AuditClass::Read, Handler::V1AuditReport),
    get("/api/v1/audit/proof", AUDITOR, AuditClass::Read, Handler::V1AuditProof),
    get("/api/v1/imports", ADMIN, AuditClass::Read, Handler::V1Imports),
    import("/api/v1/imports", Handler::V1Import),
    change(Method::Delete, "/api/v1/imports/{name}", ADMIN, Handler::V1ImportRemove),
    // Pages.
    get("/", VIEWER, AuditClass::Read, Handler::ClustersPage),
    get(res!(""), VIEWER, AuditClass::Read, Handler::OverviewPage),
    get(res!("/overview"), VIEWER, AuditClass::Read, Handler::OverviewPage),
    get(res!("/access"), VIEWER, AuditClass::Read, Handler::ClusterAccessPage),
    // Live updates of an open page; writes its own audit entries, at the start and the end.
    get(res!("/live/{*page}"), VIEWER, AuditClass::None, Handler::LivePage),
    // What the cluster is made of and what runs in it.
    get(res!("/nodes"), VIEWER, AuditClass::Read, Handler::NodesPage),
    get(res!("/nodes/{item}"), VIEWER, AuditClass::Read, Handler::NodePage),
    get(res!("/machines"), VIEWER, AuditClass::Read, Handler::MachinesPage),
    get(res!("/machines/{item}"), VIEWER, AuditClass::Read, Handler::MachinePage),
    get(res!("/machines/{item}/serial"), SRE, AuditClass::Read, Handler::SerialPage),
    get(res!("/machinesets"), VIEWER, AuditClass::Read, Handler::MachineSetsPage),
    get(res!("/machinesets/{item}"), VIEWER, AuditClass::Read, Handler::MachineSetPage),
    get(res!("/controlplane"), VIEWER, AuditClass::Read, Handler::ControlPlanePage),
    get(res!("/operators"), VIEWER, AuditClass::Read, Handler::OperatorsPage),
    get(res!("/operators/{item}"), VIEWER, AuditClass::Read, Handler::OperatorPage),
    get(res!("/clusteroperators"), VIEWER, AuditClass::None, Handler::OldOperatorsTab),
    get(res!("/operations"), VIEWER, AuditClass::Read, Handler::OperationsPage),
    get(res!("/operations/{item}"), VIEWER, AuditClass::Read, Handler::OperationPage),
    get(res!("/pods"), VIEWER, AuditClass::Read, Handler::PodsPage),
    get(res!("/pods/{namespace}/{item}"), VIEWER, AuditClass::Read, Handler::PodPage),
    get(res!("/pods/{namespace}/{item}/log"), SRE, AuditClass::Read, Handler::LogPage),
    get(res!("/terminal"), SRE, AuditClass::Read, Handler::TerminalPage),
    change(Method::Post, res!("/terminal/new"), SRE, Handler::TerminalNew),
    // Each session writes its own entries, at the start and the end.
    get(res!("/terminal/socket"), SRE, AuditClass::None, Handler::TerminalSocket),
    get(res!("/workloads"), VIEWER, AuditClass::Read, Handler::WorkloadsPage),
    get(res!("/workloads/{kind}/{namespace}/{item}"), VIEWER, AuditClass::Read, Handler::WorkloadPage),
    get(res!("/events"), VIEWER, AuditClass::Read, Handler::EventsPage),
    get(res!("/resources"), SRE, AuditClass::Read, Handler::ResourcesPage),
    get(res!("/resources/{group_name}/{version}/{plural}"), SRE, AuditClass::Read, Handler::ResourceKindPage),
    get(
        res!("/resources/{group_name}/{version}/{plural}/{*item}"),
        SRE,
        AuditClass::Read,
        Handler::ResourcePage,
    ),
    get(res!("/network"), VIEWER, AuditClass::Read, Handler::NetworkPage),
    change(Method::Post, res!("/look"), SRE, Handler::LookGive),
    // Robots have scopes instead of the role: giving the access decides. What is read writes its own entries.
    get(objects!("/pods/{namespace}/{item}/log"), VIEWER, AuditClass::None, Handler::V1Log),
    get(objects!("/machines/{item}/serial"), SRE, AuditClass::None, Handler::V1Serial),
    get(objects!("/machines/{item}/screenshot"), SRE, AuditClass::None, Handler::V1Screenshot),
    get(objects!("/objects/{api}/{version}/{plural}"), VIEWER, AuditClass::None, Handler::V1ObjectList),
    get(objects!("/objects/{api}/{version}/{plural}/{*item}"), VIEWER, AuditClass::None, Handler::V1Object),
    get(res!("/report"), AUDITOR, AuditClass::Read, Handler::ReportPage),
    get(res!("/kubeconfig"), VIEWER, AuditClass::None, Handler::KubeconfigDialog),
    change(Method::Post, res!("/kubeconfig/new"), SRE, Handler::KubeconfigNew),
    get(res!("/ssh"), VIEWER, AuditClass::None, Handler::SshDialog),
    change(Method::Post, res!("/ssh/new"), SRE, Handler::SshNew),
    get(res!("/tunnel"), VIEWER, AuditClass::None, Handler::TunnelDialog),
    get(res!("/host-keys"), SRE, AuditClass::Read, Handler::HostKeysPage),
    change(Method::Post, res!("/host-keys/trust"), ADMIN, Handler::HostKeyTrust),
    get("/access", VIEWER, AuditClass::None, Handler::AccessPage),
    get("/access/revoke", VIEWER, AuditClass::None, Handler::AccessRevokeManyDialog),
    change(Method::Post, "/access/revoke", VIEWER, Handler::AccessRevokeMany),
    get("/access/{id}", VIEWER, AuditClass::None, Handler::GrantPage),
    get("/access/{id}/revoke", VIEWER, AuditClass::None, Handler::AccessRevokeDialog),
    change(Method::Post, "/access/{id}/revoke", VIEWER, Handler::AccessRevoke),
    get("/access/{id}/extend", VIEWER, AuditClass::None, Handler::AccessExtendDialog),
    change(Method::Post, "/access/{id}/extend", VIEWER, Handler::AccessExtend),
    get("/elevation", AllowedCaller::SignedIn, AuditClass::None, Handler::ElevationBanner),
    get("/elevations", VIEWER, AuditClass::None, Handler::ElevationsPage),
    get("/elevate", ELEVATED, AuditClass::None, Handler::ElevatePage),
    change(Method::Post, "/elevate", ELEVATED, Handler::ElevatePost),
    get("/elevations/{id}/approve", APPROVER, AuditClass::None, Handler::ElevationApproveDialog),
    change(Method::Post, "/elevations/{id}/approve", APPROVER, Handler::ElevationApprove),
    get("/elevations/{id}/refuse", APPROVER, AuditClass::None, Handler::ElevationRefuseDialog),
    change(Method::Post, "/elevations/{id}/refuse", APPROVER, Handler::ElevationRefuse),
    get("/elevations/{id}/end", VIEWER, AuditClass::None, Handler::ElevationEndDialog),
    change(Method::Post, "/elevations/{id}/end", VIEWER, Handler::ElevationEnd),
    get("/elevations/{id}/review", VIEWER, AuditClass::None, Handler::ElevationReviewDialog),
    change(Method::Post, "/elevations/{id}/review", VIEWER, Handler::ElevationReview),
    get("/robots", ADMIN, AuditClass::Read, Handler::RobotsPage),
    change(Method::Post, "/robots", ADMIN, Handler::RobotsPost),
    get("/robots/{name}/rotate", ADMIN, AuditClass::None, Handler::RobotRotateDialog),
    change(Method::Post, "/robots/{name}/rotate", ADMIN, Handler::RobotRotate),
    get("/robots/{name}/revoke", ADMIN, AuditClass::None, Handler::RobotRevokeDialog),
    change(Method::Post, "/robots/{name}/revoke", ADMIN, Handler::RobotRevoke),
    get("/audit", AUDITOR, AuditClass::Read, Handler::AuditPage),
    get("/imported", ADMIN, AuditClass::Read, Handler::ImportedPage),
    import("/imported", Handler::ImportedPost),
    change(Method::Post, "/imported/{name}/remove", ADMIN, Handler::ImportedRemove),
    // PromQL: pages, and the queries that people keep.
    get(res!("/explore"), VIEWER, AuditClass::Read, Handler::ExplorePage),
    get(res!("/alerts"), VIEWER, AuditClass::Read, Handler::AlertsPage),
    get("/fleet", VIEWER, AuditClass::Read, Handler::FleetPage),
    get(res!("/statistics"), VIEWER, AuditClass::Read, Handler::StatisticsPage),
    get(res!("/apistatistics"), VIEWER, AuditClass::None, Handler::StatisticsTab),
    get(res!("/kcmstatistics"), VIEWER, AuditClass::None, Handler::StatisticsTab),
    get(res!("/dnsstatistics"), VIEWER, AuditClass::None, Handler::StatisticsTab),
    get(res!("/ingressstatistics"), VIEWER, AuditClass::None, Handler::StatisticsTab),
    get(res!("/metrics"), VIEWER, AuditClass::None, Handler::MetricsDialog),
    change(Method::Post, res!("/metrics/new"), SRE, Handler::MetricsNew),
    // Views of the list, and what is done with it.
    get("/api/v1/views", VIEWER, AuditClass::None, Handler::V1Views),
    change(Method::Post, "/api/v1/views", VIEWER, Handler::V1ViewSave),
    change(Method::Delete, "/api/v1/views/{id}", VIEWER, Handler::V1ViewRemove),
    change(Method::Post, "/views", VIEWER, Handler::ViewSave),
    change(Method::Post, "/views/{id}/remove", VIEWER, Handler::ViewRemove),
    get("/jump", VIEWER, AuditClass::Read, Handler::JumpPage),
    get("/api/v1/jump", VIEWER, AuditClass::Read, Handler::V1Jump),
    preference("/columns", Handler::ColumnsPost),
    get("/clusters/chosen", VIEWER, AuditClass::None, Handler::ClustersChosen),
    get("/clusters/export", VIEWER, AuditClass::Read, Handler::ClustersExport),
    get("/api/v1/queries", VIEWER, AuditClass::None, Handler::V1Queries),
    change(Method::Post, "/api/v1/queries", VIEWER, Handler::V1QuerySave),
    change(Method::Delete, "/api/v1/queries/{id}", VIEWER, Handler::V1QueryRemove),
    // For development: exists only where everything is simulated.
    get("/gallery", AllowedCaller::SignedIn, AuditClass::None, Handler::GalleryPage),
    get("/gallery/{name}", AllowedCaller::SignedIn, AuditClass::None, Handler::GalleryItem),
    get("/keys", AllowedCaller::SignedIn, AuditClass::None, Handler::KeysPage),
];

/// Every route of the portal.
pub fn table() -> &'static [Route] {
    TABLE
}
