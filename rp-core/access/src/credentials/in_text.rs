//! Credentials within a text that may be anything: a value of a config map.
//!
//! Known by their form, wherever they stand in the text: private keys in PEM, logins of registries (`config.json` of
//! docker, also the pull secret within an `install-config.yaml`), and kubeconfigs with a way in. A kubeconfig that names
//! files only, as those of OpenShift's static pods do, holds none.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Bytes of the shortest text that can hold any.
const SHORTEST: usize = 28;
/// Letters of a scalar that are looked at. A login of a registry is base64, and its name stands first.
const MOST_SCALAR: usize = 256;
/// Members of a kubeconfig's user that let somebody in.
const WAYS_IN: [&str; 7] =
    ["token", "password", "client-key-data", "id-token", "refresh-token", "access-token", "client-secret"];

/// Takes base64 however it ends: what is decoded may be the beginning of more.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Whether a text holds credentials.
pub fn in_text(text: &str) -> bool {
    if text.len() < SHORTEST {
        return false;
    }
    let text = &*unescaped(text);
    has_private_key(text) || has_login(text) || is_kubeconfig(text) && has_way_in(text)
}

/// What a text is the base64 of, if it is all base64.
pub(super) fn decoded(text: &str) -> Option<String> {
    let letters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let bytes = if letters && text.len() >= SHORTEST { LENIENT.decode(text).ok()? } else { return None };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text with escapes of any depth undone: JSON within JSON has its quotes and line ends escaped once more.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut escaped = false;
    for letter in text.chars() {
        match letter {
            '\\' => escaped = true,
            'n' | 'r' if std::mem::take(&mut escaped) => plain.push('\n'),
            't' if std::mem::take(&mut escaped) => plain.push(' '),
            other => {
                escaped = false;
                plain.push(other);
            }
        }
    }
    Cow::Owned(plain)
}

/// In PEM, or in the base64 of PEM.
fn has_private_key(text: &str) -> bool {
    const BEGIN: &str = "-----BEGIN ";
    let is_key = |after: &str| {
        let label: String = after.chars().take(48).collect();
        label.split("-----").next().is_some_and(|label| label.contains("PRIVATE KEY"))
    };
    if text.match_indices(BEGIN).any(|(at, _)| is_key(&text[at + BEGIN.len()..])) {
        return true;
    }
    // `-----BEGIN` and a space, but for the letter that holds bits of what follows.
    text.match_indices("LS0tLS1CRUdJTi").any(|(at, _)| {
        let packed: String = text[at..].chars().take(64).take_while(char::is_ascii_alphanumeric).collect();
        let whole = packed.get(..packed.len() / 4 * 4).unwrap_or_default();
        let label = LENIENT.decode(whole).unwrap_or_default();
        String::from_utf8_lossy(&label).contains("PRIVATE KEY")
    })
}

/// A name and a password of a registry, or a token in their place.
fn has_login(text: &str) -> bool {
    let is_login = |packed: &str| {
        let login = LENIENT.decode(packed).unwrap_or_default();
        let mut parts = login.splitn(2, |byte| *byte == b':');
        let (name, password) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        !name.is_empty() && name.iter().all(u8::is_ascii_graphic) && !password.is_empty()
    };
    scalars(text, "auth").any(is_login)
        || ["identitytoken", "registrytoken"]
            .iter()
            .any(|key| scalars(text, key).any(|token| token.len() > 8))
}

fn is_kubeconfig(text: &str) -> bool {
    let has = |key: &str| behind(text, key).next().is_some();
    has("clusters") && has("users") && (has("contexts") || has("current-context"))
}

fn has_way_in(text: &str) -> bool {
    WAYS_IN.iter().any(|key| scalars(text, key).next().is_some())
}

/// The scalars that stand behind a key in JSON or YAML, but for those that say that there is none.
fn scalars<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let ends = |letter: char| matches!(letter, '"' | '\'' | ',' | '}' | ']' | '#') || letter.is_whitespace();
    behind(text, key).filter_map(move |rest| {
        let rest = rest.trim_start_matches(['"', '\'']);
        let end =
            rest.chars().take(MOST_SCALAR).take_while(|letter| !ends(*letter)).map(char::len_utf8).sum();
        let scalar = rest.get(..end)?;
        let (none, opens) = (matches!(scalar, "" | "null" | "~"), scalar.starts_with(['{', '[']));
        (!none && !opens).then_some(scalar)
    })
}

