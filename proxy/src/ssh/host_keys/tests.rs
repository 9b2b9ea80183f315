use proptest::prelude::*;
use rp_base::{Clock as _, ManualClock, Secret, Timestamp};
use rp_database::in_memory;
use rp_net::{Credential, DialerOptions, Endpoint, Networks, PrivateWay, SshKey, SshMachine, SshTarget};
use russh::keys::ssh_key::certificate::{Builder, CertType};
use russh::keys::{Certificate, EcdsaCurve, PrivateKey};

use super::lines::MOST_KEYS;
use super::*;
use crate::ssh::machines::MachineRoute;

struct World {
    clock: ManualClock,
    keys: Arc<HostKeys>,
}

fn world() -> World {
    let clock = ManualClock::at(Timestamp::from_seconds(1_700_000_000));
    let shared: SharedClock = Arc::new(clock.clone());
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::default(),
        keepalive: Duration::from_secs(30),
    };
    let keys = HostKeys::new(in_memory(Arc::clone(&shared)), Dialer::new(options), shared);
    World { clock, keys }
}

fn key() -> PrivateKey {
    let algorithm = Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 };
    PrivateKey::random(&mut russh::keys::key::safe_rng(), algorithm).unwrap()
}

fn shown(key: &PrivateKey) -> PublicKeyOrCertificate {
    key.public_key().clone().into()
}

fn import(host_keys: Vec<String>) -> Arc<Target> {
    let none = || Credential::Token(Secret::new("none".to_owned()));
    let machine =
        SshMachine { name: "node-0".to_owned(), address: "10.0.0.7".to_owned(), port: 22, host_keys };
    let key = SshKey::Pem(Secret::new(String::new()));
    let target = Target {
        id: ResourceId::imported("lab").unwrap(),
        source: Source::Imported,
        endpoint: Endpoint::Direct { url: "https://lab.example".parse().unwrap() },
        server_name: "lab.example".to_owned(),
        ca_pem: String::new(),
        read: none(),
        admin: none(),
        as_groups: Vec::new(),
        ssh: Some(SshTarget { user: "core".to_owned(), key, machines: vec![machine] }),
        fingerprint: 0,
    };
    Arc::new(target.fingerprinted())
}

fn machine() -> Machine {
    Machine {
        name: "node-0".to_owned(),
        uid: "uid-0".to_owned(),
        control_plane: false,
        ready: true,
        way: MachineRoute::Direct { host: "10.0.0.7".to_owned(), port: 22 },
    }
}

#[tokio::test]
async fn keys_of_an_import_are_the_machines_and_others_are_refused() {
    let (world, good, bad) = (world(), key(), key());
    let target = import(vec![plain(good.public_key())]);
    world.keys.check(&target, &machine(), &shown(&good)).await.unwrap();
    assert!(world.keys.list(&target.id).await.unwrap().is_empty(), "the import itself says it");
    let refused = world.keys.check(&target, &machine(), &shown(&bad)).await.unwrap_err();
    assert!(matches!(refused, HostKeyError::Changed { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&fingerprint(bad.public_key())), "{refused}");
    let known = world.keys.known(&target, &machine()).await;
    assert_eq!(known.algorithms, [good.algorithm()]);
    world.keys.check(&target, &machine(), &shown(&good)).await.unwrap();

    let id = &target.id;
    let wrong = world.keys.trust(id, "uid-0", "SHA256:other", "root").await;
    assert!(matches!(wrong, Err(TrustError::Another)));
    let trusted = world.keys.trust(id, "uid-0", &fingerprint(bad.public_key()), "root").await.unwrap();
    assert_eq!((trusted.learned, trusted.by.as_deref()), (HostKeySource::Person, Some("root")));
    world.keys.check(&target, &machine(), &shown(&bad)).await.unwrap();
    let old = world.keys.check(&target, &machine(), &shown(&good)).await;
    assert!(matches!(old, Err(HostKeyError::Changed { .. })), "a person's word is above the import's");
}

#[tokio::test]
async fn a_machine_without_keys_waits_for_an_administrator() {
    let (world, first) = (world(), key());
    let target = import(Vec::new());
    assert_eq!(world.keys.known(&target, &machine()).await, KnownKeys::default());
    for _ in 0..2 {
        let refused = world.keys.check(&target, &machine(), &shown(&first)).await;
        assert!(matches!(refused, Err(HostKeyError::Untrusted { .. })), "{refused:?}");
    }
    let nothing = world.keys.trust(&target.id, "uid-1", &fingerprint(first.public_key()), "root").await;
    assert!(matches!(nothing, Err(TrustError::Nothing)));
    world.keys.trust(&target.id, "uid-0", &fingerprint(first.public_key()), "root").await.unwrap();
    world.keys.check(&target, &machine(), &shown(&first)).await.unwrap();
    let again = world.keys.trust(&target.id, "uid-0", &fingerprint(first.public_key()), "root").await;
    assert!(matches!(again, Err(TrustError::Nothing)));
    // Another machine of that name is not known.
    let replaced = Machine { uid: "uid-new".to_owned(), ..machine() };
    let refused = world.keys.check(&target, &replaced, &shown(&first)).await;
    assert!(matches!(refused, Err(HostKeyError::Untrusted { .. })));
    world.keys.forget(&target.id).await.unwrap();
    assert!(world.keys.list(&target.id).await.unwrap().is_empty());
}

struct Signed {
    authority: PrivateKey,
    kind: CertType,
    names: &'static [&'static str],
    from: i64,
    until: i64,
    condition: bool,
}

