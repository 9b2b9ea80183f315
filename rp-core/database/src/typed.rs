//! Documents as their own types.

use std::marker::PhantomData;
use std::time::Duration;

use rp_base::{Random as _, SystemRandom, Timestamp, chain};
use rp_documents::Document;

use crate::{Draft, Expect, SharedStore, Span, StoreError, Stored, Version};

/// Attempts of [`update`] (`contract/database.md` §7.1).
const TRIES: u32 = 5;

/// A value and the version it was read at. Both are needed to replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    pub value: T,
    pub version: Version,
    /// Kept by [`Typed::replace`] and [`update`].
    pub expires_at: Option<Timestamp>,
}

impl<T> Versioned<T> {
    /// Another value and expiry in place of these, at the same version; `None`: `change` gives none.
    pub fn try_map<U>(
        self,
        change: impl FnOnce(T) -> Option<(U, Option<Timestamp>)>,
    ) -> Option<Versioned<U>> {
        let (value, expires_at) = change(self.value)?;
        Some(Versioned { value, version: self.version, expires_at })
    }
}

/// A part of a list, ordered by (partition, id).
#[derive(Debug, Clone)]
pub struct TypedPage<T> {
    pub items: Vec<Versioned<T>>,
    /// Opaque; `None` at the end.
    pub continuation: Option<String>,
}

/// A part of a span.
#[derive(Debug, Clone)]
pub struct Scanned<T> {
    pub items: Vec<Versioned<T>>,
    /// The id or key to go on after; `None` at the end.
    pub next: Option<String>,
}

/// What happened to one document.
#[derive(Debug, Clone)]
pub struct TypedChange<T> {
    pub id: String,
    pub seq: i64,
    /// `None`: gone, or no longer readable (logged): a follower forgets it either way.
    pub document: Option<Versioned<T>>,
}

/// A part of the change feed.
#[derive(Debug, Clone)]
pub struct TypedChanges<T> {
    pub items: Vec<TypedChange<T>>,
    /// Pass it to the next call.
    pub cursor: i64,
    /// More may be had at once.
    pub more: bool,
}

/// One collection of a store, as its document type.
#[derive(Debug)]
pub struct Typed<T> {
    store: SharedStore,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Typed<T> {
    fn clone(&self) -> Self {
        Self { store: SharedStore::clone(&self.store), of: PhantomData }
    }
}

impl<T: Document> Typed<T> {
    /// The collection of `T` in that store.
    pub fn new(store: SharedStore) -> Self {
        Self { store, of: PhantomData }
    }

    /// The store below.
    pub fn store(&self) -> &SharedStore {
        &self.store
    }

    /// Writes a new document that does not expire.
    ///
    /// # Errors
    /// [`StoreError::Exists`], or the store's.
    pub async fn create(&self, value: T) -> Result<Versioned<T>, StoreError> {
        self.create_until(value, None).await
    }

    /// Writes a new document that the store forgets at that instant of its clock.
    ///
    /// # Errors
    /// [`StoreError::Exists`], or the store's.
    pub async fn create_until(
        &self,
        value: T,
        expires_at: Option<Timestamp>,
    ) -> Result<Versioned<T>, StoreError> {
        let stored = self.store.create(T::COLLECTION, draft(&value, expires_at)?).await?;
        Ok(Versioned { value, version: stored.version, expires_at })
    }

    /// Writes several new documents in one transaction, all or none.
    ///
    /// # Errors
    /// As [`Typed::create_until`].
    pub async fn create_all_until(
        &self,
        values: Vec<T>,
        expires_at: Option<Timestamp>,
    ) -> Result<Vec<Versioned<T>>, StoreError> {
        let drafts = values.iter().map(|value| draft(value, expires_at)).collect::<Result<_, _>>()?;
        let stored = self.store.create_all(T::COLLECTION, drafts).await?.into_iter().zip(values);
        Ok(stored.map(|(stored, value)| Versioned { value, version: stored.version, expires_at }).collect())
    }

