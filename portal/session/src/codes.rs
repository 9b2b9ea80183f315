//! Codes of `aro login`: of a browser on the same machine (RFC 8252, RFC 7636) and of one anywhere
//! (RFC 8628). Writer of the collection LoginCodes.
//!
//! A code is stored as its hash and works once: the caller that deletes the document has redeemed it. So any replica
//! may finish what another began.

use std::collections::HashMap;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use rp_base::{Secret, SharedClock, SharedRandom, Timestamp, sha256};
use rp_database::{Expect, SharedStore, StoreError, Typed, Version, Versioned};
use rp_documents::login::{LoginCode, LoginFlow};
use rp_documents::{Collection, Unknown};
use rp_seal::{Keyring, SealError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

/// From the browser back to the program: seconds at most.
const LOOPBACK_LIFE: Duration = Duration::from_secs(60);
/// For a person to find a browser.
pub const DEVICE_LIFE: Duration = Duration::from_secs(600);
/// Between two questions of a program that waits.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// Letters that are hard to mistake and spell no words (RFC 8628 §6.1).
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// 34 bits of entropy, valid for ten minutes, with few guesses allowed a minute.
const USER_CODE: usize = 8;
/// Waiting programs that are remembered for `slow_down`.
const WAITING: usize = 10_000;

/// A person's consent to a program that acts for them. The person is read from the session when the code is used,
/// because the session may have ended or its groups may have changed by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The stored id of the session in which they did.
    pub session: String,
    /// The address of the browser.
    pub from: String,
}

#[derive(Serialize, Deserialize)]
struct Loopback {
    agreed: Consent,
    challenge: String,
}

/// A program that waits for a person's decision in a browser on any machine (RFC 8628).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDevice {
    /// Its address.
    pub from: String,
    /// The name that it gave itself, cleaned.
    pub client: String,
    pub at: Timestamp,
    decision: Option<Decision>,
}

/// The person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    Refused,
    Agreed(Consent),
}

/// The response to a program that polls.
#[derive(Debug)]
pub enum Poll {
    Pending,
    SlowDown,
    Refused,
    Agreed(Consent),
}