/// What stands behind each `key:` or `"key":`.
fn behind<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    text.match_indices(key).filter_map(move |(at, _)| {
        if text[..at].chars().next_back().is_some_and(part) {
            return None;
        }
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start_matches(' ');
        Some(rest.strip_prefix(':')?.trim_start_matches(' '))
    })
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: https://c}\n\
        contexts:\n- name: x\n  context: {cluster: c, user: u}\ncurrent-context: x\nusers:\n- name: u\n  user:\n";
    const PEM: &str = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n";

    /// A kubeconfig with these members of its user.
    fn kubeconfig(user: &str) -> String {
        format!("{KUBECONFIG}    {user}\n")
    }

    fn docker(login: &str) -> String {
        json!({ "auths": { "registry.example": { "auth": STANDARD.encode(login) } } }).to_string()
    }

    /// As JSON holds it, and as an annotation in JSON that holds JSON does.
    fn nested(text: &str) -> [String; 3] {
        let once = json!(text).to_string();
        [text.to_owned(), once.clone(), json!(once).to_string()]
    }

    #[test]
    fn credentials_are_known_by_their_form() {
        let long = format!("{}:secret", "openshift-release-dev+ocm_access_".repeat(4));
        let key = STANDARD.encode(PEM);
        for text in [
            PEM.to_owned(),
            PEM.replace("EC ", ""),
            PEM.replace("EC ", "ENCRYPTED "),
            format!("tls: |\n  {key}\n"),
            kubeconfig("token: abc"),
            kubeconfig("{\"token\": \"abc\"}"),
            kubeconfig("password: 'abc'"),
            kubeconfig(&format!("client-key-data: {key}")),
            kubeconfig("auth-provider: {name: oidc, config: {refresh-token: abc}}"),
            json!({ "clusters": [], "users": [{ "user": { "token": "x" } }], "contexts": [] }).to_string(),
            docker("user:password"),
            docker(&long),
            format!("pullSecret: '{}'\nsshKey: x", docker("user:password")),
            format!("registry.example:\n  auth: {}\n", STANDARD.encode("user:password")),
            json!({ "auths": { "r": { "identitytoken": "0123456789abcdef" } } }).to_string(),
        ] {
            for text in nested(&text) {
                assert!(in_text(&text), "{text}");
            }
            let packed = STANDARD.encode(&text);
            assert!(decoded(&packed).is_some_and(|text| in_text(&text)), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_them_is_none() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        for text in [
            certificate.to_owned(),
            STANDARD.encode(certificate),
            kubeconfig(&format!("client-certificate-data: {}", STANDARD.encode(certificate))),
            // What OpenShift's static pods have.
            kubeconfig("tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"),
            kubeconfig("client-key: /etc/kubernetes/secrets/tls.key"),
            kubeconfig("exec: {command: kubelogin}"),
            kubeconfig("token: \"\""),
            kubeconfig("token: null"),
            // kube-public/cluster-info has no user.
            "clusters:\n- cluster: {server: https://c}\ncontexts: []\nusers: []\n".to_owned(),
            "set `token: abc` in your file to sign in as somebody".to_owned(),
            json!({ "auths": { "registry.example": { "auth": "" } } }).to_string(),
            json!({ "auths": { "registry.example": {} }, "credsStore": "desktop" }).to_string(),
            "auth: enabled\nauthorization: RBAC,Node\nauthentication: webhook".to_owned(),
            "pullSecret: \"\"\nsshKey: ssh-ed25519 AAAA".to_owned(),
            "Give the PRIVATE KEY to nobody: it begins with -----BEGIN and so on".to_owned(),
            "x".repeat(1000),
        ] {
            for text in nested(&text) {
                assert!(!in_text(&text), "{text}");
            }
        }
    }

    #[test]
    fn a_text_that_is_made_for_it_costs_little() {
        // Each of these would be quadratic if what follows were looked at to its end.
        let kubeconfig = "clusters: users: contexts: token:";
        for word in ["auth:", "-----BEGIN ", "LS0tLS1CRUdJTi", "identitytoken:'", "\\", kubeconfig] {
            let text = word.repeat(256 * 1024 / word.len());
            let _ = in_text(&text);
            let _ = decoded(&text);
        }
    }
}
