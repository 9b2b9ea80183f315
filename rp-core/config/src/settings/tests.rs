use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rp_settings::{File, Key, Override};

use super::*;
use crate::{LogFormat, OidcCredential, PrivateLinkMode, StoreKind, needs};

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(
    text: &str,
    pairs: &[(&str, &str)],
    overrides: &[Override<'_>],
    needs: &[&str],
) -> Result<Settings, Mistakes> {
    let file = Some(File { path: Path::new("/etc/aro/aro.toml"), text });
    parse(&Input { file, environment: &environment(pairs), overrides, needs })
}

fn told(outcome: Result<Settings, Mistakes>) -> Vec<String> {
    outcome.unwrap_err().0.iter().map(ToString::to_string).collect()
}

const WHOLE: &str = r#"
[listen]
portal = "0.0.0.0:8444"
[portal]
url = "https://portal.example:8444"
[proxy]
url = "https://api.portal.example:8444"
hosts = ["Other.example"]
[tls]
cert_file = "tls.crt"
key_file = "/run/secrets/tls.key"
[oidc]
issuer = "https://login.example/tenant/v2.0"
client_id = "portal"
client_key_file = "client.pem"
client_cert_file = "client.crt"
[roles]
sre = ["aro-sre"]
[access]
default_life = "8h"
max_life = "1d"
[imports]
allow = ["10.0.0.0/8", "fd00::/8"]
[limits]
connections = 1_000
[private_link]
way = "connect"
address = "proxy.example:443"
ca_file = "proxy.crt"
client_cert_file = "c.crt"
client_key_file = "c.key"
"#;

#[test]
fn reads_a_whole_file() {
    let settings = read(WHOLE, &[], &[], needs::PORTAL).unwrap();
    assert_eq!(settings.listen.portal.to_string(), "0.0.0.0:8444");
    assert_eq!(settings.listen.admin.to_string(), "127.0.0.1:6060");
    assert_eq!(settings.proxy.hosts, ["api.portal.example", "other.example"]);
    let tls = settings.tls.unwrap();
    assert_eq!(tls.cert_file, PathBuf::from("/etc/aro/tls.crt"));
    assert_eq!(tls.key_file.path(), Path::new("/run/secrets/tls.key"));
    let oidc = settings.oidc.unwrap();
    assert!(matches!(oidc.credential, OidcCredential::Key { cert_file: Some(_), .. }));
    assert_eq!(
        (oidc.options.scopes.join(" "), oidc.options.groups_claim),
        ("openid profile".to_owned(), "groups".to_owned())
    );
    assert_eq!(settings.access.max_life, Duration::from_secs(86_400));
    assert_eq!((settings.imports.allow.len(), settings.limits.connections), (2, 1000));
    assert!(
        matches!(settings.private_link.way, PrivateLinkMode::Connect { address, .. } if address == "proxy.example:443")
    );
}

#[test]
fn without_anything_the_defaults_hold() {
    let settings =
        parse(&Input { file: None, environment: &environment(&[]), overrides: &[], needs: &[] }).unwrap();
    assert_eq!(settings.access.default_life, Duration::from_secs(6 * 3600));
    assert_eq!((settings.log.level.as_str(), settings.log.format), ("info", LogFormat::Json));
    assert_eq!(settings.store.path, PathBuf::from("aro.db"));
    assert!(settings.oidc.is_none() && settings.tls.is_none() && settings.imports.allow.is_empty());
}

#[test]
fn the_store_is_in_one_place() {
    let store = |text: &str| read(text, &[], &[], &[]);
    let settings = store("[store]\nkind = \"postgres\"\nurl = \"postgres://aro@db1,db2/aro\"\n").unwrap();
    let StoreKind::Postgres(postgres) = settings.store.kind else { panic!("SQLite") };
    assert_eq!((postgres.url.as_deref(), postgres.url_file), (Some("postgres://aro@db1,db2/aro"), None));
    assert_eq!((postgres.connections, settings.audit.path), (12, None));
    let text = "[store]\nkind = \"postgres\"\nurl_file = \"db\"\n[audit]\npath = \"a.db\"\n";
    assert_eq!(store(text).unwrap().audit.path, Some(PathBuf::from("/etc/aro/a.db")));
    let secret = told(store("[store]\nkind = \"postgres\"\nurl = \"postgres://aro:hunter2@db/aro\"\n"));
    assert!(secret[0].contains("without a password") && !secret[0].contains("hunter2"), "{secret:?}");
    for (text, key) in [
        ("[store]\nkind = \"postgres\"\n", "store.url"),
        ("[store]\nurl = \"postgres://db/aro\"\n", "store.url"),
        ("[store]\nkind = \"postgres\"\nurl = \"postgres://db/aro\"\nurl_file = \"f\"\n", "store.url_file"),
        (
            "[store]\nkind = \"postgres\"\nurl_file = \"f\"\nclient_cert_file = \"c\"\n",
            "store.client_key_file",
        ),
    ] {
        let mistakes = told(store(text));
        assert!(mistakes.len() == 1 && mistakes[0].contains(key), "{text}: {mistakes:?}");
    }
}

#[test]
fn every_key_of_the_catalogue_is_read() {
    let mut reader = Reader::of_defaults();
    let _ = assemble(&mut reader);
    let all: BTreeSet<&str> = CATALOGUE.keys().map(|key| key.path).collect();
    assert_eq!(*reader.asked(), all);
    assert_eq!(reader.mistakes(), []);
}

#[test]
fn keys_are_unique_and_stand_in_their_section() {
    let mut paths = BTreeSet::new();
    for section in CATALOGUE.0 {
        for group in *section {
            assert_eq!(group.section, section[0].section);
            for key in group.keys {
                assert!(paths.insert(key.path), "{}", key.path);
                assert_eq!(key.path.split_once('.').unwrap().0, group.section);
            }
        }
    }
    let sections: BTreeSet<&str> = CATALOGUE.0.iter().map(|section| section[0].section).collect();
    assert_eq!(sections.len(), CATALOGUE.0.len());
}

#[test]
fn suggests_what_was_meant() {
    let nearest = |key: &str| {
        let flag = [Override { key, value: "", flag: "--x" }];
        told(read("", &[], &flag, &[]))[0].split_once("did you mean ").map(|(_, near)| near.to_owned())
    };
    for (wrong, right) in [
        ("acess.max_life", "access.max_life?"),
        ("access.maxlife", "access.max_life?"),
        ("oidc.client_secret", "oidc.client_secret_file?"),
        ("portal.groups_claim", "oidc.groups_claim?"),
    ] {
        assert_eq!(nearest(wrong).as_deref(), Some(right));
    }
    assert_eq!(nearest("something.else_entirely"), None);
}

#[test]
fn every_key_has_a_row() {
    let page = reference_markdown();
    assert_eq!(page.matches("\n| `").count(), CATALOGUE.keys().count());
    assert!(page.contains(
        "| `client_id` | a text | – | Our client id at the provider. | `AZURE_PORTAL_CLIENT_ID` |"
    ));
    assert!(page.contains("| `scopes` | a list of texts | `[\"openid\", \"profile\"]` |"));
}

#[test]
fn files_that_are_read_again_are_those_of_the_declarations() {
    let settings = read(WHOLE, &[], &[], &[]).unwrap();
    let expected = ["/etc/aro/tls.crt", "/run/secrets/tls.key", "keyring.json"].map(PathBuf::from);
    assert_eq!(settings.followed(&["tls", "keys"]), expected);
    assert_eq!(settings.followed(&["keys"]), expected[2..]);
}

#[test]
fn flag_over_ours_over_contract_over_file() {
    let file = "[azure]\nregion = \"file\"\n";
    let flag = [Override { key: "azure.region", value: "flag", flag: "--region" }];
    let ours = ("ARO_AZURE__REGION", "ours");
    let contract = ("LOCATION", "contract");
    let region = |pairs: &[(&str, &str)], flags: &[Override<'_>]| {
        read(file, pairs, flags, &[]).unwrap().azure.region.unwrap()
    };
    assert_eq!(region(&[], &[]), "file");
    assert_eq!(region(&[contract], &[]), "contract");
    assert_eq!(region(&[contract, ours], &[]), "ours");
    assert_eq!(region(&[contract, ours], &flag), "flag");
    assert_eq!(region(&[("LOCATION", ""), ("ARO_AZURE__REGION", "")], &[]), "file");
}

#[test]
fn the_contracts_names_work() {
    let group = "0000aaaa-0000-0000-0000-00000000000f";
    let pairs = [
        ("PORTAL_HOSTNAME", "eastus.admin.example"),
        ("AZURE_PORTAL_CLIENT_ID", "client"),
        ("AZURE_PORTAL_ACCESS_GROUP_IDS", group),
        ("AZURE_PORTAL_ELEVATED_GROUP_IDS", &format!("{group}, {group}")),
        ("MDM_STATSD_SOCKET", "udp:127.0.0.1:8125"),
        ("MDM_ACCOUNT", "account"),
        ("MDM_NAMESPACE", "Portal"),
        ("LOCATION", "eastus"),
        ("ARO_LOG_LEVEL", "debug"),
        ("PROXY_HOSTNAME", "vm0.example"),
        ("ENVIRONMENT", "int"),
        ("ARO_PRIVATE_LINK__CA_FILE", "a"),
        ("ARO_PRIVATE_LINK__CLIENT_CERT_FILE", "b"),
        ("ARO_PRIVATE_LINK__CLIENT_KEY_FILE", "c"),
        ("ARO_CHECKOUT_PATH", "not a setting"),
    ];
    let settings = read("", &pairs, &[], &[]).unwrap();
    assert_eq!(settings.portal.url.unwrap().as_str(), "https://eastus.admin.example/");
    assert_eq!((settings.roles.sre.len(), settings.roles.elevated.len()), (1, 2));
    assert_eq!(settings.metrics.statsd_namespace, "Portal");
    assert_eq!((settings.log.level.as_str(), settings.metrics.environment.as_str()), ("debug", "int"));
    assert!(
        matches!(settings.private_link.way, PrivateLinkMode::Connect { address, .. } if address == "vm0.example:443")
    );
    let told = told(read("", &[("AZURE_PORTAL_ACCESS_GROUP_IDS", "sre")], &[], &[]));
    assert_eq!(told, ["AZURE_PORTAL_ACCESS_GROUP_IDS: roles.sre: expected the UUIDs of groups, got \"sre\""]);
}

#[test]
fn all_mistakes_at_once_each_with_its_place() {
    let file = "[acess]\nmax_life = \"8h\"\n[access]\nmax_life = \"8 hours\"\nmin_reason = \"x\"\n[oidc]\nclient_secret = \"hunter2\"\nlog = 1\n[imports]\nallow = [\"10.0.0.0/8\", \"tenth\"]\n";
    let pairs = [("ARO_LOG__FORMAT", "xml"), ("ARO_LIMITS__STREEMS", "1"), ("ARO_LIMITS__STREAMS", "0")];
    let flag = [Override { key: "listen.admin", value: "0.0.0.0:6060", flag: "--admin" }];
    let told = told(read(file, &pairs, &flag, &["portal.url"]));
    let expected = [
        "aro.toml:2: acess.max_life: no such key; did you mean access.max_life?",
        "aro.toml:7: oidc.client_secret: no such key; did you mean oidc.client_secret_file?",
        "aro.toml:8: oidc.log: no such key",
        "ARO_LIMITS__STREEMS: limits.streems: no such key; did you mean limits.streams?",
        "--admin: listen.admin: must be a loopback address, or listen.admin_allow_remote true: it asks nobody who they are",
        "portal.url: is needed: a URL without a path such as \"https://host:8444\" (http only for this machine); set it in the file or by ARO_PORTAL__URL",
        "aro.toml:4: access.max_life: expected a duration such as \"8h\", \"1h30m\" or \"250ms\", got \"8 hours\"",
        "aro.toml:5: access.min_reason: expected a whole number from 0 to 500, got \"x\"",
        "aro.toml:10: imports.allow: expected a list of networks such as \"10.0.0.0/8\", got \"tenth\"",
        "ARO_LIMITS__STREAMS: limits.streams: expected a whole number from 1 to 100000, got \"0\"",
        "ARO_LOG__FORMAT: log.format: expected one of json, text, got \"xml\"",
    ];
    assert_eq!(told, expected);
}

#[test]
fn broken_toml_names_its_line_and_the_rest_is_still_checked() {
    let lines = told(read("[log]\nlevel = \nformat = \"xml\"\nlisten = 5\n", &[], &[], &[]));
    assert!(lines[0].starts_with("aro.toml:2: no TOML: "), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.starts_with("aro.toml:3: log.format: expected one of")),
        "{lines:?}"
    );
    let lines = told(read("listen = 5\nwhat = 1\n[log.format]\na = 1\n", &[], &[], &[]));
    assert_eq!(
        lines[0],
        "aro.toml:1: listen: is a section: write [listen] on a line of its own and its keys below"
    );
    assert_eq!(lines[1], "aro.toml:2: what: no such key");
    assert!(lines[2].ends_with("log.format: expected one of json, text, got table"), "{lines:?}");
}

