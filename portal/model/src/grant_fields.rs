//! Fields of requests about grants: ids, rights, kinds, reasons.

use portal_session::fault::Fault;
use portal_session::refusals;
use rp_base::Id;
use rp_documents::{GrantKind, Rights};

/// The id of a grant.
///
/// # Errors
/// No grant can have it.
pub fn parse(id: &str) -> Result<Id, Fault> {
    Id::parse(id).map_err(|_| refusals::access(&rp_access::AccessError::Unknown))
}

/// A person's free text for the audit trail: cleaned and bounded.
pub fn words(why: Option<String>) -> Option<String> {
    why.map(|why| rp_base::text::clean(why.trim(), 1000)).filter(|why| !why.is_empty())
}

/// The rights of that name.
pub fn rights(name: &str) -> Option<Rights> {
    [Rights::Read, Rights::Write, Rights::Admin].into_iter().find(|rights| rights.name() == name)
}

/// The kinds of those names.
///
/// # Errors
/// The first that is none.
pub fn kinds(names: &[String]) -> Result<Vec<GrantKind>, Fault> {
    let kind = |name: &String| {
        let shown = rp_base::text::clean(name, 60);
        GrantKind::from_name(name).ok_or_else(|| Fault::bad_input(format!("{shown} is no kind of grant")))
    };
    names.iter().map(kind).collect()
}
