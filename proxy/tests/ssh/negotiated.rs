//! What the two sides agree on, and what they must not.

use crate::world::{Setup, World, done, settings};

#[tokio::test(flavor = "multi_thread")]
async fn key_exchange_is_strict_and_modern() {
    let world = World::new().await;
    let ran = done(world.granted().await.option("LogLevel=DEBUG3").ssh(&[], &["true"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("will use strict KEX ordering"), "{}", ran.err);
    let agreed = ran.err.lines().find(|line| line.contains("kex: algorithm:")).unwrap_or_default();
    // OpenSSH from 9.9 on has ML-KEM.
    assert!(agreed.contains("curve25519-sha256") || agreed.contains("mlkem768x25519-sha256"), "{agreed}");
    assert!(
        ran.err.contains("cipher: aes256-gcm@openssh.com")
            || ran.err.contains("cipher: aes128-gcm@openssh.com")
    );
    let offered = ran.err.split("peer server KEXINIT proposal").nth(1).unwrap_or_default();
    assert!(offered.contains("mlkem768x25519-sha256"), "{offered}");
    assert!(ran.err.contains("Server host certificate"), "{}", ran.err);
    let shown = offered.lines().find(|line| line.contains("host key algorithms:")).unwrap_or_default();
    assert!(shown.contains("ssh-ed25519") && !shown.contains("nistp"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_algorithms_are_refused() {
    let world = World::new().await;
    for option in [
        "Ciphers=aes128-cbc",
        "Ciphers=3des-cbc",
        "Ciphers=aes256-ctr",
        "Ciphers=chacha20-poly1305@openssh.com",
        "KexAlgorithms=diffie-hellman-group14-sha1",
        "KexAlgorithms=diffie-hellman-group1-sha1",
        "KexAlgorithms=diffie-hellman-group-exchange-sha1",
        "HostKeyAlgorithms=ssh-rsa",
        "HostKeyAlgorithms=ecdsa-sha2-nistp256",
    ] {
        let ran = world.granted().await.option("LogLevel=INFO").option(option).run("echo in").await;
        assert_eq!((ran.code, ran.out.len()), (Some(255), 0), "{option}");
        assert!(ran.err.contains("no matching"), "{option}: {}", ran.err);
    }
}

/// `contract/portal.md` §16.1 towards machines, as long as nobody asks for more.
#[tokio::test(flavor = "multi_thread")]
async fn machines_are_offered_the_contracts_algorithms() {
    let settings = rp_config::Ssh { modern_machines: false, ..settings() };
    let world = World::with(Setup { settings, ..Setup::default() }).await;
    let ran = world.granted().await.run("echo in").await;
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "in\n"), "{}", ran.err);
}

/// `contract/portal.md` §15 names these algorithms in the command that people paste.
#[tokio::test(flavor = "multi_thread")]
async fn fips_agrees_on_the_contracts_algorithms_only() {
    let settings = rp_config::Ssh { fips: true, ..settings() };
    let world = World::with(Setup { settings, ..Setup::default() }).await;
    world.cluster(world.machine.port, vec![world.machine.host_key.clone()]);
    let issued = world.issue().await;
    let client = world.with_password(issued.token.expose());
    let modern =
        client.clone().option("LogLevel=INFO").option("KexAlgorithms=curve25519-sha256").run("true").await;
    assert!(modern.err.contains("no matching key exchange method"), "{}", modern.err);
    let contract = client
        .option("Ciphers=aes256-ctr")
        .option("HostKeyAlgorithms=rsa-sha2-512")
        .option("KexAlgorithms=ecdh-sha2-nistp256")
        .option("MACs=hmac-sha2-256-etm@openssh.com");
    let ran = contract.run("true").await;
    // The machine here has an Ed25519 key, which FIPS does not know: people are told, and the password was good.
    assert_eq!(ran.code, Some(255));
    assert!(!ran.err.contains("no matching") && !ran.err.contains("Permission denied"), "{}", ran.err);
    world.audited("the sign-in", |e| e.verb == "ssh.login" && e.result.word == "ok").await;
}
