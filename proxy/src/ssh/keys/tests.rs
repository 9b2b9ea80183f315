use std::sync::Arc;
use std::time::Duration;

use rp_base::{ManualClock, SystemRandom};
use rp_database::{Typed, in_memory};
use rp_documents::ServiceKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::rand_core::CryptoRng;

use super::*;

fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000)
}

fn parts(fips: bool) -> KeyParts {
    let clock: SharedClock = Arc::new(ManualClock::at(now()));
    KeyParts {
        store: in_memory(Arc::clone(&clock)),
        keyring: Keyring::generate(&SystemRandom),
        clock,
        settings: rp_config::Ssh { fips, ..rp_config::Ssh::default() },
    }
}

fn random() -> impl CryptoRng {
    russh::keys::key::safe_rng()
}

fn person() -> PrivateKey {
    PrivateKey::random(&mut random(), Algorithm::Ed25519).unwrap()
}

#[tokio::test]
async fn replicas_that_begin_at_once_have_the_same_keys() {
    let parts = Arc::new(parts(false));
    let opening = (0..6).map(|_| {
        let parts = Arc::clone(&parts);
        tokio::spawn(async move { ServiceKeys::open(&parts).await.unwrap() })
    });
    let mut lines = Vec::new();
    for opened in opening.collect::<Vec<_>>() {
        lines.push(opened.await.unwrap().known_hosts("ssh.example", 2222));
    }
    assert_eq!(lines[0].len(), 2);
    assert!(lines[0][0].starts_with("@cert-authority [ssh.example]:2222 ssh-ed25519 "), "{lines:?}");
    assert!(lines[0][1].starts_with("[ssh.example]:2222 ssh-ed25519 "), "{lines:?}");
    assert!(lines.iter().all(|other| *other == lines[0]));
    let keys: Typed<ServiceKey> = Typed::new(Arc::clone(&parts.store));
    let stored = keys.all().await.unwrap();
    assert_eq!(stored.len(), 3);
    assert!(stored.iter().all(|key| !serde_json::to_string(&key.value).unwrap().contains("PRIVATE")));
}

#[tokio::test]
async fn curves_of_nist_are_there_in_fips_mode_only() {
    let mut parts = parts(false);
    let modern = ServiceKeys::open(&parts).await.unwrap();
    parts.settings.fips = true;
    let fips = ServiceKeys::open(&parts).await.unwrap();
    let curve = |key: &PublicKey| matches!(key.algorithm(), Algorithm::Ecdsa { .. });
    assert!(curve(fips.host_ca()) && curve(fips.user_ca()));
    let own = modern.host_keys();
    let mut all = own.iter().map(PrivateKey::public_key).chain([modern.host_ca(), modern.user_ca()]);
    assert!(all.all(|key| key.algorithm() == Algorithm::Ed25519), "{modern:?}");
    let algorithms: Vec<_> = fips.host_keys().iter().map(PrivateKey::algorithm).collect();
    assert!(matches!(algorithms[..], [Algorithm::Rsa { .. }, Algorithm::Ecdsa { .. }]), "{algorithms:?}");
    assert!(fips.known_hosts_line("h", 22).starts_with("h ssh-rsa "));
}

#[tokio::test]
async fn a_file_takes_the_place_of_a_host_key() {
    let folder = tempfile::tempdir().unwrap();
    let (path, key) = (folder.path().join("key"), person());
    std::fs::write(&path, key.to_openssh(LineEnding::LF).unwrap().as_bytes()).unwrap();
    let mut parts = parts(false);
    parts.settings.key_files = vec![path.clone()];
    let keys = ServiceKeys::open(&parts).await.unwrap();
    assert_eq!(keys.host_keys()[0].public_key().key_data(), key.public_key().key_data());
    parts.settings.fips = true;
    assert!(matches!(ServiceKeys::open(&parts).await, Err(KeysError::Algorithm(_))));
    std::fs::write(&path, "nonsense").unwrap();
    assert!(matches!(ServiceKeys::open(&parts).await, Err(KeysError::Read(_))));
    parts.settings.key_files = vec![folder.path().join("none")];
    assert!(matches!(ServiceKeys::open(&parts).await, Err(KeysError::File { .. })));
}

#[tokio::test]
async fn a_certificate_opens_its_grant_for_its_time_and_no_other() {
    let keys = ServiceKeys::open(&parts(false)).await.unwrap();
    let (id, key) = (Id::random(&SystemRandom), person());
    let until = now() + Duration::from_secs(600);
    let certificate = keys.user_certificate(key.public_key(), &id, now(), until).unwrap();
    assert_eq!(keys.grant_of(&certificate, now()), Some(id.clone()));
    assert_eq!(keys.grant_of(&certificate, until), None, "its time is over");
    let other = ServiceKeys::open(&parts(false)).await.unwrap();
    assert_eq!(other.grant_of(&certificate, now()), None, "another authority");
    let host = keys.host_certificates(&["ssh.example".to_owned()], now()).unwrap();
    assert_eq!(host.len(), 1, "Ed25519 and no other");
    assert_eq!(keys.grant_of(&host[0], now()), None, "a host's");
    assert_eq!(host[0].valid_principals(), ["ssh.example"]);
}

#[tokio::test]
async fn certificates_with_conditions_or_other_names_open_nothing() {
    let keys = ServiceKeys::open(&parts(false)).await.unwrap();
    let (id, key) = (Id::random(&SystemRandom), person());
    let sign = |change: &dyn Fn(&mut Builder)| {
        let mut builder = builder(key.public_key(), seconds(now()), seconds(now()) + 60).unwrap();
        builder.cert_type(CertType::User).unwrap().key_id(id.as_str()).unwrap();
        change(&mut builder);
        keys.grant_of(&builder.sign(&keys.user_ca).unwrap(), now())
    };
    let own = |builder: &mut Builder| {
        builder.valid_principal(id.as_str()).unwrap();
    };
    assert_eq!(sign(&own), Some(id.clone()));
    assert_eq!(
        sign(&|builder| {
            own(builder);
            builder.critical_option("force-command", "true").unwrap();
        }),
        None
    );
    assert_eq!(
        sign(&|builder| {
            own(builder);
            builder.valid_principal("root").unwrap();
        }),
        None
    );
    assert_eq!(
        sign(&|builder| {
            builder.all_principals_valid().unwrap();
        }),
        None
    );
}

#[test]
fn public_keys_of_people_are_strong() {
    let line = person().public_key().to_openssh().unwrap();
    assert!(person_key(&line, false).is_ok() && person_key(&line, true).is_err());
    for wrong in ["", "ssh-ed25519", "ssh-dss AAAAB3NzaC1kc3MAAAA=", &"a".repeat(10_000)] {
        assert!(person_key(wrong, false).is_err());
    }
}

#[test]
fn a_stored_pkcs1_key_signs_in() {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'static> = pair.as_der().unwrap();
    // Version, algorithm (15 bytes with its head), then the octets' head: the key itself is PKCS#1.
    let at = der.as_ref().windows(4).skip(1).position(|four| four[0] == 0x30 && four[1] == 0x82).unwrap() + 1;
    let der = Secret::new(der.as_ref()[at..].to_vec());
    let target = SshTarget { user: "core".to_owned(), key: SshKey::Pkcs1Der(der), machines: Vec::new() };
    assert!(matches!(machine_key(&target).unwrap().algorithm(), Algorithm::Rsa { .. }));
}