    /// Reads by id; `None` when there is none, or it has expired.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], or the store's.
    pub async fn get(&self, id: &str) -> Result<Option<Versioned<T>>, StoreError> {
        self.store.get(T::COLLECTION, id).await?.map(read).transpose()
    }

    /// Reads by the unique key.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], or the store's.
    pub async fn get_by_key(&self, key: &str) -> Result<Option<Versioned<T>>, StoreError> {
        self.store.get_by_key(T::COLLECTION, key).await?.map(read).transpose()
    }

    /// Replaces the document that was read at that version; its expiry is `versioned.expires_at`.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Gone`], or the store's.
    pub async fn replace(&self, versioned: Versioned<T>) -> Result<Versioned<T>, StoreError> {
        let Versioned { value, version, expires_at } = versioned;
        let draft = draft(&value, expires_at)?;
        let stored = self.store.replace(T::COLLECTION, draft, Expect::Version(version)).await?;
        Ok(Versioned { value, version: stored.version, expires_at })
    }

    /// Writes the document whether or not there is one ([`Expect::Any`]: the last writer wins; say why at the
    /// call), or replaces the expected version. It does not expire.
    ///
    /// # Errors
    /// [`StoreError::Stale`] and [`StoreError::Gone`] when a version is expected, or the store's.
    pub async fn put(&self, value: T, expect: Expect) -> Result<Versioned<T>, StoreError> {
        self.put_until(value, None, expect).await
    }

    /// As [`Typed::put`], and the store forgets it at that instant of its clock.
    ///
    /// # Errors
    /// As [`Typed::put`].
    pub async fn put_until(
        &self,
        value: T,
        expires_at: Option<Timestamp>,
        expect: Expect,
    ) -> Result<Versioned<T>, StoreError> {
        let draft = draft(&value, expires_at)?;
        let mut stored = self.store.replace(T::COLLECTION, draft.clone(), expect).await;
        // Between two calls another writer may create or delete it; after several lost races the caller gets an error.
        for _ in 0..TRIES {
            stored = match (stored, expect) {
                (Err(StoreError::Gone { .. }), Expect::Any) => {
                    self.store.create(T::COLLECTION, draft.clone()).await
                }
                (Err(StoreError::Exists { which: "id", .. }), Expect::Any) => {
                    self.store.replace(T::COLLECTION, draft.clone(), expect).await
                }
                (settled, _) => return Ok(Versioned { value, version: settled?.version, expires_at }),
            };
        }
        Ok(Versioned { value, version: stored?.version, expires_at })
    }

    /// Removes a document.
    ///
    /// # Errors
    /// [`StoreError::Gone`], [`StoreError::Stale`], or the store's.
    pub async fn delete(&self, id: &str, expect: Expect) -> Result<(), StoreError> {
        self.store.delete(T::COLLECTION, id, expect).await
    }

    /// Lists the collection, or one partition of it: at most `limit` (1 to 1000) documents after the continuation.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] names the first document that cannot be read, or the store's.
    pub async fn list(
        &self,
        partition: Option<&str>,
        continuation: Option<&str>,
        limit: u32,
    ) -> Result<TypedPage<T>, StoreError> {
        let page = self.store.list(T::COLLECTION, partition, continuation, limit).await?;
        let items = page.items.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(TypedPage { items, continuation: page.continuation })
    }

