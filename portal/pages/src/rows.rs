//! Stored things as rows of pages.

use portal_model::index;
use portal_session::user::CurrentUser;
use rp_access::{EndReason, GrantStatus, GrantView};
use rp_base::Timestamp;
use rp_documents::{Entry, GrantKind, Phase, Rights, Role};
use web::{AuditResult, AuditRow, ClusterRow, GrantEnd, GrantRow, Link};

pub(crate) fn cluster_row(entry: &index::Entry, now: Timestamp, only_one: bool) -> ClusterRow {
    let imported = entry.imported.as_ref();
    let health = entry.health.as_deref();
    ClusterRow {
        name: entry.id.name().to_owned(),
        path: entry.path(),
        resource_id: entry.id.to_string(),
        group: entry.id.resource_group().to_owned(),
        subscription: entry.id.subscription().to_owned(),
        state: entry.shown_state(),
        since: entry.since.map(Timestamp::seconds),
        wrong: entry.wrong(),
        version: entry.version.clone(),
        version_note: match health {
            Some(health) if !health.updating_to.is_empty() => format!("to {}", health.updating_to),
            _ if imported.is_some() => "Kubernetes".to_owned(),
            _ => String::new(),
        },
        created: entry.created.map(Timestamp::seconds),
        modified: entry.modified.map(Timestamp::seconds),
        imported: imported.is_some(),
        imported_by: imported.map(|imported| imported.by.clone()).unwrap_or_default(),
        pick: if only_one { entry.id.name().to_owned() } else { entry.id.key().to_owned() },
        region: entry.location.clone(),
        operators: health.map(|health| health.operators.clone()).unwrap_or_default(),
        nodes: health.filter(|health| health.nodes > 0).map(|health| {
            (u64::from(health.nodes.saturating_sub(health.nodes_not_ready)), u64::from(health.nodes))
        }),
        alerts: health.map(|health| health.alert_names.clone()).unwrap_or_default(),
        certificate: health.and_then(|health| health.certificate).map(Timestamp::seconds),
        look: entry.last_look(now),
        api: entry.visibility.clone(),
        architecture: if imported.is_some() { String::new() } else { entry.architecture.to_string() },
        maintenance: entry.maintenance.clone(),
        phase: entry.install.clone().unwrap_or_default(),
        infra: entry.infra_id.clone(),
        provisioned: entry.provisioned_by.clone(),
    }
}

pub(crate) const fn rights(rights: Rights) -> web::Rights {
    match rights {
        Rights::Read => web::Rights::Read,
        Rights::Write => web::Rights::Write,
        Rights::Admin => web::Rights::Admin,
    }
}

/// What has become of a grant, for a page.
fn grant_state(view: &GrantView, user: &CurrentUser) -> web::GrantState {
    match view.status() {
        GrantStatus::Active => web::GrantState::Active,
        GrantStatus::Expired => web::GrantState::Expired,
        GrantStatus::Ended(reason) => web::GrantState::Ended {
            reason: grant_end(reason),
            at: ended_at(view, reason).map(Timestamp::seconds),
        },
        GrantStatus::Revoked => {
            let revoked = view.grant.revoked.as_ref();
            let by = revoked.map(|revoked| revoked.by.as_str()).unwrap_or_default();
            web::GrantState::Revoked {
                at: revoked.map_or(view.grant.not_after, |revoked| revoked.at).seconds(),
                by: if by == user.caller.person.name { "you".to_owned() } else { by.to_owned() },
                why: revoked.and_then(|revoked| revoked.why.clone()).unwrap_or_default(),
            }
        }
    }
}

/// When a grant ended that neither expired nor was revoked: with its elevation, before its own end. When its owner lost
/// a group is not known, unless that ended the elevation.
fn ended_at(view: &GrantView, reason: EndReason) -> Option<Timestamp> {
    let elevation = view.elevation.as_deref()?;
    let ended = elevation.ended.as_ref().map(|ended| ended.at);
    let over = match reason {
        EndReason::ElevationOver => ended.or(elevation.not_after),
        EndReason::RightsLost | EndReason::Revoked | EndReason::Expired | EndReason::Unsure => ended,
    };
    over.map(|over| over.min(view.grant.not_after))
}

const fn grant_end(reason: EndReason) -> GrantEnd {
    match reason {
        EndReason::ElevationOver => GrantEnd::ElevationOver,
        EndReason::RightsLost => GrantEnd::RightsLost,
        // Its own revocation and end are not reasons but states.
        EndReason::Revoked => GrantEnd::RobotRevoked,
        EndReason::Expired => GrantEnd::RobotExpired,
        EndReason::Unsure => GrantEnd::Unconfirmed,
    }
}

