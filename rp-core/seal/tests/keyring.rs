//! The keyring as its callers see it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use rp_base::SystemRandom;
use rp_documents::Sealed;
use rp_seal::{Keyring, SealError, SealVersion};

const AAD: &str = "ImportedClusters/harbor/sealed";

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn keys(current: &str, ids: &[(&str, u8)]) -> String {
    let keys: Vec<_> =
        ids.iter().map(|(id, b)| format!(r#""{id}":"{}""#, STANDARD.encode([*b; 32]))).collect();
    format!(r#"{{"current":"{current}","keys":{{{}}}}}"#, keys.join(","))
}

fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("keys.json");
    write(&path, text, 0o600);
    path
}

#[test]
fn opens_what_it_sealed_in_the_same_place_only() {
    let keyring = Keyring::generate(&SystemRandom);
    for plain in [b"".as_slice(), b"hunter2", &[0xff; 100_000]] {
        let sealed = keyring.seal(plain, AAD).unwrap();
        assert!(sealed.0.starts_with("v3.k1."), "{}", &sealed.0[..6]);
        assert_eq!(keyring.open(&sealed, AAD).unwrap().expose(), plain);
        assert_ne!(sealed, keyring.seal(plain, AAD).unwrap(), "a nonce was used twice");
        for other in ["", "ImportedClusters/harbor/seale", "ImportedClusters/other/sealed"] {
            assert!(matches!(keyring.open(&sealed, other), Err(SealError::Unopenable)));
        }
    }
    let sealed = keyring.seal(b"hunter2", AAD).unwrap();
    let stranger = Keyring::generate(&SystemRandom);
    assert!(matches!(stranger.open(&sealed, AAD), Err(SealError::Unopenable)), "same id, other key");
}

#[test]
fn any_flipped_bit_is_found() {
    let keyring = Keyring::generate(&SystemRandom);
    let sealed = keyring.seal(b"0123456789", AAD).unwrap();
    let body = URL_SAFE_NO_PAD.decode(sealed.0.rsplit('.').next().unwrap()).unwrap();
    for bit in 0..body.len() * 8 {
        let mut damaged = body.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let damaged = Sealed(format!("v3.k1.{}", URL_SAFE_NO_PAD.encode(damaged)));
        assert!(matches!(keyring.open(&damaged, AAD), Err(SealError::Unopenable)), "bit {bit}");
    }
    for cut in 0..sealed.0.len() {
        let outcome = keyring.open(&Sealed(sealed.0[..cut].to_owned()), AAD);
        assert!(matches!(outcome, Err(SealError::Unopenable | SealError::UnknownKey(_))), "cut at {cut}");
    }
}

#[test]
fn a_value_cannot_be_given_to_another_key_id() {
    let folder = tempfile::tempdir().unwrap();
    // The same bytes under two ids: the id itself is bound.
    let keyring = Keyring::open_file(&file(&folder, &keys("k1", &[("k1", 7), ("k2", 7)]))).unwrap();
    let sealed = keyring.seal(b"x", AAD).unwrap();
    let moved = Sealed(sealed.0.replacen("v3.k1.", "v3.k2.", 1));
    assert!(matches!(keyring.open(&moved, AAD), Err(SealError::Unopenable)));
}

#[test]
fn rotation_opens_the_old_and_seals_with_the_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &keys("k1", &[("k1", 1)]));
    let keyring = Keyring::open_file(&path).unwrap();
    let clone = keyring.clone();
    let old = keyring.seal(b"old", AAD).unwrap();
    assert!(!keyring.reload().unwrap(), "nothing changed");

    write(&path, &keys("k2", &[("k1", 1), ("k2", 2)]), 0o600);
    assert!(keyring.reload().unwrap());
    let new = clone.seal(b"new", AAD).unwrap();
    assert!(new.0.starts_with("v3.k2."), "a clone has the old keys");
    assert_eq!(clone.open(&old, AAD).unwrap().expose(), b"old");

    // A file that became unreadable changes nothing.
    write(&path, "{", 0o600);
    assert!(matches!(keyring.reload(), Err(SealError::Form { .. })));
    assert_eq!(keyring.open(&new, AAD).unwrap().expose(), b"new");

    // The old key retires.
    write(&path, &keys("k2", &[("k2", 2)]), 0o600);
    assert!(keyring.reload().unwrap());
    assert!(matches!(keyring.open(&old, AAD), Err(SealError::UnknownKey(id)) if id == "k1"));
}