impl Signed {
    fn good(authority: &PrivateKey) -> Self {
        let (from, until) = (-60, 60);
        Self {
            authority: authority.clone(),
            kind: CertType::Host,
            names: &["node-0"],
            from,
            until,
            condition: false,
        }
    }

    fn certificate(&self, clock: &ManualClock, key: &PrivateKey) -> Certificate {
        let at = |offset: i64| (clock.now().seconds() + offset).unsigned_abs();
        let mut random = russh::keys::key::safe_rng();
        let data = key.public_key().key_data().clone();
        let mut builder =
            Builder::new_with_random_nonce(&mut random, data, at(self.from), at(self.until)).unwrap();
        builder.cert_type(self.kind).unwrap().key_id("node").unwrap();
        for name in self.names {
            builder.valid_principal(*name).unwrap();
        }
        if self.names.is_empty() {
            builder.all_principals_valid().unwrap();
        }
        if self.condition {
            builder.critical_option("source-address", "10.0.0.0/8").unwrap();
        }
        builder.sign(&self.authority).unwrap()
    }
}

#[tokio::test]
async fn certificates_of_a_pinned_authority_are_good_for_their_names_and_time() {
    let (world, authority, host) = (world(), key(), key());
    let target = import(vec![format!("@cert-authority {}", plain(authority.public_key()))]);
    assert_eq!(
        world.keys.known(&target, &machine()).await,
        KnownKeys { algorithms: Vec::new(), certificate: true }
    );
    let check = async |signed: Signed| {
        let certificate = signed.certificate(&world.clock, &host);
        world.keys.check(&target, &machine(), &certificate.into()).await
    };
    check(Signed::good(&authority)).await.unwrap();
    check(Signed { names: &["10.0.0.7"], ..Signed::good(&authority) }).await.unwrap();
    let unfit = [
        Signed { names: &["other"], ..Signed::good(&authority) },
        Signed { names: &[], ..Signed::good(&authority) },
        Signed { until: 0, ..Signed::good(&authority) },
        Signed { from: 30, ..Signed::good(&authority) },
        Signed { kind: CertType::User, ..Signed::good(&authority) },
        Signed { condition: true, ..Signed::good(&authority) },
    ];
    for signed in unfit {
        let refused = check(signed).await;
        assert!(matches!(refused, Err(HostKeyError::Certificate { .. })), "{refused:?}");
    }
    let strange = check(Signed::good(&key())).await;
    assert!(matches!(strange, Err(HostKeyError::Changed { .. })), "{strange:?}");
}

#[tokio::test]
async fn a_certificate_over_a_pinned_key_is_as_good_as_the_key() {
    let (world, host) = (world(), key());
    let target = import(vec![plain(host.public_key())]);
    let certificate = Signed::good(&key()).certificate(&world.clock, &host);
    world.keys.check(&target, &machine(), &certificate.into()).await.unwrap();
}

#[test]
fn the_daemons_answer_is_read_line_by_line() {
    let (one, two) = (plain(key().public_key()), plain(key().public_key()));
    let text = format!("{one} root@node\n\nnonsense\nssh-dss AAAA\n{two}\n{one}\n");
    assert_eq!(read_keys(&text), [one.clone(), two]);
    assert!(read_keys(&format!("@cert-authority {one}")).is_empty(), "a machine names no authorities");
    let many: String = (0..40).map(|_| plain(key().public_key()) + "\n").collect();
    assert_eq!(read_keys(&many).len(), MOST_KEYS);
    assert_eq!(normal(&format!("{one}\n{one}")), None);
}

proptest! {
    #[test]
    fn any_answer_is_read(text in "\\PC{0,400}") {
        prop_assert!(read_keys(&text).is_empty());
    }
}
