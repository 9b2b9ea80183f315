use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::*;

/// 1 February of a year, in Unix seconds, and a self-signed pair for `a.example` that ends then.
fn pair(year: i32) -> (i64, String, String) {
    let mut params = CertificateParams::new(vec!["a.example".to_owned(), "*.b.example".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 2, 1);
    let key = KeyPair::generate().unwrap();
    (params.not_after.unix_timestamp(), params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[test]
fn names_and_the_first_end_are_read_from_certificates() {
    let ((soon, first, _), (later, second, _)) = (pair(2030), pair(2040));
    let read = |pem: &str| certificates(pem, "test").unwrap();
    assert_eq!(first_end(&read(&second)), Some(later));
    assert_eq!(first_end(&read(&format!("{second}{first}"))), Some(soon));
    assert_eq!(first_end(&[]), None);
    let leaf = &read(&first)[0];
    for (name, carried) in
        [("a.example", true), ("A.example", true), ("x.b.example", true), ("b.example", false)]
    {
        assert_eq!(carries_name(leaf, name), carried, "{name}");
    }
    assert!(!carries_name(leaf, "10.0.0.1") && !carries_name(leaf, ""));
}

#[test]
fn the_end_of_the_certificate_in_use_is_a_metric() {
    let place = std::env::temp_dir().join(format!("rp-net-tls-{}", std::process::id()));
    let files = ServerFiles { certificate: place.with_extension("pem"), key: place.with_extension("key") };
    let put = |year: i32| {
        let (end, certificate, key) = pair(year);
        std::fs::write(&files.certificate, certificate).unwrap();
        std::fs::write(&files.key, key).unwrap();
        end
    };
    let registry = Registry::new();
    let shown = |end: i64| {
        let line = format!("aro_tls_certificate_not_after_timestamp_seconds{{listener=\"portal\"}} {end}\n");
        registry.render().contains(&line)
    };
    let end = put(2030);
    let tls = ServerTls::load(files.clone(), &[], ClientAuth::None).unwrap();
    tls.show_end(&registry, "portal");
    assert!(shown(end), "{}", registry.render());
    let end = put(2040);
    tls.reload().unwrap();
    assert!(shown(end), "{}", registry.render());
    for file in [&files.certificate, &files.key] {
        std::fs::remove_file(file).unwrap();
    }
}
