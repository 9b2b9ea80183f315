//! A CA of this folder and a leaf for `localhost` and `127.0.0.1`.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rp_base::{Clock, Timestamp};

use crate::folder::{read_text, write_private, write_public};

const DAY: u64 = 86_400;
/// Browsers refuse leaves of more than 398 days.
const LEAF_LIFE: Duration = Duration::from_secs(90 * DAY);
const CA_LIFE: Duration = Duration::from_secs(3650 * DAY);

/// Makes what is missing: `ca.pem`, `ca.key`, `server.pem`, `server.key`. The leaf is new at each start.
pub(crate) fn ensure(folder: &Path, clock: &dyn Clock) -> anyhow::Result<()> {
    let now = clock.now();
    let ca_key = folder.join("ca.key");
    let key = if ca_key.exists() {
        KeyPair::from_pem(&read_text(&ca_key)?).context("ca.key")?
    } else {
        let key = KeyPair::generate()?;
        write_private(&ca_key, &key.serialize_pem())?;
        key
    };
    // The same key and name give the same CA, so clients that trusted it before still do.
    let ca_file = folder.join("ca.pem");
    let fresh = !ca_file.exists();
    let ca = CertifiedIssuer::self_signed(ca_params(now), key)?;
    if fresh {
        write_public(&ca_file, &ca.pem())?;
    }
    let leaf_key = KeyPair::generate()?;
    let leaf = leaf_params(now)?.signed_by(&leaf_key, &ca)?;
    write_public(&folder.join("server.pem"), &leaf.pem())?;
    write_private(&folder.join("server.key"), &leaf_key.serialize_pem())
}

fn ca_params(now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "aro-dev CA of this folder");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = (now - Duration::from_secs(DAY)).to_datetime();
    params.not_after = (now + CA_LIFE).to_datetime();
    params
}

fn leaf_params(now: Timestamp) -> anyhow::Result<CertificateParams> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "localhost");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    params.not_before = (now - Duration::from_secs(DAY)).to_datetime();
    params.not_after = (now + LEAF_LIFE).to_datetime();
    Ok(params)
}
