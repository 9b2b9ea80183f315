//! Who may do what over the admin API, tool by tool and person by person
//! (`contract/frontend.md` "Do better" 16 and 17): the calling tool's certificate has a role, and beside it
//! stands the name of the person for whom it calls. Both must be allowed.

use std::collections::BTreeMap;
use std::str::FromStr;

use http::Method;
use rp_api::CloudError;

use super::path::Admin;
use crate::path::Route;

/// What a person or a tool may do, each more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdminRole {
    /// Reads what the resource provider knows, and objects of the platform.
    Reader,
    /// Changes clusters and what can be installed, reads consoles, takes kubeconfigs that read.
    Operator,
    /// Reads beyond the platform, takes kubeconfigs with all rights and shells on machines.
    Elevated,
}

/// Persons and their roles. Empty: a caller with the tool's certificate may do everything.
#[derive(Debug, Clone, Default)]
pub struct AdminRoles(BTreeMap<String, AdminRole>);

impl AdminRoles {
    /// Names as the tool sends them, in any case of letters; `*`: every person. A person in several lists
    /// has the highest of their roles.
    pub fn new<'a>(lists: impl IntoIterator<Item = (AdminRole, &'a [String])>) -> Self {
        let mut roles = BTreeMap::new();
        for (role, names) in lists {
            for name in names {
                let held = roles.entry(name.trim().to_lowercase()).or_insert(role);
                *held = role.max(*held);
            }
        }
        Self(roles)
    }

    /// Whether there are no roles, so that persons are not checked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A grant may be issued only to the person whose role was checked.
    ///
    /// # Errors
    /// 403 `Forbidden`: it is for somebody else.
    pub(crate) fn check_recipient(&self, principal: Option<&str>, person: &str) -> Result<(), CloudError> {
        let same = |name: &str| name.trim().to_lowercase() == person.trim().to_lowercase();
        if self.is_empty() || principal.is_some_and(same) {
            return Ok(());
        }
        let message = "The access must be for the caller's principal.";
        Err(CloudError::new(403, "Forbidden", "", message))
    }

    fn role_of(&self, principal: &str) -> Option<AdminRole> {
        let own = self.0.get(&principal.trim().to_lowercase());
        own.max(self.0.get("*")).copied()
    }

    /// Whether a person may do that.
    ///
    /// # Errors
    /// 403 `Forbidden`: nobody is named, or the role is not enough.
    pub(crate) fn check(&self, principal: Option<&str>, needed: AdminRole) -> Result<(), CloudError> {
        if self.is_empty() {
            return Ok(());
        }
        let forbidden = |message: String| Err(CloudError::new(403, "Forbidden", "", message));
        let Some(principal) = principal.map(str::trim).filter(|name| !name.is_empty()) else {
            return forbidden("The caller's principal is required for this request.".to_owned());
        };
        match self.role_of(principal) {
            Some(role) if role >= needed => Ok(()),
            _ => forbidden(format!(
                "The caller's principal has no role that allows this request ({}).",
                needed.name()
            )),
        }
    }
}

impl FromStr for AdminRole {
    type Err = ();

    /// `reader`, `operator` or `elevated`.
    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Reader, Self::Operator, Self::Elevated].into_iter().find(|role| role.name() == text).ok_or(())
    }
}

/// Whether a tool may do that, no matter whom it calls for.
///
/// # Errors
/// 403 `Forbidden`: its certificate's role is not enough.
pub(crate) fn may_tool(most: AdminRole, needed: AdminRole) -> Result<(), CloudError> {
    if most >= needed {
        return Ok(());
    }
    let message =
        format!("The caller's certificate has no role that allows this request ({}).", needed.name());
    Err(CloudError::new(403, "Forbidden", "", message))
}

impl AdminRole {
    const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Operator => "operator",
            Self::Elevated => "elevated",
        }
    }
}

