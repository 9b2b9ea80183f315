//! A small blob service: `/blob/ACCOUNT/CONTAINER/NAME`.

use std::collections::{BTreeMap, HashMap};

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use rp_base::Timestamp;

use super::response::ArmResponse;
use super::world::World;

/// Largest blob, and bytes in all.
pub(super) const MOST_BLOB: usize = 32 * 1024 * 1024;
const MOST: usize = 512 * 1024 * 1024;

/// The one identity that has keys here.
const DELEGATE: &str = "00000000-0000-4000-8000-0000000000d1";

/// By container, then by name.
type Containers = BTreeMap<String, BTreeMap<String, (String, Bytes)>>;

#[derive(Debug, Default)]
pub(super) struct Blobs {
    accounts: BTreeMap<String, Containers>,
    size: usize,
}

impl Blobs {
    /// Makes a container; false: it is there.
    pub(super) fn create(&mut self, account: &str, container: &str) -> bool {
        let all = self.accounts.entry(account.to_owned()).or_default();
        all.insert(container.to_owned(), all.get(container).cloned().unwrap_or_default()).is_none()
    }

    /// Removes a container with its blobs; false: there is none.
    pub(super) fn remove(&mut self, account: &str, container: &str) -> bool {
        let gone = self.accounts.get_mut(account).and_then(|all| all.remove(container));
        self.size -= gone.iter().flat_map(BTreeMap::values).map(|(_, bytes)| bytes.len()).sum::<usize>();
        gone.is_some()
    }

    /// Removes an account.
    pub(super) fn forget(&mut self, account: &str) {
        let containers: Vec<String> =
            self.accounts.get(account).into_iter().flat_map(BTreeMap::keys).cloned().collect();
        for container in containers {
            self.remove(account, &container);
        }
        self.accounts.remove(account);
    }

    pub(super) fn get(&self, account: &str, container: &str, name: &str) -> Option<&(String, Bytes)> {
        self.accounts.get(account)?.get(container)?.get(name)
    }

    fn put(
        &mut self,
        account: &str,
        container: &str,
        name: &str,
        kind: String,
        bytes: Bytes,
    ) -> Result<(), ArmResponse> {
        if self.size + bytes.len() > MOST {
            return Err(refused(StatusCode::INSUFFICIENT_STORAGE, "SimulatorFull"));
        }
        let missing = || refused(StatusCode::NOT_FOUND, "ContainerNotFound");
        let all =
            self.accounts.get_mut(account).and_then(|all| all.get_mut(container)).ok_or_else(missing)?;
        self.size += bytes.len();
        if let Some((_, old)) = all.insert(name.to_owned(), (kind, bytes)) {
            self.size -= old.len();
        }
        Ok(())
    }

    fn delete(&mut self, account: &str, container: &str, name: &str) -> Option<()> {
        let (_, old) = self.accounts.get_mut(account)?.get_mut(container)?.remove(name)?;
        self.size -= old.len();
        Some(())
    }
}

/// The service's error: its code in a header and in XML.
fn refused(status: StatusCode, code: &'static str) -> ArmResponse {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{code}</Code><Message>simulated</Message></Error>"
    );
    ArmResponse::bytes(status, "application/xml", Bytes::from(body)).header("x-ms-error-code", code)
}

/// Answers a request whose path begins with `/blob/`. `token`: it has a known bearer token.
pub(super) fn answer(
    world: &World,
    method: &Method,
    path: &str,
    query: &str,
    headers: &HeaderMap,
    token: bool,
    body: Bytes,
) -> ArmResponse {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
    let mut words = decoded.trim_start_matches("/blob/").splitn(3, '/');
    let mut next = || words.next().unwrap_or_default().to_owned();
    let (account, container, name) = (next().to_ascii_lowercase(), next(), next());
    let pairs: HashMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let whole = pairs.get("restype").is_some_and(|of| of == "container");
    if token && pairs.get("comp").is_some_and(|of| of == "userdelegationkey") {
        return delegation_key(world, method, &account, &body);
    }
    // What lies in `$web` everybody may read.
    let open = container == "$web" && matches!(*method, Method::GET | Method::HEAD);
    if !(token || open)
        && let Err(refused) = match pairs.get("sr").map(String::as_str) {
            Some("b") => blob_signed(world, method, &format!("/blob/{account}/{container}/{name}"), &pairs),
            _ => signed(world, method, &account, whole, &pairs),
        }
    {
        return refused;
    }
    let mut blobs = world.blobs.lock();
    let no_blob = || refused(StatusCode::NOT_FOUND, "BlobNotFound");
    match (method, whole) {
        (&Method::PUT, true) if blobs.create(&account, &container) => ArmResponse::empty(StatusCode::CREATED),
        (&Method::PUT, true) => refused(StatusCode::CONFLICT, "ContainerAlreadyExists"),
        (&Method::DELETE, true) if blobs.remove(&account, &container) => {
            ArmResponse::empty(StatusCode::ACCEPTED)
        }
        (&Method::DELETE, true) => refused(StatusCode::NOT_FOUND, "ContainerNotFound"),
        (&Method::PUT, false)
            if headers.contains_key("if-none-match") && blobs.get(&account, &container, &name).is_some() =>
        {
            refused(StatusCode::CONFLICT, "BlobAlreadyExists")
        }
        (&Method::PUT, false) => {
            let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            match blobs.put(&account, &container, &name, kind.to_owned(), body) {
                Ok(()) => ArmResponse::empty(StatusCode::CREATED),
                Err(refused) => refused,
            }
        }
        (&Method::GET | &Method::HEAD, false) => match blobs.get(&account, &container, &name) {
            Some((_, bytes)) => ArmResponse::bytes(StatusCode::OK, "application/octet-stream", bytes.clone()),
            None => no_blob(),
        },
        (&Method::DELETE, false) => match blobs.delete(&account, &container, &name) {
            Some(()) => ArmResponse::empty(StatusCode::ACCEPTED),
            None => no_blob(),
        },
        _ => refused(StatusCode::METHOD_NOT_ALLOWED, "UnsupportedHttpVerb"),
    }
}

