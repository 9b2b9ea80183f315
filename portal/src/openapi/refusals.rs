//! Which errors an operation answers: the statuses, and the stable codes of each (`contract/rules.md` §3.10). What the gate
//! and the layers refuse follows from the row; what a handler refuses for reasons of its own is named by the row.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::route::{AllowedCaller, Refusals, Route, RouteBody};

/// Grants that are read or ended: `portal_session::refusals::access`.
pub(crate) const GRANT: Refusals =
    &[(403, &["not_yours"]), (404, &["grant_not_found"]), (409, &["grant_ended"])];
/// Grants that are read: they may have ended.
pub(crate) const GRANT_READ: Refusals = &[(403, &["not_yours"]), (404, &["grant_not_found"])];
/// Grants that are extended: `portal_session::refusals::extend`.
pub(crate) const EXTENSION: Refusals =
    &[(403, &["not_yours"]), (404, &["grant_not_found"]), (409, &["grant_ended"]), (422, &["invalid"])];
/// Grants that are given: `portal_session::refusals::issue`.
pub(crate) const ISSUE: Refusals = &[
    (403, &["elevation_needed", "out_of_scope", "role_missing"]),
    (422, &["invalid"]),
    (429, &["too_many_grants", "too_many_requests"]),
];
/// Further tokens and certificates of a grant: `portal_session::refusals::renew`.
pub(crate) const RENEWAL: Refusals =
    &[(403, &["not_yours"]), (404, &["grant_not_found"]), (410, &["grant_ended"]), (422, &["invalid"])];
/// Steps of an elevation: `portal_session::refusals::elevation`.
pub(crate) const ELEVATION: Refusals = &[
    (403, &["break_glass_off", "not_yours", "own_elevation", "role_missing"]),
    (404, &["elevation_not_found"]),
    (409, &["already_decided", "elevation_over", "lapsed", "nothing_to_review", "too_many_elevations"]),
    (422, &["invalid"]),
];
/// Elevations that are read.
pub(crate) const ELEVATION_READ: Refusals = &[(403, &["not_yours"]), (404, &["elevation_not_found"])];
/// Steps of a robot: `portal_session::refusals::robot`.
pub(crate) const ROBOT: Refusals = &[
    (403, &["role_missing"]),
    (404, &["robot_not_found"]),
    (409, &["robot_ended", "robot_exists", "too_many_tokens"]),
    (422, &["invalid"]),
];
/// Reads of the audit log: `portal_session::refusals::audit_search`.
pub(crate) const AUDIT_SEARCH: Refusals = &[(400, &["bad_request", "cursor_expired"])];
/// Tasks that are ordered: `portal_model::maintenance::order`.
pub(crate) const MANIFEST: Refusals =
    &[(403, &["elevation_needed"]), (404, &["cluster_not_found"]), (422, &["invalid"])];
/// Maintenance that is cancelled: `portal_model::maintenance::cancel`.
pub(crate) const MANIFEST_CANCELLED: Refusals =
    &[(403, &["elevation_needed"]), (404, &["not_found"]), (409, &["does_not_wait"]), (422, &["invalid"])];
/// Reads of a cluster's operator: `portal_model::operator::report`.
pub(crate) const OPERATOR: Refusals = &[
    (404, &["cluster_not_found", "no_operator"]),
    (502, &["cluster_forbids", "cluster_unreachable"]),
    (504, &["cluster_unreachable"]),
];
/// Flags of an operator that are set: `portal_model::operator::set_flags`.
pub(crate) const OPERATOR_FLAGS: Refusals = &[
    (403, &["elevation_needed"]),
    (404, &["cluster_not_found"]),
    (409, &["not_at_rest"]),
    (422, &["invalid"]),
];
/// Actions on objects of a cluster: `portal_model::actions::act`.
pub(crate) const ACTION: Refusals = &[
    (400, &["cluster_refused"]),
    (403, &["cluster_forbids", "elevation_needed", "protected"]),
    (404, &["cluster_not_found", "no_cluster", "not_there"]),
    (409, &["conflict"]),
    (422, &["cluster_refused", "invalid"]),
    (
        502,
        &[
            "cluster_away",
            "cluster_broke_off",
            "cluster_failed",
            "cluster_unauthorized",
            "not_reachable",
            "stored_access",
        ],
    ),
    (503, &["budget", "cluster_busy", "crowded", "store_away"]),
    (504, &["cluster_away", "cluster_slow"]),
];
/// Tests of notifications: `portal_model::notifications::send_test`.
pub(crate) const DESTINATION: Refusals = &[(404, &["destination_not_found"])];
/// Requests that name a cluster in their body or query.
pub(crate) const CLUSTER: Refusals = &[(404, &["cluster_not_found"])];

