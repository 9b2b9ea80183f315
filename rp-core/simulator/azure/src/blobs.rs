//! A small blob service: `/blob/ACCOUNT/CONTAINER/NAME`.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use rp_base::Timestamp;

use super::response::ArmResponse;
use super::world::World;

/// Largest blob, and bytes in all.
pub(super) const MOST_BLOB: usize = 32 * 1024 * 1024;
const MOST: usize = 512 * 1024 * 1024;

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
    // What lies in `$web` everybody may read.
    let open = container == "$web" && matches!(*method, Method::GET | Method::HEAD);
    if !(token || open)
        && let Err(refused) = signed(world, method, &account, whole, &pairs)
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
