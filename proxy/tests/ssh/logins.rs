//! Who gets in.

use std::time::Duration;

use rp_base::{Clock as _, Id, SystemClock, SystemRandom};
use rp_documents::{GrantKind, Rights};
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::certificate::{Builder, CertType};
use russh::keys::{Algorithm, PrivateKey};

use crate::world::{Setup, World, write};

#[tokio::test(flavor = "multi_thread")]
async fn a_one_time_password_works_once() {
    let world = World::new().await;
    let issued = world.issue().await;
    let client = world.with_password(issued.token.expose());
    let ran = client.run("echo in").await;
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "in\n"), "{}", ran.err);
    let again = client.run("echo in").await;
    assert_eq!((again.code, again.out.len()), (Some(255), 0), "{}", again.err);
    assert!(again.err.contains("Permission denied"), "{}", again.err);
    let login = world.audited("the sign-in", |e| e.verb == "ssh.login" && e.result.word == "ok").await;
    assert_eq!(login.query, "password");
    let refused = world.audited("the refusal", |e| e.verb == "ssh.login" && e.result.word == "refused").await;
    assert_eq!((refused.actor.name.as_str(), refused.query.as_str()), ("ada", "1 refused"));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_wrong_people_and_other_tokens_are_refused() {
    let world = World::new().await;
    let issued = world.issue().await;
    let other = world.issue_with(|ask| {
        ask.kind = GrantKind::Kubeconfig;
        ask.rights = Rights::Read;
        ask.machine = None;
    });
    let other = other.await;
    for password in ["", "x", other.token.expose(), "aro1_ssh_a_b_c", "00000000-0000-0000-0000-000000000000"]
    {
        let ran = world.with_password(password).run("echo in").await;
        assert_eq!((ran.code, ran.out.len()), (Some(255), 0), "{password}");
    }
    let mut eve = world.with_password(issued.token.expose()).program("ssh");
    eve.args(["eve@127.0.0.1", "echo in"]);
    assert_eq!(crate::world::done(eve).await.code, Some(255));
    // A wrong person's try leaves the password as it was.
    let ran = world.with_password(issued.token.expose()).run("echo in").await;
    assert_eq!(ran.text(), "in\n", "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_whose_time_is_over_opens_nothing_while_its_access_lives() {
    let world = World::with(Setup { password_life: Duration::ZERO, ..Setup::default() }).await;
    let issued = world.issue().await;
    let ran = world.with_password(issued.token.expose()).run("echo in").await;
    assert_eq!((ran.code, ran.out.len()), (Some(255), 0), "{}", ran.err);
    assert!(ran.err.contains("Permission denied"), "{}", ran.err);
    assert_eq!(world.client(&issued).await.run("echo in").await.text(), "in\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_access_opens_nothing() {
    let world = World::new().await;
    let issued = world.issue().await;
    let (client, password) = (world.client(&issued).await, world.with_password(issued.token.expose()));
    world.revoke(&issued).await;
    assert_eq!(client.run("echo in").await.code, Some(255));
    assert_eq!(password.run("echo in").await.code, Some(255));
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_keys_and_certificates_of_others_open_nothing() {
    let world = World::new().await;
    let issued = world.issue().await;
    let file = world.folder.path().join("bare");
    let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    write(&file, key.to_openssh(LineEnding::LF).unwrap().as_str(), 0o600);
    let bare = world.plain_client(Some(&file));
    assert_eq!(bare.run("echo in").await.code, Some(255));

    // A certificate with the same content, signed by another authority.
    let now = u64::try_from(SystemClock.now().seconds()).unwrap();
    let mut rng = russh::keys::key::safe_rng();
    let public = key.public_key().key_data().clone();
    let mut builder = Builder::new_with_random_nonce(&mut rng, public, now - 60, now + 600).unwrap();
    builder.cert_type(CertType::User).unwrap();
    builder.key_id(issued.grant.id.as_str()).unwrap().valid_principal(issued.grant.id.as_str()).unwrap();
    let theirs = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    let certificate = builder.sign(&theirs).unwrap().to_openssh().unwrap();
    write(&world.folder.path().join("bare-cert.pub"), &certificate, 0o600);
    assert_eq!(bare.run("echo in").await.code, Some(255));
    world.audited("the refusal", |e| e.verb == "ssh.login" && e.result.word == "refused").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_certificate_and_one_of_an_unknown_grant_open_nothing() {
    let world = World::new().await;
    let issued = world.issue().await;
    let file = world.folder.path().join("late");
    let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    write(&file, key.to_openssh(LineEnding::LF).unwrap().as_str(), 0o600);
    let now = SystemClock.now();
    let hour = Duration::from_secs(3600);
    let late =
        world.keys.user_certificate(key.public_key(), &issued.grant.id, now - hour, now - hour / 2).unwrap();
    let unknown = Id::random(&SystemRandom);
    let unknown = world.keys.user_certificate(key.public_key(), &unknown, now, now + hour).unwrap();
    for certificate in [late, unknown] {
        write(&world.folder.path().join("late-cert.pub"), &certificate.to_openssh().unwrap(), 0o600);
        assert_eq!(world.plain_client(Some(&file)).run("echo in").await.code, Some(255));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_without_a_machine_takes_the_one_that_the_user_names() {
    let world = World::new().await;
    let issued = world.issue_with(|ask| ask.machine = None).await;
    let client = world.client(&issued).await;
    let as_user = async |user: &str| {
        let mut ssh = client.program("ssh");
        ssh.args([&format!("{user}@127.0.0.1"), "echo in"]);
        crate::world::done(ssh).await
    };
    assert_eq!(as_user("node-0").await.text(), "in\n");
    assert_eq!(as_user("ada+node-0").await.text(), "in\n");
    let unknown = as_user("node-9").await;
    assert!(unknown.err.contains("no machine node-9"), "{}", unknown.err);
    let nobody = as_user("ada").await;
    assert!(nobody.err.contains("say which machine: sign in as ada+MACHINE"), "{}", nobody.err);
}
