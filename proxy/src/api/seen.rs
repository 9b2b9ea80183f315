//! How the cluster sees people, as headers (`design.md` §3 "Identity in the cluster").
//!
//! Identity headers are a pure function of the grant and of what the cluster allows; nothing of the
//! client's request enters here.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use rp_documents::Grant;

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
const IMPERSONATE_GROUP: HeaderName = HeaderName::from_static("impersonate-group");
/// Extras name person, grant and reason; `%2f` because a header name holds no slash.
pub(super) const EXTRAS: [(&str, HeaderName); 3] = [
    ("aro.openshift.io/person", HeaderName::from_static("impersonate-extra-aro.openshift.io%2fperson")),
    ("aro.openshift.io/grant", HeaderName::from_static("impersonate-extra-aro.openshift.io%2fgrant")),
    ("aro.openshift.io/reason", HeaderName::from_static("impersonate-extra-aro.openshift.io%2freason")),
];

/// How one credential shows people to its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// As the credential itself, without a name: the cluster allows no impersonation.
    Shared { name: String },
    /// As the credential itself, with extras naming the person.
    Itself { name: String },
    /// As the person, in these groups.
    Person { groups: Vec<String>, extras: bool },
}

impl Seen {
    /// For pages and the audit trail.
    pub(super) fn describe(&self, grant: &Grant) -> String {
        match self {
            Self::Shared { name } => format!("{name} (shared)"),
            Self::Itself { name } => format!("{name} (naming {})", grant.owner.name),
            Self::Person { groups, .. } => format!("{} (in {})", grant.owner.name, groups.join(", ")),
        }
    }

    /// Adds the identity headers for a grant.
    pub(super) fn apply(&self, grant: &Grant, headers: &mut HeaderMap) {
        let (user, groups, extras): (&str, &[String], bool) = match self {
            Self::Shared { .. } => return,
            Self::Itself { name } => (name, &[], true),
            Self::Person { groups, extras } => (&grant.owner.name, groups, *extras),
        };
        headers.insert(IMPERSONATE_USER, value(user));
        for group in groups {
            headers.append(IMPERSONATE_GROUP, value(group));
        }
        if extras {
            for ((_, name), text) in EXTRAS.iter().zip([&*grant.owner.name, grant.id.as_str(), &grant.reason])
            {
                headers.insert(name.clone(), value(text));
            }
        }
    }
}

/// Control characters cannot stand in a header; text beyond ASCII goes as its UTF-8 bytes.
fn value(text: &str) -> HeaderValue {
    let clean = rp_base::text::clean(text, 1024).replace('\t', " ");
    HeaderValue::from_bytes(clean.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("-"))
}
