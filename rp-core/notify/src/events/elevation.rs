//! Elevations: requested, decided, withdrawn; break-glass, and its review.

use rp_base::Timestamp;
use rp_documents::{Elevation, ElevationMethod, NotificationEvent, NotificationKind};

use super::{ClusterPlace, Draft};

/// Whether it is told: the policy trusts people with the rights of self-service.
pub(crate) fn is_elevation_told(document: &Elevation) -> bool {
    document.way != ElevationMethod::SelfService
}

/// What the document says happened. `place`: its cluster, where it is for one.
pub(crate) fn elevation(document: &Elevation, place: Option<&ClusterPlace>) -> Vec<NotificationEvent> {
    match document.way {
        ElevationMethod::SelfService => Vec::new(),
        ElevationMethod::Approval => vec![approval(document, place)],
        ElevationMethod::BreakGlass => {
            let mut events = vec![break_glass(document, place)];
            events.extend(review(document, place));
            events
        }
    }
}

fn draft(
    document: &Elevation,
    place: Option<&ClusterPlace>,
    kind: NotificationKind,
    at: Timestamp,
    title: String,
) -> Draft {
    let draft = Draft::new(kind, format!("elevation/{}", document.id), at, title);
    let draft = match place {
        Some(place) => draft.cluster(place),
        None => draft.fact("Cluster", "every cluster"),
    };
    let minutes = document.life_secs.div_ceil(60);
    draft
        .fact("Person", &document.owner.name)
        .fact("Rights", document.rights.name())
        .fact("Duration", &format!("{minutes} min"))
        .fact("Reason", &document.reason)
        .fact("Ticket", document.ticket.as_deref().unwrap_or_default())
        .fact("Since", &document.asked.to_string())
}

fn name(document: &Elevation) -> String {
    super::line(&document.owner.name)
}

/// The latest of what happened: a request that is decided needs no decision.
fn approval(document: &Elevation, place: Option<&ClusterPlace>) -> NotificationEvent {
    let rights = document.rights.name();
    if let Some(decision) = &document.decision {
        let (kind, word) = if decision.approved {
            (NotificationKind::ElevationApproved, "approved")
        } else {
            (NotificationKind::ElevationRefused, "refused")
        };
        let title = format!("Elevation to {rights} of {} was {word}", name(document));
        return draft(document, place, kind, decision.at, title)
            .fact("Decided by", &decision.by.name)
            .fact("Comment", decision.why.as_deref().unwrap_or_default())
            .advice("Nothing is to be done.")
            .page("/elevations".to_owned(), "Open elevations");
    }
    if let Some(end) = &document.ended {
        let title = format!("Request of {} for {rights} rights was withdrawn", name(document));
        return draft(document, place, NotificationKind::ElevationWithdrawn, end.at, title)
            .fact("Withdrawn by", &end.by)
            .advice("Nothing is to be done.")
            .page("/elevations".to_owned(), "Open elevations");
    }
    let title = format!("{} requests {rights} rights", name(document));
    draft(document, place, NotificationKind::ElevationRequested, document.asked, title)
        .fact("Until", &(document.asked + Elevation::REQUEST_LIFE).to_string())
        .advice("Approve or refuse the request; without a decision it lapses after an hour.")
        .page(format!("/elevations/{}/approve", document.id), "Decide on the request")
}

fn break_glass(document: &Elevation, place: Option<&ClusterPlace>) -> NotificationEvent {
    let title = format!("{} elevated to {} without an approver", name(document), document.rights.name());
    draft(document, place, NotificationKind::BreakGlass, document.asked, title)
        .advice("Check that the use is right, end it if it is not, and review it afterwards.")
        .page(format!("/elevations/{}/review", document.id), "Review the elevation")
}

fn review(document: &Elevation, place: Option<&ClusterPlace>) -> Option<NotificationEvent> {
    let review = document.review.as_ref()?;
    let outcome = if review.fine { "was right" } else { "was not right" };
    let title = format!("Elevation of {} without an approver was reviewed", name(document));
    Some(
        draft(document, place, NotificationKind::BreakGlassReviewed, review.at, title)
            .fact("Reviewed by", &review.by.name)
            .fact("Outcome", &format!("the use {outcome}"))
            .fact("Note", &review.note)
            .advice("Nothing is to be done.")
            .page("/elevations".to_owned(), "Open elevations"),
    )
}

#[cfg(test)]
mod tests {
    use rp_documents::{Decision, Person, Review};
    use serde_json::json;

    use super::*;

    fn document(way: &str) -> Elevation {
        serde_json::from_value(json!({
            "id": "k7f3q2m4x6z5y7w2", "owner": {"sub": "s", "name": "ada", "groups": []}, "rights": "admin", "way": way,
            "reason": "etcd is full", "asked": "2026-11-27T10:00:00Z", "life_secs": 1800,
        }))
        .unwrap()
    }

    fn kinds(events: &[NotificationEvent]) -> Vec<&'static str> {
        events.iter().map(|event| event.kind.name()).collect()
    }

    #[test]
    fn a_request_leads_to_its_decision_and_ends_with_it() {
        let mut request = document("approval");
        let asked = elevation(&request, None).remove(0);
        assert_eq!(asked.page, format!("/elevations/{}/approve", request.id));
        assert_eq!(asked.title, "ada requests admin rights");
        let by = Person { sub: "b".into(), name: "bea".into(), groups: vec![] };
        request.decision =
            Some(Decision { at: Timestamp::from_seconds(9), by, approved: false, why: Some("no".into()) });
        let refused = elevation(&request, None).remove(0);
        assert_eq!(
            (refused.kind, refused.subject.as_str()),
            (NotificationKind::ElevationRefused, asked.subject.as_str())
        );
        assert!(refused.kind.resolves() && refused.id != asked.id);
    }

    #[test]
    fn break_glass_is_told_and_its_review() {
        let mut broken = document("break_glass");
        assert_eq!(kinds(&elevation(&broken, None)), ["elevation.break_glass"]);
        let by = Person { sub: "b".into(), name: "bea".into(), groups: vec![] };
        broken.review = Some(Review { at: Timestamp::from_seconds(9), by, fine: true, note: "seen".into() });
        assert_eq!(kinds(&elevation(&broken, None)), ["elevation.break_glass", "elevation.reviewed"]);
        assert!(elevation(&document("self_service"), None).is_empty());
    }
}