    /// At most `limit` (1 to 1000) documents of a span, as [`Store::scan`].
    ///
    /// # Errors
    /// The store's. A document that cannot be read is logged and left out.
    pub async fn scan(
        &self,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Scanned<T>, StoreError> {
        let found = self.store.scan(T::COLLECTION, span, after, limit).await?;
        let full = found.len() == usize::try_from(limit).unwrap_or(usize::MAX);
        let next = found.last().filter(|_| full).map(|last| match span {
            Span::Keys(_) => last.unique_key.clone().unwrap_or_default(),
            Span::All | Span::Partition(_) => last.id.clone(),
        });
        Ok(Scanned { items: found.into_iter().filter_map(read_or_log).collect(), next })
    }

    /// The whole collection, page by page: for collections that fit into memory.
    ///
    /// # Errors
    /// As [`Typed::list`].
    pub async fn all(&self) -> Result<Vec<Versioned<T>>, StoreError> {
        let mut all = Vec::new();
        let mut from: Option<String> = None;
        loop {
            let page = self.list(None, from.as_deref(), 1000).await?;
            all.extend(page.items);
            from = page.continuation;
            if from.is_none() {
                return Ok(all);
            }
        }
    }

    /// How many living documents there are.
    ///
    /// # Errors
    /// The store's.
    pub async fn count(&self) -> Result<u64, StoreError> {
        self.store.count(T::COLLECTION).await
    }

    /// What changed after `cursor` (0: everything that lives), at most `limit` (1 to 1000) changes.
    ///
    /// # Errors
    /// The store's. A document that cannot be read is logged and given as gone, so that one damaged document
    /// does not stop a follower.
    pub async fn changes(&self, cursor: i64, limit: u32) -> Result<TypedChanges<T>, StoreError> {
        let changes = self.store.changes(T::COLLECTION, cursor, limit).await?;
        let items = changes.items.into_iter().map(|change| TypedChange {
            id: change.id,
            seq: change.seq,
            document: change.document.and_then(read_or_log),
        });
        Ok(TypedChanges { items: items.collect(), cursor: changes.cursor, more: changes.more })
    }
}

/// Reads a document, changes it, writes it back; when somebody else wrote meanwhile, again, five times in all
/// (`contract/database.md` §7.1), with growing, jittered waits. `change` may run several times.
///
/// # Errors
/// [`StoreError::Gone`]: no such document. [`StoreError::Stale`]: five others were faster. Or the store's.
pub async fn update<T: Document>(
    typed: &Typed<T>,
    id: &str,
    mut change: impl FnMut(&mut T),
) -> Result<Versioned<T>, StoreError> {
    let change = |mut found: Versioned<T>| {
        change(&mut found.value);
        Some(found)
    };
    let changed = update_if(typed, id, change).await?;
    changed.ok_or(StoreError::Gone { collection: T::COLLECTION })
}

/// As [`update`], for a change that what is stored may not allow. `None`: it did not, and nothing was written.
///
/// # Errors
/// As [`update`].
pub async fn update_if<T: Document>(
    typed: &Typed<T>,
    id: &str,
    mut change: impl FnMut(Versioned<T>) -> Option<Versioned<T>>,
) -> Result<Option<Versioned<T>>, StoreError> {
    let mut tried = 0;
    loop {
        let found = typed.get(id).await?.ok_or(StoreError::Gone { collection: T::COLLECTION })?;
        let Some(changed) = change(found) else { return Ok(None) };
        tried += 1;
        match typed.replace(changed).await {
            Err(StoreError::Stale { .. }) if tried < TRIES => {
                let most = Duration::from_millis(50) * tried;
                tokio::time::sleep(most.mul_f64(SystemRandom.unit())).await;
            }
            settled => return settled.map(Some),
        }
    }
}

fn draft<T: Document>(value: &T, expires_at: Option<Timestamp>) -> Result<Draft, StoreError> {
    let body = serde_json::to_string(value).map_err(|cause| StoreError::Malformed {
        collection: T::COLLECTION,
        id: value.id().to_owned(),
        cause,
    })?;
    Ok(Draft {
        id: value.id().to_owned(),
        partition: value.partition().to_owned(),
        unique_key: value.unique_key().map(std::borrow::Cow::into_owned),
        body,
        expires_at,
    })
}

fn read<T: Document>(stored: Stored) -> Result<Versioned<T>, StoreError> {
    match serde_json::from_str(&stored.body) {
        Ok(value) => Ok(Versioned { value, version: stored.version, expires_at: stored.expires_at }),
        Err(cause) => Err(StoreError::Malformed { collection: T::COLLECTION, id: stored.id, cause }),
    }
}

fn read_or_log<T: Document>(stored: Stored) -> Option<Versioned<T>> {
    match read(stored) {
        Ok(versioned) => Some(versioned),
        Err(error) => {
            tracing::error!(error = %chain(&error), "a document in the change feed cannot be read");
            None
        }
    }
}
