//! Authentication and authorisation (`contract/portal.md` §11.2, `contract/operator.md` §8.26).

use hyper::header::HeaderMap;
use rustls_pki_types::CertificateDer;

use super::path::Resource;
use super::status::Failure;

/// A user as the API server knows one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Identity {
    pub user: String,
    pub groups: Vec<String>,
    /// From `Impersonate-Extra-…`.
    pub extra: Vec<(String, Vec<String>)>,
}

const SRE: &str = "system:aro-sre";
const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";

impl Identity {
    /// The identity of a client certificate: common name and organisations.
    pub(crate) fn of_certificate(leaf: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(leaf).ok()?;
        let subject = parsed.subject();
        let user = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
        let mut groups: Vec<String> =
            subject.iter_organization().filter_map(|name| name.as_str().ok()).map(str::to_owned).collect();
        groups.push(AUTHENTICATED.to_owned());
        Some(Self { user, groups, extra: Vec::new() })
    }

    /// Whether nothing is refused.
    pub(super) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// Whether a verb on a resource is allowed.
    pub(super) fn may(&self, verb: &str, group: &str, resource: &str, name: Option<&str>) -> bool {
        if self.is_master() {
            return true;
        }
        if resource == "users" && name == Some("~") || is_review(group, resource) {
            return true;
        }
        if self.user != SRE {
            return false;
        }
        match (verb, group, resource) {
            ("impersonate", "", "users") => name == Some(SRE),
            ("impersonate", "authentication.k8s.io", extra) => extra.starts_with("userextras/"),
            ("get" | "list" | "watch", "", "secrets") => false,
            ("get", "", "pods/log") => true,
            ("get" | "list" | "watch", _, resource) => {
                !resource.contains('/') || resource.ends_with("/status") || resource.ends_with("/scale")
            }
            _ => false,
        }
    }

    /// Refuses with the API server's error message.
    pub(super) fn authorize(&self, verb: &'static str, at: &Resource) -> Result<(), Failure> {
        let resource = at.full();
        if self.may(verb, &at.group, &resource, at.name.as_deref()) {
            return Ok(());
        }
        let where_ = at
            .namespace
            .as_ref()
            .map_or_else(|| "at the cluster scope".to_owned(), |ns| format!("in the namespace \"{ns}\""));
        let named = at.name.as_ref().map_or_else(String::new, |name| format!(" \"{name}\""));
        let full =
            if at.group.is_empty() { at.plural.clone() } else { format!("{}.{}", at.plural, at.group) };
        Err(Failure::forbidden(rp_base::text::clean(
            &format!(
                "{full}{named} is forbidden: User \"{}\" cannot {verb} resource \"{resource}\" in API group \"{}\" {where_}",
                self.user, at.group
            ),
            1000,
        )))
    }
}

fn is_review(group: &str, resource: &str) -> bool {
    matches!(
        (group, resource),
        ("authorization.k8s.io", "selfsubjectaccessreviews" | "selfsubjectrulesreviews")
            | ("authentication.k8s.io", "selfsubjectreviews")
    )
}

/// Who the request is made as: the certificate's identity, or the one it may take on.
pub(super) fn impersonate(identity: &Identity, headers: &HeaderMap) -> Result<Identity, Failure> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect();
    let mut extra: Vec<(String, Vec<String>)> = Vec::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix("impersonate-extra-") {
            let key = percent_encoding::percent_decode_str(key).decode_utf8_lossy().into_owned();
            let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            extra.push((key, values.map(str::to_owned).collect()));
        }
    }
    let Some(user) = text("impersonate-user") else {
        return if groups.is_empty() && extra.is_empty() {
            Ok(identity.clone())
        } else {
            Err(Failure::bad("requested extra or groups without impersonating a user"))
        };
    };
    let refuse = |resource: &str, name: &str| {
        Failure::forbidden(rp_base::text::clean(
            &format!(
                "{resource} \"{name}\" is forbidden: User \"{}\" cannot impersonate resource \"{resource}\" in API group \"\" at the cluster scope",
                identity.user
            ),
            1000,
        ))
    };
    if !identity.may("impersonate", "", "users", Some(&user)) {
        return Err(refuse("users", &user));
    }
    if let Some(group) = groups.iter().find(|group| !identity.may("impersonate", "", "groups", Some(group))) {
        return Err(refuse("groups", group));
    }
    if let Some((key, _)) = extra.iter().find(|(key, _)| {
        !identity.may("impersonate", "authentication.k8s.io", &format!("userextras/{key}"), None)
    }) {
        return Err(refuse("userextras", key));
    }
    let mut groups = groups;
    if !groups.iter().any(|group| group == AUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    Ok(Identity { user, groups, extra })
}
