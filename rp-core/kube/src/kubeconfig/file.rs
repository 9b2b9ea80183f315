//! The members of the file that are read (client-go `clientcmd/api/v1`); others are ignored.

use rp_base::Secret;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{ImportError, MAX_BYTES};

#[derive(Deserialize)]
pub(super) struct File {
    kind: Option<String>,
    clusters: Option<Vec<NamedCluster>>,
    users: Option<Vec<NamedUser>>,
    contexts: Option<Vec<NamedContext>>,
    #[serde(rename = "current-context")]
    pub(super) current_context: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct NamedCluster {
    pub(super) name: Option<String>,
    pub(super) cluster: Option<Cluster>,
}

#[derive(Deserialize)]
pub(super) struct Cluster {
    pub(super) server: Option<String>,
    #[serde(rename = "tls-server-name")]
    pub(super) tls_server_name: Option<String>,
    #[serde(rename = "insecure-skip-tls-verify")]
    pub(super) insecure: Option<bool>,
    #[serde(rename = "certificate-authority")]
    pub(super) ca_path: Option<String>,
    #[serde(rename = "certificate-authority-data")]
    pub(super) ca_data: Option<String>,
    #[serde(rename = "proxy-url")]
    pub(super) proxy_url: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct NamedUser {
    pub(super) name: Option<String>,
    pub(super) user: Option<User>,
}

#[derive(Deserialize)]
pub(super) struct User {
    #[serde(rename = "client-certificate")]
    pub(super) certificate_path: Option<String>,
    #[serde(rename = "client-certificate-data")]
    pub(super) certificate_data: Option<String>,
    #[serde(rename = "client-key")]
    pub(super) key_path: Option<String>,
    #[serde(rename = "client-key-data")]
    pub(super) key_data: Option<Secret<String>>,
    pub(super) token: Option<Secret<String>>,
    #[serde(rename = "tokenFile")]
    pub(super) token_path: Option<String>,
    #[serde(rename = "as")]
    pub(super) impersonate: Option<String>,
    #[serde(rename = "as-uid")]
    pub(super) impersonate_uid: Option<String>,
    #[serde(rename = "as-groups")]
    pub(super) impersonate_groups: Option<Vec<String>>,
    #[serde(rename = "as-user-extra")]
    pub(super) impersonate_extra: Option<IgnoredAny>,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret<String>>,
    #[serde(rename = "auth-provider")]
    pub(super) auth_provider: Option<IgnoredAny>,
    pub(super) exec: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct NamedContext {
    pub(super) name: Option<String>,
    pub(super) context: Option<Context>,
}

#[derive(Deserialize)]
pub(super) struct Context {
    pub(super) cluster: Option<String>,
    pub(super) user: Option<String>,
    pub(super) namespace: Option<String>,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, ImportError> {
        if text.len() > MAX_BYTES {
            return Err(ImportError::TooBig);
        }
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(ImportError::Empty);
        }
        let file = parse_either(text)?.ok_or(ImportError::Empty)?;
        let wrong_kind = file.kind.as_deref().is_some_and(|kind| kind != "Config");
        let nothing = file.kind.is_none()
            && file.clusters.is_none()
            && file.users.is_none()
            && file.contexts.is_none()
            && file.current_context.is_none();
        if wrong_kind || nothing { Err(ImportError::NotKubeconfig) } else { Ok(file) }
    }

    pub(super) fn clusters(&self) -> &[NamedCluster] {
        self.clusters.as_deref().unwrap_or_default()
    }

    pub(super) fn users(&self) -> &[NamedUser] {
        self.users.as_deref().unwrap_or_default()
    }

    pub(super) fn contexts(&self) -> &[NamedContext] {
        self.contexts.as_deref().unwrap_or_default()
    }
}

fn parse_either(text: &str) -> Result<Option<File>, ImportError> {
    if text.trim_start().starts_with('{')
        && let Ok(file) = serde_json::from_str(text)
    {
        return Ok(Some(file));
    }
    serde_saphyr::from_str_with_options(text, limits()).map_err(|error| reason(text, &error))
}

/// Well above any real kubeconfig, well below what costs memory; alias expansion is limited.
fn limits() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 100_000,
            max_nodes: 50_000,
            max_depth: 32,
            flow_nesting_limit: 32,
            max_documents: 1,
            max_aliases: 100,
            max_anchors: 100,
            max_merge_keys: 100,
            max_recorded_anchor_events: 10_000,
            max_recorded_anchor_bytes: MAX_BYTES,
            max_total_scalar_bytes: 2 * MAX_BYTES,
            max_total_comment_bytes: MAX_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 100,
        },
        // A snippet would put the file's content into the error.
        with_snippet: false,
    }
}

fn reason(text: &str, error: &serde_saphyr::Error) -> ImportError {
    use serde_saphyr::Error as E;
    let bare = error.without_snippet();
    if matches!(
        bare,
        E::Budget { .. }
            | E::AliasReplayLimitExceeded { .. }
            | E::AliasExpansionLimitExceeded { .. }
            | E::AliasReplayStackDepthExceeded { .. }
            | E::AliasReplayCounterOverflow { .. }
    ) {
        return ImportError::TooComplex;
    }
    let (line, column) = bare.location().map_or((0, 0), |at| (at.line(), at.column()));
    let sound = serde_saphyr::from_str_with_options::<IgnoredAny>(text, limits()).is_ok();
    if sound { ImportError::BadShape { line, column } } else { ImportError::NotYaml { line, column } }
}
