//! The routes of the API (`contract/frontend.md` §2, §4). Paths match in any case;
//! doubled slashes and a trailing slash are ignored.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use rp_api::{CloudError, text};

use crate::admin::{self, Admin};

/// Below a cluster.
macro_rules! cluster_template {
    ($suffix:literal) => {
        concat!(
            "/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/",
            "{resourceProviderNamespace}/{resourceType}/{resourceName}",
            $suffix
        )
    };
}

/// Below a region.
macro_rules! location_template {
    ($suffix:literal) => {
        concat!(
            "/subscriptions/{subscriptionId}/providers/{resourceProviderNamespace}/locations/{location}/",
            $suffix
        )
    };
}

/// The route of a path. Strings are lower case unless noted otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Ready,
    /// `PUT /subscriptions/{s}`.
    Subscription(String),
    /// Clusters of a subscription, or of a group in it.
    Clusters {
        subscription: String,
        group: Option<String>,
    },
    Cluster(ClusterPath),
    Credentials(ClusterPath),
    AdminCredentials(ClusterPath),
    Detectors {
        path: ClusterPath,
        id: Option<String>,
    },
    Preflight {
        subscription: String,
    },
    OperationStatus {
        subscription: String,
        operation: String,
    },
    OperationResult {
        subscription: String,
        operation: String,
    },
    OpenShiftVersions {
        version: Option<String>,
    },
    RoleSets {
        minor: Option<String>,
    },
    Operations,
    /// Below `/admin`.
    Admin(Admin),
}

impl Route {
    /// The route as metrics and the trail name it (`contract/frontend.md` "Do better" 31).
    pub(crate) const fn template(&self) -> &'static str {
        match self {
            Self::Ready => "/healthz/ready",
            Self::Subscription(_) => "/subscriptions/{subscriptionId}",
            Self::Clusters { group: None, .. } => {
                "/subscriptions/{subscriptionId}/providers/{resourceProviderNamespace}/{resourceType}"
            }
            Self::Clusters { group: Some(_), .. } => {
                "/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/{resourceProviderNamespace}/{resourceType}"
            }
            Self::Cluster(_) => cluster_template!(""),
            Self::Credentials(_) => cluster_template!("/listcredentials"),
            Self::AdminCredentials(_) => cluster_template!("/listadmincredentials"),
            Self::Detectors { id: None, .. } => cluster_template!("/detectors"),
            Self::Detectors { id: Some(_), .. } => cluster_template!("/detectors/{detectorId}"),
            Self::Preflight { .. } => {
                "/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/{resourceProviderNamespace}/deployments/{deploymentName}/preflight"
            }
            Self::OperationStatus { .. } => location_template!("operationsstatus/{operationId}"),
            Self::OperationResult { .. } => location_template!("operationresults/{operationId}"),
            Self::OpenShiftVersions { version: None } => location_template!("openshiftversions"),
            Self::OpenShiftVersions { version: Some(_) } => {
                location_template!("openshiftversions/{openshiftVersion}")
            }
            Self::RoleSets { minor: None } => location_template!("platformworkloadidentityrolesets"),
            Self::RoleSets { minor: Some(_) } => {
                location_template!("platformworkloadidentityrolesets/{openShiftMinorVersion}")
            }
            Self::Operations => "/providers/{resourceProviderNamespace}/operations",
            Self::Admin(asked) => asked.template(),
        }
    }

    /// The methods that it has, as the header `Allow` lists them (RFC 9110 §10.2.1).
    pub(crate) const fn methods(&self) -> &'static str {
        match self {
            Self::Ready
            | Self::Clusters { .. }
            | Self::Detectors { .. }
            | Self::OperationStatus { .. }
            | Self::OperationResult { .. }
            | Self::OpenShiftVersions { .. }
            | Self::RoleSets { .. }
            | Self::Operations => "GET",
            Self::Subscription(_) => "PUT",
            Self::Cluster(_) => "GET, PUT, PATCH, DELETE",
            Self::Credentials(_) | Self::AdminCredentials(_) | Self::Preflight { .. } => "POST",
            Self::Admin(asked) => asked.methods(),
        }
    }

    /// The cluster that it names.
    pub(crate) const fn cluster(&self) -> Option<&ClusterPath> {
        match self {
            Self::Cluster(path)
            | Self::Credentials(path)
            | Self::AdminCredentials(path)
            | Self::Detectors { path, .. } => Some(path),
            Self::Admin(asked) => asked.cluster(),
            _ => None,
        }
    }
}