#[test]
fn keys_that_contradict_each_other() {
    let base = "[oidc]\nissuer = \"https://h\"\nclient_id = \"c\"\n";
    let cases = [
        (
            base.to_owned(),
            "oidc.client_secret_file: is needed with oidc.issuer, or oidc.client_key_file in its place",
        ),
        (
            format!("{base}client_secret_file=\"a\"\nclient_key_file=\"b\""),
            "aro.toml:5: oidc.client_key_file: stands beside oidc.client_secret_file: leave one of them out",
        ),
        (
            format!("{base}client_key_file=\"b\""),
            "oidc.client_cert_file: is needed with oidc.client_key_file: its thumbprint names the key",
        ),
        ("[tls]\ncert_file = \"a\"".to_owned(), "tls.key_file: is needed with tls.cert_file"),
        (
            "[access]\nmax_life = \"1h\"".to_owned(),
            "aro.toml:2: access.max_life: access.default_life (6h) must not be longer than access.max_life (1h)",
        ),
        (
            "[audit]\ncheckpoint_period = \"2m\"".to_owned(),
            "aro.toml:2: audit.checkpoint_period: must be at most 60s, got 2m",
        ),
        (
            "[metrics]\nstatsd_socket = \"tcp:h:1\"".to_owned(),
            "aro.toml:2: metrics.statsd_socket: expected udp:<host>:<port> or unix:<path>",
        ),
        ("[notify]\nretry = \"10m\"".to_owned(), "notify.retry_most: is at least notify.retry"),
        ("[notify]\ntimeout = \"2m\"".to_owned(), "aro.toml:2: notify.timeout: is above 0s and at most 60s"),
        ("[notify]\nkeep = \"1h\"".to_owned(), "aro.toml:2: notify.keep: is at least notify.give_up_after"),
        (
            "[backend]\ncondition_poll = \"2m\"".to_owned(),
            "aro.toml:2: backend.condition_poll: must be at most 60s, got 2m",
        ),
        (
            "[backend]\ncondition_poll = \"1ms\"".to_owned(),
            "aro.toml:2: backend.condition_poll: is at least 100ms: each check calls the cluster or Azure",
        ),
        (
            "[rp]\ninvestigate_kubeconfig_file = \"k\"".to_owned(),
            "rp.investigate_image: is needed with rp.investigate_kubeconfig_file",
        ),
        (
            "[rp]\ninvestigate_timeout = \"1h\"".to_owned(),
            "aro.toml:2: rp.investigate_timeout: is from 10s to 55m: the credential of a pod is good for an hour",
        ),
        (
            "[rp]\ninvestigate_namespace = \"a/b\"".to_owned(),
            "aro.toml:2: rp.investigate_namespace: is a name of lower-case letters, digits and hyphens",
        ),
        (
            "[private_link]\naddress = \"h:1\"".to_owned(),
            "aro.toml:2: private_link.address: has no effect unless private_link.way is \"connect\"",
        ),
        (
            "[portal]\nurl = \"https://h\"\n[proxy]\nurl = \"https://h:1\"".to_owned(),
            "aro.toml:4: proxy.url: must not be the portal's host name h: pages and proxied answers must not share cookies",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(told(read(&text, &[], &[], &[])), [expected], "{text}");
    }
    assert_eq!(told(read("[private_link]\nway = \"connect\"", &[], &[], &[])).len(), 4);
}

#[test]
fn workers_have_the_periods_of_the_contract() {
    let backend = read("", &[], &[], &[]).unwrap().backend;
    let periods = [backend.lease, backend.heartbeat, backend.poll, backend.condition_poll];
    assert_eq!(periods, [60, 10, 10, 10].map(Duration::from_secs));
}

#[test]
fn what_may_be_a_secret_is_never_shown() {
    let told = told(read(
        "[oidc]\nclient_secret_file = [\"hunter2\"]\n[keys]\nkeyring_file = \"hun\\nter2\"\n",
        &[],
        &[],
        &[],
    ));
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|line| !line.contains("hun")), "{told:?}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", value in "\\PC{0,40}", at in 0..CATALOGUE.keys().count()) {
        let key: &Key = CATALOGUE.keys().nth(at).unwrap();
        let name = key.environment();
        let flags = [Override { key: key.path, value: &value, flag: "--x" }];
        let _ = read(&text, &[(&name, &value)], &[], &[key.path]);
        let _ = read(&format!("{text}\n[{text}]\n{value} = {value}"), &[(&value, &text)], &flags, &[]);
        let (section, name) = key.path.split_once('.').unwrap();
        let _ = read(&format!("[{section}]\n{name} = {value}\n"), &[], &[], &[]);
        let _ = read(&format!("[{section}]\n{name} = {value:?}\n"), &[], &[], &[]);
    }
}