/// The role that a request of the admin side needs. `unrestricted`: it reads beyond the platform.
pub(crate) fn needed(method: &Method, route: &Route, unrestricted: bool) -> AdminRole {
    if let Route::Admin(asked) = route {
        match asked {
            Admin::Kubeconfig { elevated: true, .. } | Admin::Ssh(_) | Admin::HiveObjects => {
                return AdminRole::Elevated;
            }
            // What is written may run with any rights of its namespace, as a job may.
            Admin::Objects(_) if unrestricted || *method == Method::POST => return AdminRole::Elevated,
            Admin::SerialConsole(_) | Admin::Kubeconfig { elevated: false, .. } => {
                return AdminRole::Operator;
            }
            Admin::Action { action, .. } => return action.role(),
            Admin::Versions
            | Admin::RoleSets
            | Admin::VmSizes
            | Admin::Billing { .. }
            | Admin::AllClusters
            | Admin::Clusters
            | Admin::SyncSets { .. }
            | Admin::Objects(_)
            | Admin::Maintenance(_)
            | Admin::Selectors(_) => {}
        }
    }
    // Credentials of a cluster with `api-version=admin` are what a kubeconfig with all rights is.
    if matches!(route, Route::Credentials(_) | Route::AdminCredentials(_)) {
        return AdminRole::Elevated;
    }
    if *method == Method::GET { AdminRole::Reader } else { AdminRole::Operator }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles() -> AdminRoles {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (all, operators, elevated) = (names(&["*"]), names(&["Ann@x", "bob@x"]), names(&["bob@x"]));
        AdminRoles::new([
            (AdminRole::Elevated, &*elevated),
            (AdminRole::Reader, &*all),
            (AdminRole::Operator, &*operators),
        ])
    }

    #[test]
    fn a_role_allows_what_is_below_it() {
        let may = |who: &str, needed| roles().check(Some(who), needed).is_ok();
        for (who, highest) in [("eve@x", 0), ("ann@X", 1), ("BOB@x", 2)] {
            for (at, needed) in
                [AdminRole::Reader, AdminRole::Operator, AdminRole::Elevated].into_iter().enumerate()
            {
                assert_eq!(may(who, needed), at <= highest, "{who} {needed:?}");
            }
        }
        for nobody in [None, Some(""), Some("  ")] {
            let refused = roles().check(nobody, AdminRole::Reader).unwrap_err();
            assert_eq!((refused.status, refused.body.code), (403, "Forbidden"));
        }
        assert!(AdminRoles::default().check(None, AdminRole::Elevated).is_ok());
    }

    #[test]
    fn what_opens_more_needs_more() {
        const CLUSTER: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/c";
        let of = |method: Method, path: &str, unrestricted| {
            let route = crate::path::route(path, "eastus", "admin").unwrap();
            needed(&method, &route, unrestricted)
        };
        let below = |suffix: &str| format!("/admin{CLUSTER}/{suffix}");
        assert_eq!(of(Method::GET, "/admin/versions", false), AdminRole::Reader);
        assert_eq!(of(Method::PUT, "/admin/versions", false), AdminRole::Operator);
        assert_eq!(of(Method::GET, &below("kubernetesobjects"), false), AdminRole::Reader);
        assert_eq!(of(Method::GET, &below("kubernetesobjects"), true), AdminRole::Elevated);
        assert_eq!(of(Method::GET, &below("serialconsole"), false), AdminRole::Operator);
        assert_eq!(of(Method::POST, &below("kubeconfig/new"), false), AdminRole::Operator);
        assert_eq!(of(Method::POST, &below("kubeconfig/newelevated"), false), AdminRole::Elevated);
        assert_eq!(of(Method::POST, &below("ssh/newelevated"), false), AdminRole::Elevated);
        assert_eq!(of(Method::GET, CLUSTER, false), AdminRole::Reader);
        assert_eq!(of(Method::PATCH, CLUSTER, false), AdminRole::Operator);
        assert_eq!(of(Method::POST, &format!("{CLUSTER}/listadmincredentials"), false), AdminRole::Elevated);
    }
}