/// Why a code cannot be redeemed or stored.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    #[error("the code is unknown, was used, or has ended")]
    Unknown,
    #[error("code_verifier does not fit")]
    Verifier,
    #[error("the store did not answer")]
    Store(#[source] StoreError),
    #[error("the code cannot be sealed")]
    Seal(#[source] SealError),
}

/// Issues and redeems codes.
#[derive(Debug)]
pub struct Codes {
    codes: Typed<LoginCode>,
    keyring: Keyring,
    clock: SharedClock,
    random: SharedRandom,
    /// By stored id: when it last asked here.
    asked: Mutex<HashMap<String, Timestamp>>,
}

/// A new code for a browser anywhere.
#[derive(Debug)]
pub struct DeviceCode {
    pub device_code: Secret<String>,
    /// `BCDF-GHJK`.
    pub user_code: String,
}

fn hashed(code: &str) -> String {
    sha256(code.as_bytes()).to_string()
}

fn associated(id: &str) -> String {
    format!("{}/{id}/sealed", Collection::LoginCodes.name())
}

/// Upper case, without what people put in between.
fn normal(user_code: &str) -> String {
    user_code.chars().filter(char::is_ascii_alphabetic).take(64).map(|c| c.to_ascii_uppercase()).collect()
}

/// The stored form: apart from that of other codes.
fn second(user_code: &str) -> String {
    hashed(&format!("user code {}", normal(user_code)))
}

impl Codes {
    pub fn new(store: SharedStore, keyring: Keyring, clock: SharedClock, random: SharedRandom) -> Self {
        Self { codes: Typed::new(store), keyring, clock, random, asked: Mutex::default() }
    }

    /// A code for the loopback redirect; `challenge` is S256 of the verifier.
    pub async fn agree(&self, agreed: Consent, challenge: String) -> Result<Secret<String>, CodeError> {
        let code = self.secret();
        let content = Loopback { agreed, challenge };
        self.create(code.expose(), LoginFlow::Loopback, None, &content, LOOPBACK_LIFE).await?;
        Ok(code)
    }

    /// Takes a loopback code, whether or not the verifier fits: there is no second guess.
    pub async fn take(&self, code: &str, verifier: &str) -> Result<Consent, CodeError> {
        let (id, found) = self.find(code, LoginFlow::Loopback).await?;
        self.remove(&id, found.version).await?;
        let content: Loopback = self.open(&found.value)?;
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()).as_ref());
        if !bool::from(challenge.as_bytes().ct_eq(content.challenge.as_bytes())) {
            return Err(CodeError::Verifier);
        }
        Ok(content.agreed)
    }

    /// Begins a sign-in by a browser anywhere.
    pub async fn ask(&self, from: String, client: String) -> Result<DeviceCode, CodeError> {
        loop {
            let (device_code, user_code) = (self.secret(), self.user_code());
            let asked = PendingDevice {
                from: from.clone(),
                client: client.clone(),
                at: self.clock.now(),
                decision: None,
            };
            let found_by = Some(second(&user_code));
            let made =
                self.create(device_code.expose(), LoginFlow::Device, found_by, &asked, DEVICE_LIFE).await;
            match made {
                Ok(()) => return Ok(DeviceCode { device_code, user_code }),
                // Another program waits with the same letters.
                Err(CodeError::Store(StoreError::Exists { .. })) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The program that shows this user code, while no decision is made.
    pub async fn waiting(&self, user_code: &str) -> Result<PendingDevice, CodeError> {
        self.undecided(user_code).await.map(|(_, asked)| asked)
    }

    async fn undecided(&self, user_code: &str) -> Result<(Versioned<LoginCode>, PendingDevice), CodeError> {
        let found = self.codes.get_by_key(&second(user_code)).await.map_err(CodeError::Store)?;
        let found =
            found.filter(|found| self.clock.now() < found.value.not_after).ok_or(CodeError::Unknown)?;
        let asked: PendingDevice = self.open(&found.value)?;
        if asked.decision.is_some() { Err(CodeError::Unknown) } else { Ok((found, asked)) }
    }

    /// Stores a person's decision; works once.
    pub async fn decide(&self, user_code: &str, decision: Decision) -> Result<(), CodeError> {
        let (mut found, mut asked) = self.undecided(user_code).await?;
        asked.decision = Some(decision);
        let plain = serde_json::to_vec(&asked).unwrap_or_default();
        found.value.sealed =
            self.keyring.seal(&plain, &associated(&found.value.id)).map_err(CodeError::Seal)?;
        // The user code has been used: it is deleted.
        found.value.second = None;
        match self.codes.replace(found).await {
            Ok(_) => Ok(()),
            Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Err(CodeError::Unknown),
            Err(error) => Err(CodeError::Store(error)),
        }
    }

    /// The response to a program that polls; a decision is returned once.
    pub async fn poll(&self, device_code: &str) -> Result<Poll, CodeError> {
        let (id, found) = self.find(device_code, LoginFlow::Device).await?;
        if self.too_soon(&id) {
            return Ok(Poll::SlowDown);
        }
        let asked: PendingDevice = self.open(&found.value)?;
        let Some(decision) = asked.decision else { return Ok(Poll::Pending) };
        self.remove(&id, found.version).await?;
        Ok(match decision {
            Decision::Refused => Poll::Refused,
            Decision::Agreed(agreed) => Poll::Agreed(agreed),
        })
    }

    /// Asked again before the interval was over (RFC 8628 §3.5), a second of grace for the network.
    fn too_soon(&self, id: &str) -> bool {
        let now = self.clock.now();
        let mut asked = self.asked.lock();
        if asked.len() >= WAITING {
            asked.retain(|_, at| now.since(*at) < INTERVAL);
        }
        let last = asked.insert(id.to_owned(), now);
        last.is_some_and(|at| now.since(at) < INTERVAL.saturating_sub(Duration::from_secs(1)))
    }

    fn secret(&self) -> Secret<String> {
        let mut bytes = [0u8; 32];
        self.random.fill(&mut bytes);
        Secret::new(URL_SAFE_NO_PAD.encode(bytes))
    }

    fn user_code(&self) -> String {
        let mut letters = String::with_capacity(USER_CODE + 1);
        while letters.len() < USER_CODE {
            let mut byte = [0u8];
            self.random.fill(&mut byte);
            // 240 is the largest multiple of 20: every letter is as likely.
            if byte[0] < 240 {
                letters.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
            }
        }
        letters.insert(USER_CODE / 2, '-');
        letters
    }

    async fn create(
        &self,
        code: &str,
        flow: LoginFlow,
        second: Option<String>,
        content: &impl Serialize,
        life: Duration,
    ) -> Result<(), CodeError> {
        let (id, now) = (hashed(code), self.clock.now());
        let plain = serde_json::to_vec(content).unwrap_or_default();
        let sealed = self.keyring.seal(&plain, &associated(&id)).map_err(CodeError::Seal)?;
        let not_after = now + life;
        let document =
            LoginCode { id, flow, created: now, not_after, sealed, second, unknown: Unknown::new() };
        self.codes.create_until(document, Some(not_after)).await.map(drop).map_err(CodeError::Store)
    }

    async fn find(&self, code: &str, flow: LoginFlow) -> Result<(String, Versioned<LoginCode>), CodeError> {
        // A mark contains a space, so it cannot be redeemed as a code.
        if !code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return Err(CodeError::Unknown);
        }
        let id = hashed(code);
        let found = self.codes.get(&id).await.map_err(CodeError::Store)?;
        let lives = |found: &Versioned<LoginCode>| {
            found.value.flow == flow && self.clock.now() < found.value.not_after
        };
        found.filter(lives).map(|found| (id, found)).ok_or(CodeError::Unknown)
    }

    /// Deletes the document; the caller whose delete succeeds has redeemed the code.
    async fn remove(&self, id: &str, version: Version) -> Result<(), CodeError> {
        self.asked.lock().remove(id);
        match self.codes.delete(id, Expect::Version(version)).await {
            Ok(()) => Ok(()),
            Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Err(CodeError::Unknown),
            Err(error) => Err(CodeError::Store(error)),
        }
    }

    fn open<T: DeserializeOwned>(&self, code: &LoginCode) -> Result<T, CodeError> {
        let plain = self.keyring.open(&code.sealed, &associated(&code.id)).map_err(CodeError::Seal)?;
        // Sealed by another version of this software.
        serde_json::from_slice(plain.expose()).map_err(|_| CodeError::Unknown)
    }

    /// Whether a mark, a text with a blank in it, is remembered.
    pub async fn is_mark_stored(&self, mark: &str) -> Result<bool, CodeError> {
        self.codes.get(&hashed(mark)).await.map(|found| found.is_some()).map_err(CodeError::Store)
    }

    /// Remembers a mark for a while; false when it was remembered already. For tokens that work once.
    pub async fn store_mark(&self, mark: &str, life: Duration) -> Result<bool, CodeError> {
        match self.create(mark, LoginFlow::Loopback, None, &(), life).await {
            Ok(()) => Ok(true),
            Err(CodeError::Store(StoreError::Exists { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
