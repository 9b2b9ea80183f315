use super::*;

#[test]
fn the_labels_that_are_read_are_in_order() {
    assert!(KEPT.is_sorted());
}

#[test]
fn only_labels_that_are_read_are_kept() {
    let meta: Meta =
        serde_json::from_str(r#"{"labels": {"os": "x", "other": {"deep": [1]}, "version": null}}"#).unwrap();
    assert_eq!(
        (meta.labels.get("os"), meta.labels.get("other"), meta.labels.get("version")),
        (Some("x"), None, Some(""))
    );
}

#[test]
fn secrets_give_their_certificate_and_never_their_key() {
    let body = r#"{"data": {"tls.crt": "Y2VydA==", "tls.key": "a2V5"}}"#;
    let secret: SecretCertificate = serde_json::from_str(body).unwrap();
    assert!(!format!("{secret:?}").contains("a2V5"));
    assert_eq!(secret.data.certificate.as_str(), "Y2VydA==");
}
