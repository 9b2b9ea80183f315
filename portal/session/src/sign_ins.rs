//! The provider's refresh tokens, sealed, one per person. Writer of the collection SignIns.

use std::time::Duration;

use rp_base::{Digest, Secret, SharedRandom, Timestamp, sha256};
use rp_database::{Expect, SharedStore, StoreError, Typed, Versioned};
use rp_documents::{Collection, Person, SignIn, Unknown};
use rp_seal::{Keyring, SealError};
use serde::{Deserialize, Serialize};

/// Lease of a claimed record: longer than any check with the provider takes.
const CLAIM: Duration = Duration::from_secs(120);
/// Minimum delay before the next check when the provider did not answer; the maximum is the usual period.
const LEAST_WAIT: Duration = Duration::from_secs(5);
/// Longer than a request may run that found a session valid which has ended since.
const MEANWHILE: Duration = Duration::from_secs(45);
const TRIES: u32 = 5;
/// Lifetime of a record after its last check.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

/// A refresh token could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("the store did not answer")]
    Store(#[from] StoreError),
    #[error("the refresh token cannot be sealed")]
    Seal(#[source] SealError),
}

/// The sealed content of a record.
#[derive(Debug, Deserialize)]
pub struct RefreshSecret {
    pub token: Secret<String>,
    /// The person's name, for the audit trail.
    pub name: String,
}

/// Sign-ins whose people the provider is asked about.
#[derive(Debug)]
pub struct SignIns {
    records: Typed<SignIn>,
    keyring: Keyring,
    random: SharedRandom,
    every: Duration,
}

fn associated(id: &str) -> String {
    format!("{}/{id}/sealed", Collection::SignIns.name())
}

/// Order does not matter.
pub(crate) fn digest(groups: &[String]) -> Digest {
    let mut sorted: Vec<&str> = groups.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sha256(sorted.join("\n").as_bytes())
}

impl SignIns {
    /// Each person is looked at within `every`.
    pub fn new(store: SharedStore, keyring: Keyring, random: SharedRandom, every: Duration) -> Self {
        Self { records: Typed::new(store), keyring, random, every }
    }

    /// Keeps the token of a sign-in that just happened. Its groups stand nowhere yet: [`SignIns::regrouped`] says when they
    /// do, and until then the next look writes them.
    pub async fn keep(
        &self,
        person: &Person,
        token: &Secret<String>,
        now: Timestamp,
    ) -> Result<Versioned<SignIn>, KeepError> {
        let id = sha256(person.sub.as_bytes()).to_string();
        let held = RefreshSecret { token: token.clone(), name: person.name.clone() };
        let record = SignIn {
            sealed: Some(self.seal(&id, &held).map_err(KeepError::Seal)?),
            id,
            sub: person.sub.clone(),
            signed_in: now,
            confirmed: now,
            next_look: self.next(now),
            failures: 0,
            refused: false,
            groups: Digest::default(),
            unknown: Unknown::new(),
        };
        // The newest sign-in of a person replaces the record, even if another replica has claimed it.
        Ok(self.records.put_until(record, Some(now + KEPT), Expect::Any).await?)
    }

    /// Every record.
    pub async fn all(&self) -> Result<Vec<Versioned<SignIn>>, StoreError> {
        let (mut all, mut from) = (Vec::new(), None::<String>);
        loop {
            let page = self.records.store().list(Collection::SignIns, None, from.as_deref(), 1000).await?;
            // A record that cannot be read must not prevent the checks of the others.
            all.extend(page.items.into_iter().filter_map(|stored| {
                let (version, expires_at) = (stored.version, stored.expires_at);
                let value = serde_json::from_str(&stored.body)
                    .inspect_err(|error| tracing::error!(%error, "a sign-in cannot be read"))
                    .ok()?;
                Some(Versioned { value, version, expires_at })
            }));
            from = page.continuation;
            if from.is_none() {
                return Ok(all);
            }
        }
    }

    /// Takes a record that is due for this process; `None` when another one has it.
    pub async fn claim(
        &self,
        mut record: Versioned<SignIn>,
        now: Timestamp,
    ) -> Result<Option<Versioned<SignIn>>, StoreError> {
        record.value.next_look = now + CLAIM;
        self.write(record).await
    }

    /// Records that the provider confirmed the person. `None` when the person signed in again meanwhile.
    pub async fn confirm(
        &self,
        mut record: Versioned<SignIn>,
        held: &RefreshSecret,
        now: Timestamp,
    ) -> Result<Option<Versioned<SignIn>>, KeepError> {
        record.value.sealed = Some(self.seal(&record.value.id, held).map_err(KeepError::Seal)?);
        (record.value.confirmed, record.value.failures) = (now, 0);
        record.value.next_look = self.next(now);
        record.expires_at = Some(now + KEPT);
        Ok(self.settle(record).await?)
    }

    /// Records that the current groups are written to everything that the person holds.
    pub async fn regrouped(
        &self,
        mut record: Versioned<SignIn>,
        groups: &[String],
    ) -> Result<(), StoreError> {
        record.value.groups = digest(groups);
        self.settle(record).await.map(drop)
    }

    /// Records that the provider gave no information about the person.
    pub async fn fail(&self, mut record: Versioned<SignIn>, now: Timestamp) -> Result<(), StoreError> {
        record.value.failures = record.value.failures.saturating_add(1);
        let wait = LEAST_WAIT * 2u32.saturating_pow(record.value.failures.min(10));
        let wait = wait.min(self.every);
        record.value.next_look = now + wait.mul_f64(0.7 + self.random.unit() / 4.0);
        self.write(record).await.map(drop)
    }

    /// Records that the provider refused the person. `None` when the person signed in again meanwhile.
    pub async fn refuse(
        &self,
        mut record: Versioned<SignIn>,
    ) -> Result<Option<Versioned<SignIn>>, StoreError> {
        record.value.refused = true;
        record.value.sealed = None;
        self.settle(record).await
    }

    /// Removes the record of a person for whom the provider gave no refresh token.
    pub async fn none_of(&self, sub: &str) -> Result<(), StoreError> {
        match self.records.delete(&sha256(sub.as_bytes()).to_string(), Expect::Any).await {
            Ok(()) | Err(StoreError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Records that what the refused person holds has ended; a second check soon after finds what was issued meanwhile.
    pub async fn ended(&self, mut record: Versioned<SignIn>, now: Timestamp) -> Result<(), StoreError> {
        record.value.next_look = now + MEANWHILE;
        self.write(record).await.map(drop)
    }

    /// Removes the record of a person who holds nothing any more.
    pub async fn forget(&self, record: &Versioned<SignIn>) -> Result<(), StoreError> {
        match self.records.delete(&record.value.id, Expect::Version(record.version)).await {
            Ok(()) | Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The token; `None` when another keyring sealed it.
    pub fn open(&self, record: &SignIn) -> Option<RefreshSecret> {
        let sealed = record.sealed.as_ref()?;
        let plain = self.keyring.open(sealed, &associated(&record.id)).ok()?;
        serde_json::from_slice(plain.expose()).ok()
    }

    fn seal(&self, id: &str, held: &RefreshSecret) -> Result<rp_documents::Sealed, SealError> {
        #[derive(Serialize)]
        struct Plain<'a> {
            token: &'a str,
            name: &'a str,
        }
        let plain = Plain { token: held.token.expose(), name: &held.name };
        self.keyring.seal(&serde_json::to_vec(&plain).unwrap_or_default(), &associated(id))
    }

    async fn write(&self, record: Versioned<SignIn>) -> Result<Option<Versioned<SignIn>>, StoreError> {
        match self.records.replace(record).await {
            Ok(written) => Ok(Some(written)),
            Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the result of a check. `None` when the person signed in again meanwhile. After any other concurrent write
    /// (a key rotation seals every document again) it retries, so that a new refresh token is not lost.
    async fn settle(&self, mut record: Versioned<SignIn>) -> Result<Option<Versioned<SignIn>>, StoreError> {
        for _ in 0..TRIES {
            if let Some(written) = self.write(record.clone()).await? {
                return Ok(Some(written));
            }
            match self.records.get(&record.value.id).await? {
                Some(found) if found.value.signed_in == record.value.signed_in => {
                    record.version = found.version;
                }
                _ => return Ok(None),
            }
        }
        Err(StoreError::Stale { collection: Collection::SignIns })
    }

    /// Spread, so that people who signed in together are not asked for together; early enough that a round
    /// comes within the period.
    fn next(&self, now: Timestamp) -> Timestamp {
        now + self.every.mul_f64(0.7 + self.random.unit() / 4.0)
    }
}
