//! The pure parts. The transport against a listener: `tests/stories/azure.rs`.

use std::time::Duration;

use proptest::prelude::*;
use rp_base::{SystemRandom, text::clean};

use crate::path::{after, is_resource_id};
use crate::retry::{self, RetryPolicy, is_retryable, is_transient};
use crate::{AzureError, Cloud, Endpoints, ErrorKind};

fn answered(status: u16, body: &str) -> AzureError {
    AzureError::from_response("get subnet", status, body.as_bytes())
}

#[test]
fn errors_have_the_kind_the_code_and_the_message_of_the_answer() {
    let error = answered(403, r#"{"error":{"code":"AuthorizationFailed","message":"The client\n may not"}}"#);
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Forbidden, "AuthorizationFailed"));
    assert_eq!(error.to_string(), "get subnet: Azure answered 403: AuthorizationFailed: The client may not");
    let token = answered(
        400,
        r#"{"error":"invalid_request","error_description":"AADSTS90002: Tenant 'x' not found. Check the cloud."}"#,
    );
    assert_eq!((token.kind, token.code.as_str()), (ErrorKind::Cloud, "AADSTS90002"));
    assert_eq!(answered(404, "<html>").kind, ErrorKind::NotFound);
    assert_eq!(answered(404, r#"{"error":{"code":"SubscriptionNotFound"}}"#).kind, ErrorKind::Cloud);
    for (status, kind) in [
        (401, ErrorKind::Unauthorized),
        (409, ErrorKind::Conflict),
        (412, ErrorKind::Conflict),
        (429, ErrorKind::Throttled),
        (418, ErrorKind::Refused),
        (500, ErrorKind::Server),
    ] {
        assert_eq!(answered(status, "").kind, kind);
    }
    assert_eq!(answered(500, &"x".repeat(10_000)).message, "");
    assert!(
        answered(500, &format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(9000))).message.len() <= 500
    );
}

#[test]
fn what_is_asked_again_is_what_the_contract_says() {
    for status in [408, 429, 500, 502, 503, 504] {
        assert!(is_transient(&answered(status, "")), "{status}");
    }
    for status in [400, 401, 403, 404, 409, 412, 501] {
        assert!(!is_transient(&answered(status, "")) && !is_retryable(&answered(status, "")), "{status}");
    }
    let mut conflict = answered(409, "");
    conflict.retry_after = Some(Duration::from_secs(1));
    assert!(is_transient(&conflict) && is_retryable(&conflict));
    assert!(is_transient(&AzureError::new("x", ErrorKind::Timeout, "")));
    assert!(!is_transient(&AzureError::new("x", ErrorKind::Tls, "")));
    assert!(!is_transient(&AzureError::new("x", ErrorKind::Request, "")));
}

#[test]
fn waits_grow_and_a_retry_after_takes_their_place() {
    let policy = RetryPolicy::STEPS;
    let mut backoff = policy.backoff();
    let mut error = answered(503, "");
    let waits: Vec<_> =
        (1..=4).map(|tried| retry::wait(&policy, tried, &error, &mut backoff, &SystemRandom)).collect();
    let seconds = |at: usize| waits[at].map(|wait: Duration| wait.as_secs_f64()).unwrap_or_default();
    assert!((7.5..=15.0).contains(&seconds(0)) && (15.0..=30.0).contains(&seconds(1)), "{waits:?}");
    assert!((30.0..=60.0).contains(&seconds(2)) && waits[3].is_none(), "{waits:?}");
    error.retry_after = Some(Duration::from_secs(7));
    assert_eq!(retry::wait(&policy, 1, &error, &mut backoff, &SystemRandom), error.retry_after);
    assert_eq!(retry::wait(&RetryPolicy::NONE, 1, &error, &mut backoff, &SystemRandom), None);
}

#[test]
fn clouds_have_their_endpoints() {
    for (name, manager, authority) in [
        ("AzurePublicCloud", "https://management.azure.com/", "https://login.microsoftonline.com/"),
        (
            "azureusgovernmentcloud",
            "https://management.usgovcloudapi.net/",
            "https://login.microsoftonline.us/",
        ),
    ] {
        let endpoints = Endpoints::for_cloud(name.parse().unwrap()).unwrap();
        assert_eq!((endpoints.resource_manager.as_str(), endpoints.authority.as_str()), (manager, authority));
        assert_eq!(endpoints.scope, format!("{manager}.default"));
        let url = endpoints.token("72f988bf-0000-0000-0000-000000000001").unwrap();
        assert!(url.path() == "/72f988bf-0000-0000-0000-000000000001/oauth2/v2.0/token");
        for bad in ["", "..", "a/b", "a?b", "a..b", "%2e%2e"] {
            assert_eq!(endpoints.token(bad), None, "{bad}");
        }
    }
    assert!("AzureChina".parse::<Cloud>().is_err());
}

#[test]
fn only_resource_ids_are_paths() {
    let id = "/subscriptions/a/resourceGroups/my_group-(1)/providers/Microsoft.Network/virtualNetworks/v/subnets/s";
    assert!(is_resource_id(id));
    assert_eq!((after(id, "SUBNETS"), after(id, "resourcegroups")), (Some("s"), Some("my_group-(1)")));
    assert_eq!(after("/a/subnets", "subnets"), None);
    for bad in
        ["", "a", "//a", "/a/", "/a//b", "/a/../b", "/a/./b", "/a?b", "/a#b", "/a%2f", "/a b", "/a\\b", "/ä"]
    {
        assert!(!is_resource_id(bad), "{bad}");
    }
}

proptest! {
    #[test]
    fn any_body_gives_a_bounded_error(status in 300_u16..600, body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let error = AzureError::from_response("x", status, &body);
        prop_assert!(error.to_string().len() < 4000);
        prop_assert_eq!(clean(&error.message, 500), error.message);
    }

    #[test]
    fn a_path_never_leaves_the_host(id in "/[ -~]{0,60}") {
        if is_resource_id(&id) {
            let base: url::Url = "https://management.azure.com".parse().unwrap();
            let url = base.join(&id).unwrap();
            prop_assert_eq!(url.host_str(), Some("management.azure.com"));
            prop_assert_eq!(url.path(), id.as_str());
        }
    }
}