/// Any operation may answer these: the service, its store or its audit trail failed, or there was no time.
const ANY: Refusals = &[
    (429, &["too_many_requests"]),
    (500, &["internal"]),
    (503, &["audit_unavailable", "store_unavailable", "timeout"]),
];

type Codes = BTreeMap<u16, BTreeSet<&'static str>>;

/// The answers of an operation that failed, by status; `error` is the schema of their body.
pub(super) fn answers(route: &Route, error: &Value) -> Map<String, Value> {
    codes(route)
        .into_iter()
        .map(|(status, codes)| (status.to_string(), answer(status, &codes, error)))
        .collect()
}

fn answer(status: u16, codes: &BTreeSet<&'static str>, error: &Value) -> Value {
    let named: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
    let mut headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/RequestId" } });
    if status == 429 {
        headers["Retry-After"] = json!({ "$ref": "#/components/headers/RetryAfter" });
    }
    json!({
        "description": format!("{}: {}", meaning(status), named.join(", ")),
        "headers": headers,
        "content": { "application/json": { "schema": error } },
        "x-aro-codes": codes,
    })
}

/// The codes of a route's refusals, by status.
fn codes(route: &Route) -> Codes {
    let mut found = Codes::new();
    let mut add = |refusals: Refusals| {
        for (status, codes) in refusals {
            found.entry(*status).or_default().extend(codes.iter().copied());
        }
    };
    let in_path = route.path.contains('{');
    let in_body = matches!(route.takes, RouteBody::Json { .. } | RouteBody::Form { .. });
    if in_path || in_body || route.query[0].is_some() {
        add(&[(400, &["bad_request"])]);
    }
    if route.who != AllowedCaller::Public {
        add(&[(401, &["not_signed_in", "token_refused"])]);
    }
    if matches!(route.who, AllowedCaller::Role(_)) {
        add(&[(403, &["role_missing"])]);
    }
    if route.csrf {
        add(&[(403, &["csrf"])]);
    }
    if route.fresh {
        add(&[(403, &["sign_in_again"])]);
    }
    if route.path.contains("{sub}") {
        add(CLUSTER);
    }
    if in_path && route.refusals.iter().flat_map(|refusals| refusals.iter()).all(|(status, _)| *status != 404)
    {
        add(&[(404, &["not_found"])]);
    }
    if in_body {
        add(&[(413, &["too_large"])]);
    }
    add(ANY);
    for refusals in route.refusals {
        add(refusals);
    }
    found
}

const fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request cannot be read",
        401 => "Nobody is signed in, or the token is refused",
        403 => "The caller may not do this",
        404 => "There is no such thing",
        409 => "The state of what is there does not allow it",
        410 => "It has ended",
        413 => "The body is too large",
        422 => "A value is not allowed",
        429 => "Too often or too many",
        500 => "The service failed",
        502 | 504 => "The cluster failed",
        503 => "The service cannot do it now",
        _ => "The request failed",
    }
}

