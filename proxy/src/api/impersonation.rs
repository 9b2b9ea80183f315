//! How the cluster sees people, as headers (`contract/rules.md` §3.8 "Identity in the cluster").
//!
//! Identity headers are a pure function of the grant and of what the cluster allows; nothing of the
//! client's request enters here.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use rp_access::ActiveGrant;
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
pub(super) enum ImpersonationMode {
    /// As the credential itself, without a name: the cluster allows no impersonation.
    Shared { name: String },
    /// As the credential itself, with extras naming the person.
    Itself { name: String },
    /// As the person, in these groups.
    Person { groups: Vec<String>, extras: bool },
}

/// Whom a cluster is shown.
#[derive(Debug, Clone, Copy)]
pub struct ShownPerson<'a> {
    pub name: &'a str,
    /// The id of what allows the request: a grant, or an elevation.
    pub id: &'a str,
    pub reason: &'a str,
}

impl<'a> ShownPerson<'a> {
    fn of_grant(grant: &'a Grant) -> Self {
        Self { name: &grant.owner.name, id: grant.primary_id().as_str(), reason: &grant.reason }
    }
}

/// How the cluster sees one grant: made with its first request.
#[derive(Debug)]
struct IdentityHeaders {
    by: ImpersonationMode,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// For pages and the audit trail.
    text: String,
}

impl ImpersonationMode {
    /// Adds the identity headers of a grant to headers that have none, and gives who the cluster sees.
    pub(super) fn apply(&self, live: &ActiveGrant, headers: &mut HeaderMap) -> String {
        let known = live.attached(|| self.show(&live.grant)).filter(|shown| shown.by == *self);
        // The cluster's impersonation rights have changed since the headers were built.
        let fresh = known.is_none().then(|| self.show(&live.grant));
        let Some(shown) = known.or(fresh.as_ref()) else { return String::new() };
        for (name, value) in &shown.headers {
            headers.append(name.clone(), value.clone());
        }
        shown.text.clone()
    }

    fn show(&self, grant: &Grant) -> IdentityHeaders {
        let person = ShownPerson::of_grant(grant);
        IdentityHeaders { by: self.clone(), headers: self.headers(person), text: self.describe(person) }
    }

    /// Adds the identity headers of a person who has no grant to headers that have none, and gives who the cluster sees.
    pub(super) fn apply_person(&self, person: ShownPerson<'_>, headers: &mut HeaderMap) -> String {
        for (name, value) in self.headers(person) {
            headers.append(name, value);
        }
        self.describe(person)
    }

    fn describe(&self, person: ShownPerson<'_>) -> String {
        match self {
            Self::Shared { name } => format!("{name} (shared)"),
            Self::Itself { name } => format!("{name} (naming {})", person.name),
            Self::Person { groups, .. } => format!("{} (in {})", person.name, groups.join(", ")),
        }
    }

    fn headers(&self, person: ShownPerson<'_>) -> Vec<(HeaderName, HeaderValue)> {
        let (user, groups, extras): (&str, &[String], bool) = match self {
            Self::Shared { .. } => return Vec::new(),
            Self::Itself { name } => (name, &[], true),
            Self::Person { groups, extras } => (person.name, groups, *extras),
        };
        let mut headers = vec![(IMPERSONATE_USER, value(user))];
        headers.extend(groups.iter().map(|group| (IMPERSONATE_GROUP, value(group))));
        if extras {
            let texts = [person.name, person.id, person.reason];
            headers.extend(EXTRAS.into_iter().zip(texts).map(|((_, name), text)| (name, value(text))));
        }
        headers
    }
}

/// Control characters cannot stand in a header; text beyond ASCII goes as its UTF-8 bytes.
fn value(text: &str) -> HeaderValue {
    let clean = rp_base::text::clean(text, 1024).replace('\t', " ");
    HeaderValue::from_bytes(clean.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("-"))
}