#[test]
fn an_unknown_key_makes_it_read_the_file_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &keys("k1", &[("k1", 1)]));
    let reader = Keyring::open_file(&path).unwrap();
    write(&path, &keys("k2", &[("k1", 1), ("k2", 2)]), 0o600);
    let sealed = Keyring::open_file(&path).unwrap().seal(b"x", AAD).unwrap();
    // At most once a second: wait for it to be allowed, however slow or quick the machine is.
    let began = std::time::Instant::now();
    loop {
        match reader.open(&sealed, AAD) {
            Ok(plain) => break assert_eq!(plain.expose(), b"x"),
            Err(SealError::UnknownKey(_)) => {}
            Err(other) => panic!("{other}"),
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "never read again");
        std::thread::yield_now();
    }
}

#[test]
fn files_open_to_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &keys("k1", &[("k1", 1)]));
    for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
        write(&path, &keys("k1", &[("k1", 1)]), mode);
        // Files of root's have a rule of their own; a user that is not root owns the file already.
        let _ = std::os::unix::fs::chown(&path, Some(65_534), None);
        let refused = Keyring::open_file(&path);
        assert!(matches!(refused, Err(SealError::Open { mode: told, .. }) if told == mode), "{refused:?}");
        assert!(refused.unwrap_err().to_string().contains("chmod 600"));
        assert!(Keyring::open_or_create(&path, &SystemRandom).is_err(), "made a new one over it");
    }
    write(&path, &keys("k1", &[("k1", 1)]), 0o400);
    Keyring::open_file(&path).unwrap();
}

#[test]
fn files_of_another_form_are_refused_without_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let short = STANDARD.encode([1; 31]);
    let good = STANDARD.encode([1; 32]);
    for text in [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        keys("k1", &[]),
        keys("k3", &[("k1", 1)]),
        keys("K1", &[("K1", 1)]),
        keys("a.b", &[("a.b", 1)]),
        format!(r#"{{"current":"k1","keys":{{"k1":"{short}"}}}}"#),
        r#"{"current":"k1","keys":{"k1":"hunter2!"}}"#.to_owned(),
        r#"{"current":"k1","keys":{"k1":["hunter2"]}}"#.to_owned(),
        format!(r#"{{"current":"k1","keys":{{"k1":"{good}"}},"extra":1}}"#),
        format!("{}{}", keys("k1", &[("k1", 1)]), " ".repeat(300_000)),
    ] {
        let refused = Keyring::open_file(&file(&folder, &text)).unwrap_err();
        assert!(matches!(refused, SealError::Form { .. }), "{refused:?}");
        let told = format!("{refused:?} {}", rp_base::chain(&refused));
        assert!(!told.contains("hunter2") && !told.contains(&good) && !told.contains(&short), "{told}");
    }
    assert!(matches!(Keyring::open_file(&folder.path().join("none")), Err(SealError::File { .. })));
    assert!(Keyring::open_file(folder.path()).is_err(), "a folder is no key file");
}

#[test]
fn makes_its_file_once_for_the_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let made: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> =
            (0..8).map(|_| scope.spawn(|| Keyring::open_or_create(&path, &SystemRandom).unwrap())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let sealed = made[0].seal(b"x", AAD).unwrap();
    for keyring in &made {
        assert_eq!(keyring.open(&sealed, AAD).unwrap().expose(), b"x", "two started with different keys");
    }
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["keys.json"], "something was left behind");
    assert!(Keyring::open_or_create(&folder.path().join("none/keys.json"), &SystemRandom).is_err());

    // A dangling link: not followed, not replaced.
    let link = folder.path().join("link.json");
    symlink(folder.path().join("nowhere"), &link).unwrap();
    assert!(Keyring::open_or_create(&link, &SystemRandom).is_err());
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn derives_by_purpose_the_current_key_first() {
    let folder = tempfile::tempdir().unwrap();
    let keyring =
        Keyring::open_file(&file(&folder, &keys("k2", &[("k1", 1), ("k2", 2), ("k3", 3)]))).unwrap();
    let derived = keyring.derive("cookies");
    let ids: Vec<_> = derived.iter().map(|key| key.key_id.as_str()).collect();
    assert_eq!(ids, ["k2", "k3", "k1"]);
    assert_eq!(derived[0].bytes.expose(), keyring.derive("cookies")[0].bytes.expose());
    assert_ne!(derived[0].bytes.expose(), derived[1].bytes.expose());
    assert_ne!(derived[0].bytes.expose(), keyring.derive("tokens")[0].bytes.expose());
    assert_ne!(derived[0].bytes.expose(), &[2; 32]);
}

#[test]
fn nothing_of_a_key_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = Keyring::open_file(&file(&folder, &keys("k1", &[("k1", 65)]))).unwrap();
    let told = format!("{keyring:?} {:?}", keyring.derive("x"));
    assert!(!told.contains("AAAA") && !told.contains("65, 65") && told.contains("REDACTED"), "{told}");
}