/// A cluster's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterPath {
    pub(crate) subscription: String,
    pub(crate) group: String,
    pub(crate) name: String,
    /// The resource id as the caller wrote it.
    pub(crate) original: String,
}

impl ClusterPath {
    /// The store's key.
    pub(crate) fn key(&self) -> String {
        let Self { subscription, group, name, .. } = self;
        format!("/subscriptions/{subscription}/resourcegroups/{group}/providers/{PROVIDER}/{KIND}/{name}")
    }

    /// There is no such cluster (`contract/frontend.md` §6.1).
    pub(crate) fn missing(&self) -> CloudError {
        let message = format!(
            "The Resource '{KIND}/{}' under resource group '{}' was not found.",
            self.name, self.group
        );
        CloudError::new(404, "ResourceNotFound", "", message)
    }
}

pub(crate) const PROVIDER: &str = "microsoft.redhatopenshift";
pub(crate) const KIND: &str = "openshiftclusters";

/// Why a path has no route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteError {
    /// No route matches.
    Unknown,
    /// A route matches, but a segment is invalid.
    Wrong(CloudError),
}

/// The segments of a path, decoded. Each by itself, so that an escaped slash stays inside its segment and fails there
/// (`contract/frontend.md` "Do better" 3).
fn segments(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
    path.split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| percent_decode_str(segment).decode_utf8().unwrap_or(Cow::Borrowed(segment)))
}

/// Whether a path is of the admin side (`contract/frontend.md` §3): read as its route is, or another way of
/// writing it would pass as ARM's.
pub(crate) fn is_admin(path: &str) -> bool {
    segments(path).next().is_some_and(|first| first.to_ascii_lowercase().starts_with("admin"))
}

/// The route of a path in the caller's casing. `region` is ours.
pub(crate) fn route(path: &str, region: &str, api_version: &str) -> Result<Route, RouteError> {
    let original: Vec<Cow<'_, str>> = segments(path).collect();
    let original: Vec<&str> = original.iter().map(AsRef::as_ref).collect();
    let lower: Vec<String> = original.iter().map(|segment| segment.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let check = Check { region, api_version };
    if let ["admin", rest @ ..] = lower.as_slice() {
        let inner = original.get(1..).unwrap_or_default();
        return check.admin(rest, inner).map(Route::Admin);
    }
    check.route(&original, &lower)
}

struct Check<'a> {
    region: &'a str,
    api_version: &'a str,
}