/// What error answers carry beside their body.
pub(super) fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "The id of the request in logs and in the audit trail; the same as `request_id`",
            "schema": { "type": "string" },
        },
        "RetryAfter": {
            "description": "Seconds until it is worth another try, where that is known",
            "schema": { "type": "integer", "format": "int32", "minimum": 1 },
        },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use portal_session::fault::Fault;
    use portal_session::refusals;
    use rp_access::{
        AccessError, BadReason, ElevationError, ExtendError, IssueError, ReasonLimits, RenewError, RobotError,
    };
    use rp_audit::AuditError;
    use rp_documents::{GrantKind, Rights, Role};
    use rp_net::TooOften;

    use super::*;
    use crate::routes::table;

    const SOON: TooOften = TooOften(Duration::from_secs(3));
    const LIFE: Duration = Duration::from_secs(60);
    const SHORT: BadReason = BadReason(ReasonLimits { least: 5, most: 1000 });

    /// Whether the document has what a fault answers; a status of our own side is in `ANY`.
    fn is_described(fault: &Fault, refusals: Refusals) -> bool {
        [refusals, ANY]
            .concat()
            .iter()
            .any(|(status, codes)| *status == fault.status.as_u16() && codes.contains(&fault.code))
    }

    fn compare(faults: &[Fault], described: Refusals) {
        for fault in faults {
            assert!(is_described(fault, described), "{} {} is not described", fault.status, fault.code);
        }
        for (status, codes) in described {
            for code in *codes {
                let given = |fault: &Fault| fault.status.as_u16() == *status && fault.code == *code;
                assert!(faults.iter().any(given), "{status} {code} is described and never answered");
            }
        }
    }

    #[test]
    fn refusals_of_grants_are_described() {
        compare(
            &[AccessError::Unknown, AccessError::NotYours, AccessError::Ended, AccessError::Audit(closed())]
                .map(|error| refusals::access(&error)),
            GRANT,
        );
        compare(
            &[
                ExtendError::Unknown,
                ExtendError::NotYours,
                ExtendError::Ended,
                ExtendError::Life { longest: LIFE },
                ExtendError::Kind,
                ExtendError::Audit(closed()),
            ]
            .map(|error| refusals::extend(&error)),
            EXTENSION,
        );
        compare(
            &[
                RenewError::Unknown,
                RenewError::NotYours,
                RenewError::Ended,
                RenewError::Kind,
                RenewError::TooOften(SOON),
                RenewError::Audit(closed()),
                RenewError::NoKey,
            ]
            .map(|error| refusals::renew(&error)),
            RENEWAL,
        );
    }

    #[test]
    fn refusals_to_give_a_grant_are_described() {
        compare(
            &[
                IssueError::NotAllowed { needed: Rights::Read },
                IssueError::ElevationNeeded { rights: Rights::Write },
                IssueError::Rights { kind: GrantKind::Ssh, allowed: String::new() },
                IssueError::OutOfScope { what: "cluster" },
                IssueError::Reason(SHORT),
                IssueError::Ticket { most: 100 },
                IssueError::Life { shortest: LIFE, longest: LIFE },
                IssueError::TooMany { most: 50 },
                IssueError::TooOften(SOON),
                IssueError::Audit(closed()),
                IssueError::NoKey,
            ]
            .map(|error| refusals::issue(&error)),
            ISSUE,
        );
    }

    #[test]
    fn refusals_of_elevations_are_described() {
        compare(
            &[
                ElevationError::Unknown,
                ElevationError::NotAllowed { role: Role::Approver },
                ElevationError::NotYours,
                ElevationError::Own,
                ElevationError::AlreadyDecided,
                ElevationError::Lapsed,
                ElevationError::Over,
                ElevationError::NothingToReview,
                ElevationError::BreakGlassOff,
                ElevationError::Rights,
                ElevationError::Reason(SHORT),
                ElevationError::Ticket { most: 100 },
                ElevationError::Life { shortest: LIFE, longest: LIFE },
                ElevationError::TooMany { most: 5 },
                ElevationError::TooOften(SOON),
                ElevationError::Audit(closed()),
            ]
            .map(|error| refusals::elevation(&error)),
            ELEVATION,
        );
    }

    #[test]
    fn refusals_of_robots_and_of_searches_are_described() {
        compare(
            &[
                RobotError::NotAllowed,
                RobotError::Unknown,
                RobotError::Exists,
                RobotError::Ended,
                RobotError::Invalid("name"),
                RobotError::Reason(SHORT),
                RobotError::Life { shortest: LIFE, longest: LIFE },
                RobotError::TooMany { most: 2 },
                RobotError::TooOften(SOON),
                RobotError::Audit(closed()),
                RobotError::NoKey,
            ]
            .map(|error| refusals::robot(&error)),
            ROBOT,
        );
        compare(
            &[AuditError::Continuation, AuditError::ContinuationExpired, closed()]
                .map(|error| refusals::audit_search(&error)),
            AUDIT_SEARCH,
        );
    }

    const fn closed() -> AuditError {
        AuditError::Closed
    }

    #[test]
    fn what_the_gate_refuses_follows_from_the_row() {
        for route in table().filter(|route| route.doc.is_some()) {
            let codes = codes(route);
            let path = route.path;
            assert_eq!(codes.contains_key(&401), route.who != AllowedCaller::Public, "{path}");
            let role = matches!(route.who, AllowedCaller::Role(_));
            assert!(!role || codes[&403].contains("role_missing"), "{path}");
            assert!(!route.csrf || codes[&403].contains("csrf"), "{path}");
            assert!(!path.contains("{sub}") || codes[&404].contains("cluster_not_found"), "{path}");
            assert!(!path.contains('{') || codes.contains_key(&404), "{path}");
        }
    }
}
