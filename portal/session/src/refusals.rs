//! Maps refusals of grant, elevation and robot calls to HTTP errors (`contract/rules.md` §3.10).

use http::StatusCode;
use rp_access::{AccessError, ElevationError, ExtendError, IssueError, RenewError, RobotError};
use rp_audit::AuditError;
use rp_documents::{Rights, Role, Side};

use crate::fault::Fault;
use crate::user::missing;

/// The word for a missing elevation.
pub const ELEVATION_NEEDED: &str = "elevation_needed";

fn you(status: StatusCode, code: &'static str, what: impl Into<String>) -> Fault {
    Fault::new(status, code, Side::You, what)
}

/// Makes a sentence of a lower crate's message: capital letter, full stop.
pub fn sentence(error: &impl std::fmt::Display) -> String {
    format!("{}.", capital(error))
}

fn capital(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// 422 with a message of a lower crate.
pub fn invalid(error: &impl std::fmt::Display) -> Fault {
    you(StatusCode::UNPROCESSABLE_ENTITY, "invalid", capital(error))
}

fn no_grant() -> Fault {
    you(StatusCode::NOT_FOUND, "grant_not_found", "No such grant")
        .why("It may have been forgotten some time after its end.")
        .link("My access", "/access")
}

fn grant_ended() -> Fault {
    you(StatusCode::CONFLICT, "grant_ended", "The grant has ended already")
        .action("Take a new one if you still need it.")
        .link("My access", "/access")
}

/// A revocation that did not happen.
pub fn access(error: &AccessError) -> Fault {
    match error {
        AccessError::Unknown => no_grant(),
        AccessError::NotYours => you(StatusCode::FORBIDDEN, "not_yours", "This grant is somebody else's")
            .action("Its owner or an admin can revoke it; auditors can look at it."),
        AccessError::Ended => grant_ended(),
        AccessError::Store(cause) => Fault::store(cause),
        AccessError::Audit(cause) => Fault::audit(cause),
    }
}

/// An extension that did not happen.
pub fn extend(error: &ExtendError) -> Fault {
    match error {
        ExtendError::Unknown => no_grant(),
        ExtendError::NotYours => you(StatusCode::FORBIDDEN, "not_yours", "Only its owner can extend a grant"),
        ExtendError::Ended => grant_ended(),
        ExtendError::Life { .. } | ExtendError::Kind => invalid(error),
        ExtendError::Store(cause) => Fault::store(cause),
        ExtendError::Audit(cause) => Fault::audit(cause),
    }
}

/// A grant that was not given.
pub fn issue(error: &IssueError) -> Fault {
    match error {
        IssueError::NotAllowed { needed } => {
            missing(if *needed > Rights::Read { Role::Elevated } else { Role::Sre })
        }
        IssueError::ElevationNeeded { rights } => you(
            StatusCode::FORBIDDEN,
            ELEVATION_NEEDED,
            format!("{} rights need an elevation for this cluster", capital(&rights.name())),
        )
        .why("You are not elevated for it now, or not so far.")
        .action("Elevate first: a page does it, or aro elevate.")
        .link("Elevate", "/elevate"),
        IssueError::OutOfScope { .. } => you(StatusCode::FORBIDDEN, "out_of_scope", capital(error))
            .action("An admin makes robots and their scopes."),
        IssueError::Rights { .. }
        | IssueError::Reason { .. }
        | IssueError::Ticket { .. }
        | IssueError::Life { .. } => invalid(error),
        IssueError::TooOften(rp_net::TooOften(wait)) => Fault::too_often(*wait),
        IssueError::TooMany { .. } => you(StatusCode::TOO_MANY_REQUESTS, "too_many_grants", capital(error))
            .action("Revoke some of them.")
            .link("My access", "/access"),
        IssueError::Store(cause) => Fault::store(cause),
        IssueError::Audit(cause) => Fault::audit(cause),
        IssueError::NoKey => Fault::internal(),
    }
}

/// A further token that was not given.
pub fn renew(error: &RenewError) -> Fault {
    match error {
        RenewError::Unknown => no_grant(),
        RenewError::NotYours => {
            you(StatusCode::FORBIDDEN, "not_yours", "Only its owner gets tokens of a grant")
        }
        RenewError::Ended => Fault { status: StatusCode::GONE, ..grant_ended() },
        RenewError::Kind => invalid(error),
        RenewError::TooOften(rp_net::TooOften(wait)) => Fault::too_often(*wait),
        RenewError::Store(cause) => Fault::store(cause),
        RenewError::Audit(cause) => Fault::audit(cause),
        RenewError::NoKey => Fault::internal(),
    }
}

/// A step of an elevation that did not happen.
pub fn elevation(error: &ElevationError) -> Fault {
    let list = |fault: Fault| fault.link("To the elevations", "/elevations");
    match error {
        ElevationError::Unknown => {
            list(you(StatusCode::NOT_FOUND, "elevation_not_found", "No such elevation"))
        }
        ElevationError::NotAllowed { role } => missing(*role),
        ElevationError::NotYours => {
            list(you(StatusCode::FORBIDDEN, "not_yours", "This elevation is somebody else's"))
        }
        ElevationError::Own => list(
            you(StatusCode::FORBIDDEN, "own_elevation", "It is your own: somebody else must do this")
                .why("Two people stand behind what was not given by policy."),
        ),
        ElevationError::AlreadyDecided => list(
            you(StatusCode::CONFLICT, "already_decided", "Somebody has decided it already")
                .why("Nothing was changed by you."),
        ),
        ElevationError::Lapsed => list(
            you(StatusCode::CONFLICT, "lapsed", "The request has lapsed")
                .why("Nobody decided within an hour. It can be asked for again."),
        ),
        ElevationError::Over => {
            list(you(StatusCode::CONFLICT, "elevation_over", "The elevation is over already"))
        }
        ElevationError::NothingToReview => {
            list(you(StatusCode::CONFLICT, "nothing_to_review", capital(error)))
        }
        ElevationError::BreakGlassOff => you(StatusCode::FORBIDDEN, "break_glass_off", capital(error)),
        ElevationError::Rights
        | ElevationError::Reason { .. }
        | ElevationError::Ticket { .. }
        | ElevationError::Life { .. } => invalid(error),
        ElevationError::TooMany { .. } => list(
            you(StatusCode::CONFLICT, "too_many_elevations", capital(error))
                .action("End or withdraw one first."),
        ),
        ElevationError::TooOften(rp_net::TooOften(wait)) => Fault::too_often(*wait),
        ElevationError::Store(cause) => Fault::store(cause),
        ElevationError::Audit(cause) => Fault::audit(cause),
    }
}

/// A step of a robot that did not happen.
pub fn robot(error: &RobotError) -> Fault {
    match error {
        RobotError::NotAllowed => missing(Role::Admin),
        RobotError::Unknown => {
            you(StatusCode::NOT_FOUND, "robot_not_found", "No such robot").link("Robots", "/robots")
        }
        RobotError::Exists => you(StatusCode::CONFLICT, "robot_exists", capital(error)),
        RobotError::Ended => {
            you(StatusCode::CONFLICT, "robot_ended", "The robot has ended already").link("Robots", "/robots")
        }
        RobotError::Invalid(_) | RobotError::Reason { .. } | RobotError::Life { .. } => invalid(error),
        RobotError::TooMany { .. } => you(StatusCode::CONFLICT, "too_many_tokens", capital(error)),
        RobotError::TooOften(rp_net::TooOften(wait)) => Fault::too_often(*wait),
        RobotError::Store(cause) => Fault::store(cause),
        RobotError::Audit(cause) => Fault::audit(cause),
        RobotError::NoKey => Fault::internal(),
    }
}

/// A read of the log that failed: an invalid cursor is the client's fault, anything else is ours.
pub fn audit_search(error: &AuditError) -> Fault {
    match error {
        AuditError::Continuation => Fault::bad_input("This page of the audit cannot be found")
            .why("The cursor is not one that this search gave, or it was cut.")
            .action("Start the search again."),
        AuditError::ContinuationExpired => Fault::new(
            StatusCode::BAD_REQUEST,
            "cursor_expired",
            Side::You,
            "This page of the audit is too old",
        )
        .why("A cursor is good for an hour.")
        .action("Start the search again."),
        AuditError::Store(cause) => Fault::store(cause),
        AuditError::Unavailable
        | AuditError::Closed
        | AuditError::Key { .. }
        | AuditError::Sink(_)
        | AuditError::Json(_) => Fault::audit(error),
    }
}