impl Check<'_> {
    /// Below `/admin`: clusters have the paths that ARM gives them.
    fn admin(&self, rest: &[&str], original: &[&str]) -> Result<Admin, RouteError> {
        if let ["providers", provider, kind] = rest {
            self.provider(provider)?;
            self.kind(kind, provider)?;
            return Ok(Admin::AllClusters);
        }
        admin::route(rest, |segments| {
            self.route(original.get(..segments).unwrap_or_default(), rest.get(..segments).unwrap_or_default())
        })
    }

    /// A path of ARM's, in segments: as written, and in lower case.
    fn route(&self, original: &[&str], lower: &[&str]) -> Result<Route, RouteError> {
        let check = self;
        match lower {
            ["healthz", "ready"] => Ok(Route::Ready),
            ["providers", provider, "operations"] => {
                check.provider(provider)?;
                Ok(Route::Operations)
            }
            ["subscriptions", subscription] => {
                check.subscription(subscription)?;
                Ok(Route::Subscription((*subscription).to_owned()))
            }
            ["subscriptions", subscription, "providers", provider, rest @ ..] => {
                check.subscription(subscription)?;
                check.provider(provider)?;
                check.in_subscription(subscription, provider, rest)
            }
            ["subscriptions", subscription, "resourcegroups", group, "providers", provider, rest @ ..] => {
                check.subscription(subscription)?;
                check.group(group)?;
                check.provider(provider)?;
                check.in_group(subscription, group, provider, rest, original)
            }
            _ => Err(RouteError::Unknown),
        }
    }

    fn in_subscription(
        &self,
        subscription: &str,
        provider: &str,
        rest: &[&str],
    ) -> Result<Route, RouteError> {
        let subscription = subscription.to_owned();
        match rest {
            ["locations", region, rest @ ..] => {
                let route = match rest {
                    ["operationsstatus" | "operationresults", id] => {
                        self.check_region(region)?;
                        let operation = operation(id)?;
                        match rest.first() {
                            Some(&"operationsstatus") => Route::OperationStatus { subscription, operation },
                            _ => Route::OperationResult { subscription, operation },
                        }
                    }
                    ["openshiftversions"] => Route::OpenShiftVersions { version: None },
                    ["openshiftversions", version] => {
                        Route::OpenShiftVersions { version: Some((*version).to_owned()) }
                    }
                    ["platformworkloadidentityrolesets"] => Route::RoleSets { minor: None },
                    ["platformworkloadidentityrolesets", minor] => {
                        Route::RoleSets { minor: Some((*minor).to_owned()) }
                    }
                    _ => return Err(RouteError::Unknown),
                };
                self.check_region(region)?;
                Ok(route)
            }
            [kind] => {
                self.kind(kind, provider)?;
                Ok(Route::Clusters { subscription, group: None })
            }
            _ => Err(RouteError::Unknown),
        }
    }

    fn in_group(
        &self,
        subscription: &str,
        group: &str,
        provider: &str,
        rest: &[&str],
        original: &[&str],
    ) -> Result<Route, RouteError> {
        let (subscription, group) = (subscription.to_owned(), group.to_owned());
        match rest {
            ["deployments", _, "preflight"] => Ok(Route::Preflight { subscription }),
            [kind] => {
                self.kind(kind, provider)?;
                Ok(Route::Clusters { subscription, group: Some(group) })
            }
            [kind, name, action @ ..] => {
                self.kind(kind, provider)?;
                cluster_name(provider, kind, name, &group)?;
                let id = original.get(..8).unwrap_or_default().join("/");
                let path =
                    ClusterPath { subscription, group, name: (*name).to_owned(), original: format!("/{id}") };
                match action {
                    [] => Ok(Route::Cluster(path)),
                    ["listcredentials"] => Ok(Route::Credentials(path)),
                    ["listadmincredentials"] => Ok(Route::AdminCredentials(path)),
                    ["detectors"] => Ok(Route::Detectors { path, id: None }),
                    ["detectors", id] => Ok(Route::Detectors { path, id: Some((*id).to_owned()) }),
                    _ => Err(RouteError::Unknown),
                }
            }
            _ => Err(RouteError::Unknown),
        }
    }

    fn subscription(&self, id: &str) -> Result<(), RouteError> {
        if id.len() == 36 && text::is_uuid(id) {
            return Ok(());
        }
        let message = format!("The provided subscription identifier '{id}' is malformed or invalid.");
        wrong("InvalidSubscriptionID", message)
    }

    fn group(&self, group: &str) -> Result<(), RouteError> {
        if text::is_group(group) {
            return Ok(());
        }
        wrong("ResourceGroupNotFound", format!("Resource group '{group}' could not be found."))
    }

    fn provider(&self, provider: &str) -> Result<(), RouteError> {
        if provider == PROVIDER {
            return Ok(());
        }
        wrong("InvalidResourceNamespace", format!("The resource namespace '{provider}' is invalid."))
    }

    fn kind(&self, kind: &str, provider: &str) -> Result<(), RouteError> {
        if kind == KIND {
            return Ok(());
        }
        Err(RouteError::Wrong(no_such_type(kind, provider, self.api_version)))
    }

    fn check_region(&self, region: &str) -> Result<(), RouteError> {
        if region.eq_ignore_ascii_case(self.region) {
            return Ok(());
        }
        let message = format!("The provided location '{region}' is malformed or invalid.");
        wrong("InvalidLocation", message)
    }
}

/// The version has no such resource (`contract/frontend.md` §2).
pub(crate) fn no_such_type(kind: &str, provider: &str, api_version: &str) -> CloudError {
    let message = format!(
        "The resource type '{kind}' could not be found in the namespace '{provider}' for api version '{api_version}'."
    );
    CloudError::bad("InvalidResourceType", "", message)
}

