//! Credentials within a text that may be anything: a value of a config map.
//!
//! Known by their form, wherever they stand in the text: private keys in PEM, logins of registries (`config.json` of
//! docker, also the pull secret within an `install-config.yaml`), and kubeconfigs with a way in. The same within base64
//! and gzip, and with escapes. What the search may cost is bounded ([`Budget`]).

use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;
use memchr::memmem;

use super::base64_runs::{decoded, is_letter, may_be_text, next_run};
use super::budget::{Budget, Finding};
use super::escapes::unescaped;
use super::members;

/// Bytes of the shortest text that can hold any.
const SHORTEST: usize = 28;
/// How many times a credential that is found may be encoded: base64 and gzip count one each.
const DEEPEST: usize = 5;
/// What gzip begins with: its number, and the only method that there is.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const BEGIN: &[u8] = b"-----BEGIN ";
/// Letters of a label in PEM that are looked at.
const MOST_LABEL: usize = 48;

/// Searches a text for credentials.
///
/// # Errors
/// It holds some, or costs too much to be searched.
pub(super) fn in_text(text: &[u8]) -> Result<(), Finding> {
    search(text, 0, &mut Budget::new(text.len()))
}

/// Whether a text is base64 and nothing else. Clients decode what is in `binaryData`, so what stands in its place is, too.
pub(super) fn is_base64(text: &[u8]) -> bool {
    text.iter().all(|byte| is_letter(*byte) || *byte == b'=')
}

/// Searches bytes that are encoded so many times.
fn search(bytes: &[u8], depth: usize, budget: &mut Budget) -> Result<(), Finding> {
    if bytes.len() < SHORTEST || depth > DEEPEST {
        return Ok(());
    }
    if bytes.starts_with(GZIP) {
        return search(&unpacked(bytes, budget)?, depth + 1, budget);
    }
    budget.spend(bytes.len())?;
    let text = &*unescaped(bytes);
    private_keys(text, budget)?;
    members::search(text, budget)?;
    encoded(text, depth, budget)
}

/// What is packed. Of what is broken, what comes before.
fn unpacked(packed: &[u8], budget: &mut Budget) -> Result<Vec<u8>, Finding> {
    budget.spend(packed.len())?;
    let mut plain = Vec::new();
    let most = u64::try_from(budget.unpackable()).unwrap_or(u64::MAX).saturating_add(1);
    // An error ends it as its end does: what was read stays.
    let _ = MultiGzDecoder::new(packed).take(most).read_to_end(&mut plain);
    budget.unpacked(plain.len())?;
    Ok(plain)
}

/// Private keys in PEM.
fn private_keys(text: &[u8], budget: &mut Budget) -> Result<(), Finding> {
    budget.spend(text.len())?;
    for at in memmem::find_iter(text, BEGIN) {
        let label = &text[at + BEGIN.len()..];
        let length = label.iter().take(MOST_LABEL).take_while(|byte| **byte != b'-').count();
        budget.matched()?;
        budget.spend(length)?;
        if memmem::find(&label[..length], b"PRIVATE KEY").is_some() {
            return Err(Finding::Credentials);
        }
    }
    Ok(())
}