proptest! {
    #[test]
    fn garbage_never_panics(text in "\\PC{0,200}", key in "[a-z0-9-]{0,34}", body in "[A-Za-z0-9_=-]{0,120}") {
        let keyring = Keyring::generate(&SystemRandom);
        for sealed in [text, format!("v3.k1.{body}"), format!("v3.{key}.{body}"), format!("v3.k1.{body}.{body}")] {
            prop_assert!(keyring.open(&Sealed(sealed), AAD).is_err());
        }
    }

    #[test]
    fn round_trips(plain in prop::collection::vec(any::<u8>(), 0..500), aad in "\\PC{0,60}") {
        let keyring = Keyring::generate(&SystemRandom);
        let sealed = keyring.seal(&plain, &aad).unwrap();
        let opened = keyring.open(&sealed, &aad).unwrap();
        prop_assert_eq!(opened.expose(), &plain);
        let other = format!("{}x", aad);
        prop_assert!(keyring.open(&sealed, &other).is_err());
    }
}

#[test]
fn a_new_key_is_added_used_and_forgotten_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &keys("k1", &[("k1", 1), ("spare", 2)]));
    let (one, other) = (Keyring::open_file(&path).unwrap(), Keyring::open_file(&path).unwrap());
    let old = one.seal(b"old", AAD).unwrap();
    assert_eq!(one.rotate(true, &SystemRandom).unwrap(), "k2");
    let new = one.seal(b"new", AAD).unwrap();
    assert_eq!(Keyring::key_of(&new.0), Some("k2"));
    // Old ones open here, new ones there, where the file is read again.
    assert_eq!(one.open(&old, AAD).unwrap().expose(), b"old");
    assert!(other.reload().unwrap());
    assert_eq!(other.open(&new, AAD).unwrap().expose(), b"new");
    // Brought everywhere before it is used.
    assert_eq!(one.rotate(false, &SystemRandom).unwrap(), "k3");
    assert_eq!(one.ids().current, "k2");
    one.use_key("k3", &SystemRandom).unwrap();
    assert_eq!(one.ids().all, ["k1", "k2", "k3", "spare"]);
    assert!(matches!(one.use_key("k9", &SystemRandom), Err(SealError::UnknownKey(_))));
    assert!(matches!(one.forget("k3", &SystemRandom), Err(SealError::Current(_))));
    one.forget("k1", &SystemRandom).unwrap();
    assert!(matches!(one.open(&old, AAD), Err(SealError::UnknownKey(id)) if id == "k1"));
    assert_eq!(one.open(&new, AAD).unwrap().expose(), b"new");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(matches!(Keyring::generate(&SystemRandom).rotate(true, &SystemRandom), Err(SealError::NoFile)));
}

#[test]
fn two_who_rotate_at_once_lose_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, &keys("k1", &[("k1", 1)]));
    let rotations = (0..8).map(|_| {
        let keyring = Keyring::open_file(&path).unwrap();
        std::thread::spawn(move || keyring.rotate(true, &SystemRandom).unwrap())
    });
    let made: std::collections::BTreeSet<_> =
        rotations.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(made.len(), 8);
    assert_eq!(Keyring::open_file(&path).unwrap().ids().all.len(), 9);
}

#[test]
fn older_forms_open_with_legacy_keys_only_and_survive_a_rotation() {
    // `contract/database.md` §11.3.
    let old = Sealed(
        "AAECAwQFBgcICQoLDA0OD0RqzgelPXexsvzJd2Xg+/5HdVXAq8Tlu5zGNxyTKIChab0FViHwiWe8cclNoVxF1Q==".to_owned(),
    );
    let key: Vec<u8> = (0..64).collect();
    let folder = tempfile::tempdir().unwrap();
    let text = keys("k1", &[("k1", 1)]);
    let path = file(&folder, &text);
    let keyring = Keyring::open_file(&path).unwrap();
    assert!(matches!(keyring.open(&old, AAD), Err(SealError::Unopenable)));
    let legacy = format!(r#","legacy":{{"v2":["{}"]}}}}"#, STANDARD.encode(key));
    write(&path, &text.replacen("}}", &format!("}}{legacy}"), 1), 0o600);
    assert!(keyring.reload().unwrap());
    keyring.rotate(true, &SystemRandom).unwrap();
    let (plain, form) = keyring.open_any(&old, AAD).unwrap();
    assert_eq!((plain.expose().as_slice(), form), (b"test".as_slice(), SealVersion::V2));
    assert_eq!(keyring.open(&old, AAD).unwrap().expose(), b"test");
}