/// The signature is one that ARM gave here, of this account, not over, and allows it.
fn signed(
    world: &World,
    method: &Method,
    account: &str,
    whole: bool,
    pairs: &HashMap<String, String>,
) -> Result<(), ArmResponse> {
    let of = |name: &str| pairs.get(name).map_or("", String::as_str);
    let made = world.signature(account, of("srt"), of("sp"), of("se"));
    let until = Timestamp::parse(of("se")).ok();
    let no = |code| Err(refused(StatusCode::FORBIDDEN, code));
    if of("sig").is_empty() || made != of("sig") || until.is_none_or(|until| until <= world.clock.now()) {
        return no("AuthenticationFailed");
    }
    let wanted = match *method {
        Method::GET | Method::HEAD => "r",
        Method::DELETE => "d",
        _ => "cw",
    };
    if !of("sp").chars().any(|one| wanted.contains(one)) {
        return no("AuthorizationPermissionMismatch");
    }
    if of("srt").contains(if whole { 'c' } else { 'o' }) {
        Ok(())
    } else {
        no("AuthorizationResourceTypeMismatch")
    }
}

/// The key by which an identity signs for itself, for any time: the stand-in derives it anew.
fn delegation_key(world: &World, method: &Method, account: &str, body: &Bytes) -> ArmResponse {
    let text = String::from_utf8_lossy(body);
    let of = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0.to_owned())
    };
    let (Some(start), Some(expiry)) = (of("Start"), of("Expiry")) else {
        return refused(StatusCode::BAD_REQUEST, "InvalidXmlDocument");
    };
    if *method != Method::POST {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "UnsupportedHttpVerb");
    }
    let value = STANDARD.encode(world.delegation_key(account, &start, &expiry));
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><UserDelegationKey><SignedOid>{DELEGATE}</SignedOid><SignedTid>{DELEGATE}</SignedTid><SignedStart>{start}</SignedStart><SignedExpiry>{expiry}</SignedExpiry><SignedService>b</SignedService><SignedVersion>2021-12-02</SignedVersion><Value>{value}</Value></UserDelegationKey>"
    );
    ArmResponse::bytes(StatusCode::OK, "application/xml", Bytes::from(body))
}

/// The signature is of this one blob, which may be read: by the account's key, or by a key of an identity.
fn blob_signed(
    world: &World,
    method: &Method,
    resource: &str,
    pairs: &HashMap<String, String>,
) -> Result<(), ArmResponse> {
    let of = |name: &str| pairs.get(name).map_or("", String::as_str);
    let made = match of("skoid") {
        "" => world.blob_signature(resource, of("sp"), of("se")),
        _ => {
            let account = resource.split('/').nth(2).unwrap_or_default();
            // Permission, times, resource, the key's members, three that name nobody, no address, protocol, version, kind,
            // and seven that change nothing of the answer.
            let signed = format!(
                "{}\n{}\n{}\n{resource}\n{}\n{}\n{}\n{}\n{}\n{}\n\n\n\n\n{}\n{}\nb\n\n\n\n\n\n\n",
                of("sp"),
                of("st"),
                of("se"),
                of("skoid"),
                of("sktid"),
                of("skt"),
                of("ske"),
                of("sks"),
                of("skv"),
                of("spr"),
                of("sv")
            );
            let key = world.delegation_key(account, of("skt"), of("ske"));
            STANDARD.encode(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes()))
        }
    };
    let until = Timestamp::parse(of("se")).ok();
    if of("sig").is_empty() || made != of("sig") || until.is_none_or(|until| until <= world.clock.now()) {
        return Err(refused(StatusCode::FORBIDDEN, "AuthenticationFailed"));
    }
    let reads = matches!(*method, Method::GET | Method::HEAD) && of("sp").contains('r');
    if reads { Ok(()) } else { Err(refused(StatusCode::FORBIDDEN, "AuthorizationPermissionMismatch")) }
}
