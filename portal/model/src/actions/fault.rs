//! Why an action was not done, for pages and JSON.

use std::time::Duration;

use http::StatusCode;
use portal_session::fault::Fault;
use rp_actions::ActionError;
use rp_actions::rules::RuleError;
use rp_base::text::clean;
use rp_documents::Side;

use crate::look::from_cluster_response;
use crate::saved::invalid;

/// Characters of a sentence that has a name of the caller's in it.
const MOST: usize = 500;

/// An action that failed.
pub(super) fn refused(error: ActionError<Fault>) -> Fault {
    match error {
        ActionError::Rule(RuleError::Invalid(message)) => invalid(sentence(&message)),
        ActionError::Rule(RuleError::Forbidden(message)) => {
            let what = "This object is not changed from here";
            Fault::new(StatusCode::FORBIDDEN, "protected", Side::You, what).why(sentence(&message)).action(
                "Actions are for objects of the platform. Take a kubeconfig with write rights for others.",
            )
        }
        ActionError::Missing(message) => {
            Fault::new(StatusCode::NOT_FOUND, "not_there", Side::Cluster, "The cluster has no such object")
                .why(sentence(&message))
        }
        ActionError::Conflict(message) => conflict(Side::You).why(sentence(&message)),
        ActionError::Call(call) => call.error,
    }
}

/// What the API server answered with a status that is no success.
pub(super) fn answered(status: StatusCode, message: &str) -> Fault {
    match status.as_u16() {
        409 => conflict(Side::Cluster).why(message),
        422 => Fault::new(status, "cluster_refused", Side::Cluster, "The cluster does not accept the change")
            .why(message),
        _ => from_cluster_response(status, message),
    }
}

/// The cluster did not answer in time.
pub(super) fn slow(within: Duration) -> Fault {
    let what = "The cluster did not answer in time";
    Fault::new(StatusCode::GATEWAY_TIMEOUT, "cluster_slow", Side::Cluster, what)
        .why(format!("It was given {} s. The change may have been made.", within.as_secs()))
        .action("Look at the object, then try again.")
}

/// The answer is not JSON.
pub(super) fn unreadable() -> Fault {
    let what = "The cluster's answer cannot be read";
    Fault::new(StatusCode::BAD_GATEWAY, "cluster_failed", Side::Cluster, what)
        .why("The change may have been made.")
        .action("Look at the object, then try again.")
}

fn conflict(side: Side) -> Fault {
    Fault::new(StatusCode::CONFLICT, "conflict", side, "The object's state does not allow the change")
        .action("Look at the object, then try again.")
}

/// With a capital and an end.
fn sentence(message: &str) -> String {
    let text = clean(message, MOST);
    portal_session::refusals::sentence(&text.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_whose_fault_it_is() {
        let of = |error| {
            let fault: Fault = refused(error);
            (fault.status.as_u16(), fault.code, fault.side)
        };
        let rule = |error| of(ActionError::Rule(error));
        assert_eq!(rule(RuleError::Invalid("x".to_owned())), (422, "invalid", Side::You));
        assert_eq!(rule(RuleError::Forbidden("x".to_owned())), (403, "protected", Side::You));
        assert_eq!(of(ActionError::Conflict("x".to_owned())), (409, "conflict", Side::You));
        assert_eq!(of(ActionError::Missing("x".to_owned())), (404, "not_there", Side::Cluster));
        let answers = |status: u16| {
            let fault = answered(StatusCode::from_u16(status).unwrap(), "there is no leader");
            (fault.status.as_u16(), fault.code, fault.why)
        };
        assert_eq!(answers(409), (409, "conflict", "there is no leader".to_owned()));
        assert_eq!(answers(422), (422, "cluster_refused", "there is no leader".to_owned()));
        assert_eq!(answers(500).0, 502);
    }
}