pub(crate) fn grant_row(view: &GrantView, user: &CurrentUser) -> GrantRow {
    let grant = &view.grant;
    let mine = grant.owner.sub == user.caller.person.sub;
    let state = grant_state(view, user);
    let over = view.ended.and_then(|reason| ended_at(view, reason));
    GrantRow {
        id: grant.id.to_string(),
        kind: kind(grant.kind),
        cluster: grant.target.as_ref().map(|id| Link::new(id.name(), id.key())).unwrap_or_default(),
        machine: String::new(),
        owner: grant.owner.name.clone(),
        rights: rights(grant.rights),
        fell_to: (view.is_effective() && view.rights < grant.rights).then(|| rights(view.rights)),
        reason: grant.reason.clone(),
        ticket: grant.ticket.clone().unwrap_or_default(),
        created: grant.created.seconds(),
        ends: over.unwrap_or(grant.not_after).seconds(),
        last_used: view.last_used.map(Timestamp::seconds),
        streams: u64::try_from(view.streams).unwrap_or(0),
        may_extend: state == web::GrantState::Active
            && mine
            && !grant.renewal
            && grant.kind != GrantKind::Robot,
        may_revoke: state == web::GrantState::Active && (mine || user.has(Role::Admin)),
        state,
    }
}

pub(crate) const fn kind(kind: GrantKind) -> web::GrantKind {
    match kind {
        GrantKind::Kubeconfig => web::GrantKind::Kubeconfig,
        GrantKind::Cli => web::GrantKind::Cli,
        GrantKind::Ssh => web::GrantKind::Ssh,
        GrantKind::Terminal => web::GrantKind::Terminal,
        GrantKind::Metrics => web::GrantKind::Metrics,
        GrantKind::Tunnel => web::GrantKind::Tunnel,
        GrantKind::Page => web::GrantKind::Page,
        GrantKind::Robot => web::GrantKind::Robot,
    }
}

/// One line for what an entry was about: resource and name, a command, else the query.
fn what(entry: &Entry) -> String {
    let join =
        |parts: [&str; 2]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let kind = join([&entry.resource, &entry.subresource]);
    let name = join([&entry.namespace, &entry.name]);
    let command = entry.command.join(" ");
    let mut parts = vec![kind, name, command];
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() { entry.query.clone() } else { parts.join(" ") }
}

pub(crate) fn audit_row(entry: &Entry) -> AuditRow {
    let status = entry.result.status;
    let result = match entry.result.word.as_str() {
        _ if entry.phase == Phase::Start => AuditResult::Open,
        "ok" => AuditResult::Done,
        "refused" => AuditResult::Refused,
        _ => AuditResult::Failed,
    };
    AuditRow {
        id: format!("{}/{}", entry.writer, entry.seq),
        at: entry.at.seconds(),
        person: if entry.actor.name.is_empty() { entry.actor.sub.clone() } else { entry.actor.name.clone() },
        cluster: entry.target.as_ref().map(|id| Link::new(id.name(), id.key())),
        verb: entry.verb.clone(),
        what: what(entry),
        phase: match entry.phase {
            Phase::Start => "start",
            Phase::End => "end",
            Phase::Single => "single",
        }
        .to_owned(),
        result,
        status: match status {
            0 if result == AuditResult::Open => String::new(),
            0 => entry.result.word.clone(),
            _ => status.to_string(),
        },
        fields: fields(entry),
    }
}

/// Every field that is there, in the order of the entry.
fn fields(entry: &Entry) -> Vec<(String, String)> {
    let id = |id: Option<&rp_base::Id>| id.map(ToString::to_string).unwrap_or_default();
    let number = |n: u64| if n == 0 { String::new() } else { n.to_string() };
    [
        ("Writer", entry.writer.clone()),
        ("Sequence", entry.seq.to_string()),
        ("At", entry.at.to_string()),
        ("Request ID", entry.request_id.to_string()),
        ("Grant", id(entry.grant.as_ref())),
        ("Subject", entry.actor.sub.clone()),
        ("From", entry.actor.from.clone()),
        ("Target", entry.target.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("Identity used", entry.identity_used.clone()),
        ("Group", entry.group.clone()),
        ("Resource", entry.resource.clone()),
        ("Subresource", entry.subresource.clone()),
        ("Namespace", entry.namespace.clone()),
        ("Name", entry.name.clone()),
        ("Command", entry.command.join(" ")),
        ("Query", entry.query.clone()),
        ("Bytes in", number(entry.bytes_in)),
        ("Bytes out", number(entry.bytes_out)),
        ("Took ms", number(entry.took_ms)),
        ("Result", entry.result.word.clone()),
        ("Side", entry.result.side.map(|side| side.name().to_owned()).unwrap_or_default()),
        ("Reason", entry.reason.clone()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
