//! Every route, with the decision who may call it. The router is built from this table and a contract
//! test calls each row with every kind of caller (`design.md` §3 Access: no route without a decision).

use rp_documents::Role;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Anybody.
    Public,
    /// Whoever is signed in, whatever their role.
    SignedIn,
    /// Whoever holds the role.
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
    Regions,
    ClusterList,
    ClusterDetail,
    V1Clusters,
    V1Grants,
    V1GrantRevoke,
    V1Audit,
    V1Imports,
    V1Import,
    V1ImportRemove,
    ClustersPage,
    OverviewPage,
    ClusterAccessPage,
    KubeconfigDialog,
    KubeconfigNew,
    AccessPage,
    AccessRevoke,
    AuditPage,
    ImportedPage,
    ImportedPost,
    ImportedRemove,
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
    pub who: Who,
    /// An unsafe call with a cookie needs a CSRF token and the right origin; with a bearer token, none.
    pub csrf: bool,
    pub audit: AuditClass,
    pub handler: Handler,
    /// Longest request body, in bytes.
    pub body: usize,
}

/// The resource path of a cluster, lower case (`spec/portal.md`, "Words used here").
macro_rules! res {
    ($rest:literal) => {
        concat!(
            "/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}",
            $rest
        )
    };
}

const BODY: usize = 256 * 1024;
/// A code or a signed token.
const SMALL_BODY: usize = 32 * 1024;
/// A kubeconfig of 1 MiB, JSON- or form-encoded.
const IMPORT_BODY: usize = 3 * 1024 * 1024 + 64 * 1024;

const fn get(path: &'static str, who: Who, audit: AuditClass, handler: Handler) -> Route {
    Route { method: Method::Get, path, who, csrf: false, audit, handler, body: 0 }
}

const fn change(method: Method, path: &'static str, who: Who, handler: Handler) -> Route {
    Route { method, path, who, csrf: true, audit: AuditClass::Change, handler, body: BODY }
}

/// For callers without a cookie: what they send shows who they are, and each writes its own entry.
const fn open(path: &'static str, handler: Handler) -> Route {
    let (who, audit) = (Who::Public, AuditClass::None);
    Route { method: Method::Post, path, who, csrf: false, audit, handler, body: SMALL_BODY }
}

const fn import(path: &'static str, handler: Handler) -> Route {
    Route { body: IMPORT_BODY, ..change(Method::Post, path, Who::Role(Role::Admin), handler) }
}

const VIEWER: Who = Who::Role(Role::Viewer);
const SRE: Who = Who::Role(Role::Sre);
const AUDITOR: Who = Who::Role(Role::Auditor);
const ADMIN: Who = Who::Role(Role::Admin);

static TABLE: &[Route] = &[
    get("/healthz/ready", Who::Public, AuditClass::None, Handler::Ready),
    get("/static/{*path}", Who::Public, AuditClass::None, Handler::Asset),
    get("/favicon.ico", Who::Public, AuditClass::None, Handler::Asset),
    get("/api/login", Who::Public, AuditClass::None, Handler::Login),
    // Writes its own entry, once it knows whose sign-in it is.
    get("/callback", Who::Public, AuditClass::None, Handler::Callback),
    change(Method::Post, "/api/logout", Who::SignedIn, Handler::Logout),
    // The provider signs what it sends.
    open("/backchannel-logout", Handler::BackchannelLogout),
    // The command line (`design.md` §5). A code is what its caller has in place of a sign-in.
    get("/api/cli/login", Who::SignedIn, AuditClass::None, Handler::CliLogin),
    change(Method::Post, "/api/cli/login", Who::SignedIn, Handler::CliLoginDecide),
    get("/device", Who::SignedIn, AuditClass::None, Handler::DevicePage),
    change(Method::Post, "/device", Who::SignedIn, Handler::DeviceDecide),
    open("/api/v1/login/token", Handler::LoginToken),
    open("/api/v1/login/device", Handler::LoginDevice),
    change(Method::Post, "/api/v1/logout", Who::SignedIn, Handler::V1Logout),
    // JSON (`spec/portal.md` §8).
    get("/api/info", Who::SignedIn, AuditClass::None, Handler::Info),
    get("/api/regions", Who::SignedIn, AuditClass::None, Handler::Regions),
    get("/api/clusters", VIEWER, AuditClass::Read, Handler::ClusterList),
    get("/api/{sub}/{group}/{name}", VIEWER, AuditClass::Read, Handler::ClusterDetail),
    get("/api/v1/clusters", VIEWER, AuditClass::Read, Handler::V1Clusters),
    get("/api/v1/grants", VIEWER, AuditClass::None, Handler::V1Grants),
    change(Method::Delete, "/api/v1/grants/{id}", VIEWER, Handler::V1GrantRevoke),
    get("/api/v1/audit", AUDITOR, AuditClass::Read, Handler::V1Audit),
    get("/api/v1/imports", ADMIN, AuditClass::Read, Handler::V1Imports),
    import("/api/v1/imports", Handler::V1Import),
    change(Method::Delete, "/api/v1/imports/{name}", ADMIN, Handler::V1ImportRemove),
    // Pages.
    get("/", VIEWER, AuditClass::Read, Handler::ClustersPage),
    get(res!(""), VIEWER, AuditClass::Read, Handler::OverviewPage),
    get(res!("/overview"), VIEWER, AuditClass::Read, Handler::OverviewPage),
    get(res!("/access"), VIEWER, AuditClass::Read, Handler::ClusterAccessPage),
    get(res!("/kubeconfig"), VIEWER, AuditClass::None, Handler::KubeconfigDialog),
    change(Method::Post, res!("/kubeconfig/new"), SRE, Handler::KubeconfigNew),
    get("/access", VIEWER, AuditClass::None, Handler::AccessPage),
    change(Method::Post, "/access/{id}/revoke", VIEWER, Handler::AccessRevoke),
    get("/audit", AUDITOR, AuditClass::Read, Handler::AuditPage),
    get("/imported", ADMIN, AuditClass::Read, Handler::ImportedPage),
    import("/imported", Handler::ImportedPost),
    change(Method::Post, "/imported/{name}/remove", ADMIN, Handler::ImportedRemove),
    get("/keys", Who::SignedIn, AuditClass::None, Handler::KeysPage),
];

/// Every route of the portal.
pub fn table() -> &'static [Route] {
    TABLE
}
