//! Key vaults: `/vault/NAME/certificates/…`, `/vault/NAME/secrets/…`. Every vault is there.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::{Method, StatusCode};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rp_base::Timestamp;
use serde_json::{Value, json};

use super::functions::guid;
use super::response::{ArmResponse, failure};
use super::world::World;

/// Certificates and secrets of all vaults.
const MOST: usize = 100_000;
const DAY: Duration = Duration::from_hours(24);

#[derive(Debug, Default)]
pub(super) struct Vaults {
    /// By vault and name.
    certificates: BTreeMap<(String, String), Certificate>,
    secrets: BTreeMap<(String, String), Value>,
    /// How long an issuer takes.
    pub(super) time: Duration,
}

#[derive(Debug)]
struct Certificate {
    policy: Value,
    /// The newest order is done then.
    ready: Timestamp,
    /// It is not made yet.
    pending: bool,
}

/// Answers a request whose path begins with `/vault/`.
pub(super) fn answer(world: &World, method: &Method, path: &str, body: &Value) -> ArmResponse {
    let words: Vec<&str> = path.trim_start_matches("/vault/").trim_end_matches('/').split('/').collect();
    let mut vaults = world.vaults.lock();
    let of = |vault: &str, name: &str| (vault.to_ascii_lowercase(), name.to_ascii_lowercase());
    if vaults.certificates.len() + vaults.secrets.len() > MOST {
        return failure(StatusCode::INSUFFICIENT_STORAGE, "SimulatorFull", "There are too many.");
    }
    match words.as_slice() {
        [vault, "certificates", name, rest @ ..] => {
            let key = of(vault, name);
            if let Err(refused) = vaults.issue(world, &key) {
                return refused;
            }
            vaults.certificate(world, method, &key, rest, body)
        }
        [vault, "secrets", name, ..] => {
            let key = of(vault, name);
            if let Err(refused) = vaults.issue(world, &key) {
                return refused;
            }
            vaults.secret(world, method, &key, body)
        }
        _ => failure(StatusCode::NOT_FOUND, "NotFound", "There is nothing at this path."),
    }
}

impl Vaults {
    fn certificate(
        &mut self,
        world: &World,
        method: &Method,
        key: &(String, String),
        rest: &[&str],
        body: &Value,
    ) -> ArmResponse {
        let id = format!("{}/vault/{}/certificates/{}", world.url, key.0, key.1);
        let now = world.clock.now();
        if (method, rest) == (&Method::POST, &["create"]) {
            let ready = now + self.time;
            let policy = body["policy"].clone();
            self.certificates.insert(key.clone(), Certificate { policy, ready, pending: true });
            let operation = json!({"id": format!("{id}/pending"), "status": "inProgress", "status_details": "Pending certificate created."});
            return ArmResponse::with_body(StatusCode::ACCEPTED, operation);
        }
        let Some(found) = self.certificates.get_mut(key) else {
            let message = format!("A certificate with (name/id) {} was not found in this key vault.", key.1);
            return failure(StatusCode::NOT_FOUND, "CertificateNotFound", &message);
        };
        match (method, rest) {
            (&Method::GET, ["pending"]) => {
                let status = if found.pending { "inProgress" } else { "completed" };
                ArmResponse::ok(json!({"id": format!("{id}/pending"), "status": status, "target": id}))
            }
            (&Method::GET, ["policy"]) => ArmResponse::ok(found.policy.clone()),
            (&Method::PATCH, ["policy"]) => {
                for (name, value) in body.as_object().into_iter().flatten() {
                    found.policy[name] = value.clone();
                }
                ArmResponse::ok(found.policy.clone())
            }
            (&Method::GET, _) => {
                ArmResponse::ok(json!({"id": id, "policy": found.policy, "attributes": {"enabled": true}}))
            }
            (&Method::DELETE, _) => {
                self.certificates.remove(key);
                self.secrets.remove(key);
                ArmResponse::ok(json!({"id": id, "recoveryId": id}))
            }
            _ => failure(StatusCode::METHOD_NOT_ALLOWED, "BadParameter", "not here"),
        }
    }

    /// Makes the certificate whose time has come.
    fn issue(&mut self, world: &World, key: &(String, String)) -> Result<(), ArmResponse> {
        let now = world.clock.now();
        let due = self.certificates.get_mut(key).filter(|one| one.pending && one.ready <= now);
        let Some(found) = due else { return Ok(()) };
        let broken =
            |error: rcgen::Error| failure(StatusCode::BAD_REQUEST, "BadParameter", &error.to_string());
        let names = found.policy["x509_props"]["sans"]["dns_names"].as_array().into_iter().flatten();
        let names: Vec<String> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        let mut params = CertificateParams::new(names).map_err(broken)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.not_before = now.to_datetime();
        params.not_after = (now + DAY * 90).to_datetime();
        let subject = found.policy["x509_props"]["subject"].as_str().unwrap_or_default();
        params.distinguished_name.push(rcgen::DnType::CommonName, subject.trim_start_matches("CN="));
        let pair = KeyPair::generate().map_err(broken)?;
        let pem = params.self_signed(&pair).map_err(broken)?.pem();
        found.pending = false;
        let value = format!("{}{pem}", pair.serialize_pem());
        self.keep(world, key, json!({"value": value, "contentType": "application/x-pem-file"}));
        Ok(())
    }

    fn keep(&mut self, world: &World, key: &(String, String), mut secret: Value) -> Value {
        let (now, version) =
            (world.clock.now(), guid(&[key.1.clone(), world.number().to_string()]).replace('-', ""));
        secret["id"] = json!(format!("{}/vault/{}/secrets/{}/{version}", world.url, key.0, key.1));
        secret["attributes"] = json!({"enabled": true, "created": now.seconds(), "updated": now.seconds()});
        self.secrets.insert(key.clone(), secret.clone());
        secret
    }

    fn secret(
        &mut self,
        world: &World,
        method: &Method,
        key: &(String, String),
        body: &Value,
    ) -> ArmResponse {
        let missing = || {
            let message = format!("A secret with (name/id) {} was not found in this key vault.", key.1);
            failure(StatusCode::NOT_FOUND, "SecretNotFound", &message)
        };
        match *method {
            Method::GET => self.secrets.get(key).map_or_else(missing, |found| ArmResponse::ok(found.clone())),
            Method::PUT => ArmResponse::ok(self.keep(world, key, body.clone())),
            Method::DELETE => self.secrets.remove(key).map_or_else(missing, ArmResponse::ok),
            _ => failure(StatusCode::METHOD_NOT_ALLOWED, "BadParameter", "not here"),
        }
    }
}