/// What is base64 in the text.
fn encoded(text: &[u8], depth: usize, budget: &mut Budget) -> Result<(), Finding> {
    let mut at = 0;
    while let Some((run, end)) = next_run(text, at) {
        budget.spend(end - at)?;
        at = end;
        // Letters before it may look like a part of it.
        for skipped in 0..4 {
            let letters = &run[skipped..];
            if skipped == 0 || may_be_text(letters) {
                budget.spend(letters.len())?;
                search(&decoded(letters), depth + 1, budget)?;
            }
        }
    }
    budget.spend(text.len() - at)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::json;

    use super::*;

    const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: https://c}\n\
        contexts:\n- name: x\n  context: {cluster: c, user: u}\ncurrent-context: x\nusers:\n- name: u\n  user:\n";
    const PEM: &str = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n";
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

    fn found(text: &str) -> Result<(), Finding> {
        in_text(text.as_bytes())
    }

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

    /// In lines of so many letters, each after an indentation.
    fn wrapped(text: &str, letters: usize, indentation: &str) -> String {
        let lines: Vec<&str> =
            text.as_bytes().chunks(letters).map(|line| str::from_utf8(line).unwrap()).collect();
        format!("{indentation}{}", lines.join(&format!("\n{indentation}")))
    }

    fn gzip(text: impl AsRef<[u8]>) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(text.as_ref()).unwrap();
        packer.finish().unwrap()
    }

    /// Bytes that cannot be packed.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        (0..bytes).map(next).collect()
    }

    #[test]
    fn credentials_are_known_by_their_form() {
        let long = format!("{}:secret", "openshift-release-dev+ocm_access_".repeat(4));
        let key = STANDARD.encode(PEM);
        for text in [
            PEM.to_owned(),
            PEM.replace("EC ", ""),
            PEM.replace("EC ", "ENCRYPTED "),
            format!("{}{PEM}", CERTIFICATE.repeat(300)),
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
                assert_eq!(found(&text), Err(Finding::Credentials), "{text}");
            }
            let packed = STANDARD.encode(&text);
            assert_eq!(found(&packed), Err(Finding::Credentials), "{text}");
        }
    }

    #[test]
    fn logins_of_registries_are_known_without_their_base64() {
        let login = json!({ "username": "user", "password": "hush", "email": "user@example.com" });
        for text in [
            json!({ "auths": { "registry.example": login } }).to_string(),
            serde_json::to_string_pretty(&json!({ "auths": { "registry.example": login } })).unwrap(),
            "auths:\n  registry.example:\n    username: user\n    password: hush\n".to_owned(),
        ] {
            for text in nested(&text) {
                assert_eq!(found(&text), Err(Finding::Credentials), "{text}");
            }
        }
        for text in [
            "auths:\n  registry.example:\n    username: user\n    password: \"\"\n",
            "auths:\n  registry.example:\n    password:\n    username: user\n",
            "auths: {type: object, properties: {username: {type: string}, password: {type: string}}}",
        ] {
            assert_eq!(found(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_old_dockercfg_has_its_hosts_at_the_top() {
        let login = json!({ "username": "user", "password": "hush", "email": "user@example.com" });
        let packed =
            json!({ "https://index.docker.io/v1/": { "auth": STANDARD.encode("user:hush"), "email": "" } });
        let plain = json!({ "https://registry.example/v1/": login });
        for file in [plain, packed] {
            for text in nested(&file.to_string()) {
                assert_eq!(found(&text), Err(Finding::Credentials), "{text}");
            }
        }
        for text in [
            "smtp:\n  username: user\n  password: hush-hush-hush\n",
            "registry.example:\n  username: user\n  email: user@example.com\n  password: \"\"\n",
        ] {
            assert_eq!(found(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn scalars_of_yaml_may_stand_in_the_lines_after_their_key() {
        let login = STANDARD.encode("somebody-with-a-long-name:password");
        for block in ["|", ">", "|-", ">-", ">+", "|2", ""] {
            for letters in [12, 76] {
                let indented = wrapped(&login, letters, "      ");
                if block.is_empty() && letters < login.len() {
                    continue; // A plain scalar of several lines has its name in the first.
                }
                let text =
                    format!("registry.example:\n  auth: {block}\n{indented}\n  email: user@example.com\n");
                assert_eq!(found(&text), Err(Finding::Credentials), "{text}");
            }
            let text = kubeconfig(&format!("token: {block}\n      abc"));
            assert_eq!(found(&text), Err(Finding::Credentials), "{text}");
        }
        for user in
            ["token:\n    username: u", "token:\n- name: v\n  user: {}", "token:\n    \"username\": u"]
        {
            assert_eq!(found(&kubeconfig(user)), Ok(()), "{user}");
        }
    }

    #[test]
    fn what_is_encoded_is_found_within_other_text() {
        let (config, key) = (kubeconfig("token: abc"), STANDARD.encode(PEM));
        let base64 = STANDARD.encode(&config);
        let applied = json!({ "kind": "ConfigMap", "binaryData": { "packed": base64 } }).to_string();
        let release = STANDARD.encode(gzip(json!({ "manifest": format!("tls.key: {key}\n") }).to_string()));
        for text in [
            base64.clone(),
            wrapped(&base64, 76, ""),
            wrapped(&base64, 64, "    ").replace('\n', "\r\n"),
            format!("kubeconfig: >-\n{}\nmode: 384\n", wrapped(&base64, 64, "  ")),
            format!("echo {base64} | base64 -d > kubeconfig"),
            format!("source: data:text/plain;charset=utf-8;base64,{base64}"),
            format!("source: data:,{}", PEM.replace(' ', "%20").replace('\n', "%0A")),
            // Letters before it look like a part of it.
            format!("a/b/{base64}"),
            format!("{}\n{base64}", "a".repeat(50)),
            applied,
            format!("source: data:;base64,{}", STANDARD.encode(gzip(&config))),
            release.clone(),
            STANDARD.encode(release.as_bytes()),
            // Broken off.
            STANDARD.encode(&gzip([config.as_bytes(), &noise(4096)].concat())[..2048]),
        ] {
            for text in nested(&text) {
                assert_eq!(found(&text), Err(Finding::Credentials), "{text}");
            }
        }
        // An escape of a letter that some writers of JSON escape.
        let escaped = docker("user:password").replace('=', "\\u003d");
        assert_eq!(found(&escaped), Err(Finding::Credentials));
    }

    #[test]
    fn what_only_looks_like_them_is_none() {
        for text in [
            CERTIFICATE.to_owned(),
            STANDARD.encode(CERTIFICATE),
            STANDARD.encode(gzip(CERTIFICATE.repeat(100))),
            kubeconfig(&format!("client-certificate-data: {}", STANDARD.encode(CERTIFICATE))),
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
                assert_eq!(found(&text), Ok(()), "{text}");
            }
        }
    }

    #[test]
    fn a_text_that_is_made_for_it_costs_little() {
        // Each of these would be quadratic if what follows were looked at to its end.
        let (spaces, blank) = (format!("auth: \"{}", " ".repeat(100)), format!("{}:", " ".repeat(100)));
        for word in [
            "auth:",
            "auth: \"",
            "token:",
            "token:|",
            "token:\n",
            "identitytoken:'",
            "-----BEGIN ",
            "LS0tLS1CRUdJTi",
            "LS0tLS1CRUdJTi ",
            "\\",
            "\\u",
            "%2",
            "\"",
            ":",
            " ",
            "YWFh",
            "clusters: users: contexts: token:",
            &spaces,
            &blank,
        ] {
            for size in [64 * 1024, 512 * 1024] {
                let text = word.repeat(size / word.len());
                let mut budget = Budget::new(text.len());
                let _ = search(text.as_bytes(), 0, &mut budget);
                assert!(budget.steps() <= 40 * text.len(), "{word:?} * {size}: {}", budget.steps());
            }
        }
    }

    #[test]
    fn what_costs_too_much_is_withheld() {
        // More members than are looked at.
        assert_eq!(found(&"auth:".repeat(100_000)), Err(Finding::TooMuch));
        assert_eq!(found(&"-----BEGIN ".repeat(100_000)), Err(Finding::TooMuch));
        assert_eq!(found(&"auth:".repeat(1000)), Ok(()));
        // More than 1 MiB unpacked, at once or together; and little that unpacks to much.
        let random = noise(1200 * 1024);
        let half = STANDARD.encode(gzip(&random[..random.len() / 2]));
        assert_eq!(found(&half), Ok(()));
        assert_eq!(found(&format!("{half}, {half}")), Err(Finding::TooMuch));
        assert_eq!(found(&STANDARD.encode(gzip(random))), Err(Finding::TooMuch));
        assert_eq!(found(&STANDARD.encode(gzip(vec![b' '; 1024 * 1024]))), Err(Finding::TooMuch));
        // Encoded more often than anybody does.
        let mut text = PEM.to_owned();
        for depth in 1..=DEEPEST + 1 {
            text = STANDARD.encode(text.as_bytes());
            assert_eq!(found(&text).is_err(), depth <= DEEPEST, "{depth}");
        }
    }
}
