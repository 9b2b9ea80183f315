//! `{RES}/report`: who had access to a cluster, why, and what they did.

use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::audit_kinds::{PORTAL_READS, changes_cluster};
use portal_model::state::PortalState;
use portal_model::time_range::Range;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::refusals;
use rp_audit::{ActionReport, ElevationReport, GrantReport, PersonReport};
use rp_base::Timestamp;
use rp_documents::GrantKind;
use web::{NavItem, ReportAction, ReportElevation, ReportGrant, ReportPage, ReportPerson, ReportQuery};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::{audit, rows};

/// The range when none is asked for.
const LATELY: Duration = Duration::from_secs(7 * 86_400);

/// The report; an invalid range is reported, and the last week shown.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    ClusterPath(id): ClusterPath,
    Query(query): Query<ReportQuery>,
) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Clusters;
    let now = state.session.clock.now();
    let (range, range_error) = match Range::read(&query.from, &query.to) {
        Ok(range) => (range, None),
        Err(why) => (Range::default(), Some(why.to_owned())),
    };
    let to = range.to.unwrap_or(now);
    let from = range.from.unwrap_or(to - LATELY);
    let status = if range_error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let mut page = ReportPage {
        cluster: id.name().to_owned(),
        path: id.key().to_owned(),
        resource_id: id.to_string(),
        query: ReportQuery { from: field(&query.from, from), to: field(&query.to, to) },
        range_error,
        from: from.seconds(),
        to: to.seconds(),
        chain: audit::chain(&state),
        frame,
        ..ReportPage::default()
    };
    let asked = rp_audit::ReportQuery { target: Some(id), person: None, from: Some(from), to: range.to };
    match state.session.audit.report(&asked).await {
        Ok(report) => {
            page.entries = report.entries;
            page.cut_at = report.looked_back_to.filter(|_| report.truncated).map(Timestamp::seconds);
            page.people = report.people.iter().map(person).collect();
            page.people.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Err(error) => {
            page.failure = Some(refusals::audit_search(&error).failure(&page.frame));
        }
    }
    answer(&context, status, &page)
}

/// What the field of the form shows: what was asked, else the instant as such a field writes it.
fn field(asked: &str, at: Timestamp) -> String {
    if asked.len() == 16 { asked.to_owned() } else { web::when::iso(at.seconds()).chars().take(16).collect() }
}

fn person(of: &PersonReport) -> ReportPerson {
    let mut grants: Vec<ReportGrant> = of.grants.iter().rev().map(grant).collect();
    // What was done on pages comes last.
    grants.sort_by_key(|grant| grant.id.is_empty());
    let mut elevations: Vec<ReportElevation> =
        of.elevations.iter().map(|step| elevation(step, &of.name)).collect();
    elevations.sort_by_key(|step| step.at);
    ReportPerson {
        name: if of.name.is_empty() { of.sub.clone() } else { of.name.clone() },
        subject: of.sub.clone(),
        from: of.from.clone(),
        elevations,
        grants,
    }
}

fn elevation(step: &ElevationReport, owner: &str) -> ReportElevation {
    let what = match step.verb.rsplit('.').next().unwrap_or_default() {
        "request" => "was asked for",
        "start" => "was taken by self-service",
        "break_glass" | "break-glass" => "was taken by break-glass",
        "approve" => "was approved",
        "refuse" => "was refused",
        "end" => "was ended",
        "review" => "was reviewed",
        other => other,
    };
    ReportElevation {
        at: step.at.seconds(),
        what: what.to_owned(),
        rights: step.rights.clone(),
        by: if step.by == owner { String::new() } else { step.by.clone() },
        reason: step.reason.clone(),
    }
}

fn grant(of: &GrantReport) -> ReportGrant {
    let kind = GrantKind::from_name(&of.kind).map(|kind| rows::kind(kind).words().to_owned());
    // An instant, and perhaps what else bounds it.
    let until = of.until.as_deref().unwrap_or_default();
    let (end, rest) = until.split_once(' ').unwrap_or((until, ""));
    let end = Timestamp::parse(end).map_or_else(|_| end.to_owned(), |at| web::when::exact(at.seconds()));
    let until = format!("{end} {rest}").trim().to_owned();
    let rights = portal_model::grant_fields::rights(&of.rights);
    ReportGrant {
        id: of.id.as_ref().map(ToString::to_string).unwrap_or_default(),
        kind: kind.unwrap_or_else(|| "Access".to_owned()),
        rights: rights.map(rows::rights),
        reason: of.reason.clone(),
        issued: of.issued.map(Timestamp::seconds),
        until,
        ended: of.ended.as_ref().map(|end| (end.at.seconds(), end.by.clone(), end.why.clone())),
        actions: of.actions.iter().map(action).collect(),
    }
}

fn action(of: &ActionReport) -> ReportAction {
    let mut what = of.resource.clone();
    for (joint, part) in [("/", &of.subresource), (".", &of.group), (" in ", &of.namespace)] {
        if !part.is_empty() && !what.is_empty() {
            what.push_str(joint);
        }
        what.push_str(part);
    }
    ReportAction {
        first: of.first.seconds(),
        last: of.last.seconds(),
        verb: of.verb.clone(),
        // The parameters of such a question say nothing to a customer.
        details: if PORTAL_READS.contains(&of.verb.as_str()) {
            Vec::new()
        } else {
            of.names.iter().chain(&of.commands).cloned().collect()
        },
        ok: of.ok,
        refused: of.refused,
        failed: of.failed,
        weighty: is_change(of),
        what,
    }
}

/// Whether it changed something, ran something or read a secret in a cluster; the portal's own verbs, with a dot, are
/// told elsewhere in the report.
fn is_change(of: &ActionReport) -> bool {
    !of.verb.contains('.') && changes_cluster(&of.verb, &of.group, &of.resource, &of.subresource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_portal_did_itself_is_no_change_of_a_cluster() {
        let done = |verb: &str| ActionReport { verb: verb.to_owned(), ..ActionReport::default() };
        assert!(is_change(&done("delete")));
        assert!(!is_change(&done("get")) && !is_change(&done("grant.issue")));
    }
}