fn operation(id: &str) -> Result<String, RouteError> {
    if id.len() == 36 && text::is_uuid(id) {
        return Ok(id.to_owned());
    }
    let message = format!("The provided operation identifier '{id}' is malformed or invalid.");
    Err(RouteError::Wrong(CloudError::bad("InvalidOperationID", "", message)))
}

fn cluster_name(provider: &str, kind: &str, name: &str, group: &str) -> Result<(), RouteError> {
    if text::is_group(name) {
        return Ok(());
    }
    let message =
        format!("The Resource '{provider}/{kind}/{name}' under resource group '{group}' was not found.");
    wrong("ResourceNotFound", message)
}

fn wrong(code: &'static str, message: String) -> Result<(), RouteError> {
    Err(RouteError::Wrong(CloudError::bad(code, "", message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUB: &str = "00000000-0000-0000-0000-000000000001";

    fn route_of(path: &str) -> Result<Route, RouteError> {
        route(path, "eastus", "2025-07-25")
    }

    #[test]
    fn paths_match_in_any_case_and_keep_the_callers_id() {
        let path = format!(
            "//SUBSCRIPTIONS/{SUB}/ResourceGroups/G/providers/Microsoft.RedHatOpenShift/OpenShiftClusters/Name/"
        );
        let Ok(Route::Cluster(cluster)) = route_of(&path) else { unreachable!("{path}") };
        assert_eq!(
            cluster.original,
            format!(
                "/SUBSCRIPTIONS/{SUB}/ResourceGroups/G/providers/Microsoft.RedHatOpenShift/OpenShiftClusters/Name"
            )
        );
        assert_eq!(cluster.key(), cluster.original.to_ascii_lowercase());
    }

    #[test]
    fn wrong_parts_are_named() {
        let code = |path: &str| match route_of(path) {
            Err(RouteError::Wrong(error)) => error.body.code,
            Err(RouteError::Unknown) => "unknown",
            Ok(_) => "found",
        };
        let clusters = "providers/microsoft.redhatopenshift/openshiftclusters";
        assert_eq!(code(&format!("/subscriptions/x/{clusters}")), "InvalidSubscriptionID");
        assert_eq!(
            code(&format!("/subscriptions/{SUB}/resourcegroups/a%2fb/{clusters}")),
            "ResourceGroupNotFound"
        );
        assert_eq!(
            code(&format!("/subscriptions/{SUB}/resourcegroups/g./{clusters}/n")),
            "ResourceGroupNotFound"
        );
        assert_eq!(
            code(&format!("/subscriptions/{SUB}/resourcegroups/g/{clusters}/n%00")),
            "ResourceNotFound"
        );
        assert_eq!(
            code(&format!("/subscriptions/{SUB}/providers/x/openshiftclusters")),
            "InvalidResourceNamespace"
        );
        assert_eq!(
            code(&format!("/subscriptions/{SUB}/providers/microsoft.redhatopenshift/x")),
            "InvalidResourceType"
        );
        let location = format!("/subscriptions/{SUB}/providers/microsoft.redhatopenshift/locations");
        assert_eq!(code(&format!("{location}/mars/operationsstatus/{SUB}")), "InvalidLocation");
        assert_eq!(code(&format!("{location}/eastus/operationsstatus/x")), "InvalidOperationID");
        assert_eq!(code(&format!("{location}/mars/operationresults/x")), "InvalidLocation");
        assert_eq!(code(&format!("{location}/mars/nothing/x")), "unknown");
        assert_eq!(code(&format!("{location}/EastUS/openshiftversions")), "found");
        for path in ["/", "/x", "/subscriptions", "/healthz", "/healthz/ready/x", "/providers/x"] {
            assert_eq!(code(path), "unknown", "{path}");
        }
        for path in
            ["/admin", "/ADMIN/versions", "//admin/x", "/%61dmin/versions", "/%41%44%4D%49%4E", "/adminx"]
        {
            assert!(is_admin(path), "{path}");
        }
        for path in ["/", "", "/x/admin", "/%2561dmin/versions", "/subscriptions/admin", "/%ffadmin"] {
            assert!(!is_admin(path) && !matches!(route_of(path), Ok(Route::Admin(_))), "{path}");
        }
        let dots = format!("/subscriptions/{SUB}/resourcegroups/../{clusters}/n");
        assert_eq!(code(&dots), "ResourceGroupNotFound");
    }
}
