//! Our own kubeconfigs: those we issue, and those stored in cluster documents.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Clock, Secret, SystemClock};
use serde_json::Value;

use crate::kubeconfig::{self, ImportError, ImportPlan, MAX_BYTES};

/// A kubeconfig for kubectl (`contract/portal.md` §10): JSON, four-space indent, that key order, no newline
/// at the end. `ca_pem` is left out where the proxy's certificate is publicly trusted.
///
/// The text contains the token: return it to the user only, never log or store it.
pub fn issued(server: &str, ca_pem: Option<&str>, token: &Secret<String>) -> String {
    let server = json_string(server);
    let authority = ca_pem.map_or_else(String::new, |pem| {
        format!(",\n                \"certificate-authority-data\": \"{}\"", STANDARD.encode(pem))
    });
    let token = json_string(token.expose());
    format!(
        r#"{{
    "kind": "Config",
    "apiVersion": "v1",
    "preferences": {{}},
    "clusters": [
        {{
            "name": "cluster",
            "cluster": {{
                "server": {server}{authority}
            }}
        }}
    ],
    "users": [
        {{
            "name": "user",
            "user": {{
                "token": {token}
            }}
        }}
    ],
    "contexts": [
        {{
            "name": "context",
            "context": {{
                "cluster": "cluster",
                "user": "user",
                "namespace": "default"
            }}
        }}
    ],
    "current-context": "context"
}}"#
    )
}

fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

/// Reads a kubeconfig of a cluster document: first user, first cluster (`contract/portal.md` §11.2).
///
/// # Errors
/// It is empty or not usable; the same rules apply as for an imported one.
pub fn parse_stored(bytes: &[u8]) -> Result<ImportPlan, ImportError> {
    if bytes.len() > MAX_BYTES {
        return Err(ImportError::TooBig);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ImportError::NotYaml { line: 0, column: 0 })?;
    kubeconfig::read_first(text, SystemClock.now())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: &str = include_str!("../tests/issued.kubeconfig");

    #[test]
    fn issued_is_byte_for_byte_the_contract() {
        let token = Secret::new("aro1_kubeconfig_id_secret_mac".to_owned());
        let server = "https://proxy.example/subscriptions/x/kubeconfig/proxy";
        assert_eq!(issued(server, Some("-----BEGIN"), &token), EXPECTED.trim_end());
    }

    #[test]
    fn issued_without_authority_is_json_in_the_same_order() {
        let text = issued("https://h/\"\n", None, &Secret::new("t".to_owned()));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["clusters"][0]["cluster"], serde_json::json!({"server": "https://h/\"\n"}));
        let places: Vec<_> =
            ["kind", "apiVersion", "preferences", "clusters", "users", "contexts", "current-context"]
                .iter()
                .map(|key| text.find(&format!("\n    \"{key}\"")).unwrap())
                .collect();
        assert!(places.is_sorted());
    }

    #[test]
    fn stored_needs_what_imported_needs() {
        let text = issued("https://h:6443", None, &Secret::new("t".to_owned()));
        assert_eq!(parse_stored(text.as_bytes()).unwrap_err(), ImportError::NoAuthority);
        assert_eq!(parse_stored(&[0xff, 0xfe]).unwrap_err(), ImportError::NotYaml { line: 0, column: 0 });
        assert_eq!(parse_stored(b"kind: Config").unwrap_err(), ImportError::NoCluster);
        assert_eq!(parse_stored(b"").unwrap_err(), ImportError::Empty);
    }
}
