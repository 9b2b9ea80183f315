//! Kubeconfigs that people import: one server by HTTPS, one credential, and no word of a secret in an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_base::Timestamp;
use rp_kube::kubeconfig::{ImportError, read_at};

/// Stands in the seeds where a secret stands.
const SECRET: &str = "sha256~fuzzed-secret";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for context in [None, Some("admin")] {
        match read_at(text, context, Timestamp::from_seconds(1_790_000_000)) {
            Ok(plan) => {
                assert_eq!(plan.server.scheme(), "https");
                assert!(plan.server.host_str().is_some_and(|host| !host.is_empty()));
                assert!(plan.server.username().is_empty() && plan.server.password().is_none());
                assert!(plan.server.query().is_none() && plan.server.fragment().is_none());
                assert!(plan.ca_pem.contains("BEGIN CERTIFICATE"));
                let elsewhere = plan.context.contains(SECRET)
                    || plan.server.as_str().contains(SECRET)
                    || plan.namespace.as_ref().is_some_and(|name| name.contains(SECRET));
                assert!(elsewhere || !format!("{plan:?}").contains(SECRET));
            }
            Err(
                ImportError::ContextNotFound { .. }
                | ImportError::ClusterNotFound { .. }
                | ImportError::UserNotFound { .. }
                | ImportError::NoCurrentContext { .. },
            ) => {} // They tell names.
            Err(error) => assert!(!format!("{error} {error:?}").contains(SECRET), "{error}"),
        }
    }
});
