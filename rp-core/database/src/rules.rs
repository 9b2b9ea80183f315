//! What a write may do, whichever database does it: the one place for it. A backend gives its rows as a [`Table`]
//! inside a transaction in which nobody else writes the collection.

use rp_documents::Collection;

use crate::{Draft, Expect, StoreError, Stored, Version};

/// A row as far as the rules need it.
pub(crate) struct ExistingRow {
    pub(crate) id: String,
    pub(crate) version: Version,
    /// It has a body and has not expired.
    pub(crate) lives: bool,
}

/// Why a write was not done.
pub(crate) enum Failure<F> {
    /// By the rules; its neighbours in the transaction are not concerned.
    Refused(StoreError),
    /// By the database; the transaction is lost.
    Fault(F),
}

/// The rows of one collection inside a transaction.
pub(crate) trait Table: Send {
    type Fault: Send;

    /// The collection.
    fn collection(&self) -> Collection;

    /// The row of the id, and the row that holds the unique key.
    fn existing(
        &mut self,
        id: &str,
        key: Option<&str>,
    ) -> impl Future<Output = Result<Vec<ExistingRow>, Self::Fault>> + Send;

    /// Writes a row, over one of the same id, at the next position.
    fn put(&mut self, draft: &Draft) -> impl Future<Output = Result<Stored, Self::Fault>> + Send;

    /// Leaves a tombstone at the next position; id and key are free.
    fn write_tombstone(&mut self, id: &str) -> impl Future<Output = Result<(), Self::Fault>> + Send;
}

/// Writes a document that must not be there.
pub(crate) async fn create<T: Table>(table: &mut T, draft: &Draft) -> Result<Stored, Failure<T::Fault>> {
    write(table, draft, None).await
}

/// Writes over a document that must be there, as expected.
pub(crate) async fn replace<T: Table>(
    table: &mut T,
    draft: &Draft,
    expect: Expect,
) -> Result<Stored, Failure<T::Fault>> {
    write(table, draft, Some(expect)).await
}

/// Removes a document that must be there, as expected.
pub(crate) async fn delete<T: Table>(
    table: &mut T,
    id: &str,
    expect: Expect,
) -> Result<(), Failure<T::Fault>> {
    let existing = table.existing(id, None).await.map_err(Failure::Fault)?;
    expected(table.collection(), existing.iter().find(|row| row.id == id), expect)?;
    table.write_tombstone(id).await.map_err(Failure::Fault)
}

/// Nothing is written before everything that refuses was looked at.
async fn write<T: Table>(
    table: &mut T,
    draft: &Draft,
    expect: Option<Expect>,
) -> Result<Stored, Failure<T::Fault>> {
    let collection = table.collection();
    let existing = table.existing(&draft.id, draft.unique_key.as_deref()).await.map_err(Failure::Fault)?;
    let own = existing.iter().find(|row| row.id == draft.id);
    match expect {
        Some(expect) => expected(collection, own, expect)?,
        None if own.is_some_and(|row| row.lives) => {
            return Err(Failure::Refused(StoreError::Exists { collection, which: "id" }));
        }
        None => {}
    }
    if let Some(holder) = existing.iter().find(|row| row.id != draft.id) {
        if holder.lives {
            return Err(Failure::Refused(StoreError::Exists { collection, which: "key" }));
        }
        table.write_tombstone(&holder.id).await.map_err(Failure::Fault)?;
    }
    table.put(draft).await.map_err(Failure::Fault)
}

fn expected<F>(collection: Collection, own: Option<&ExistingRow>, expect: Expect) -> Result<(), Failure<F>> {
    match (own.filter(|row| row.lives), expect) {
        (None, _) => Err(Failure::Refused(StoreError::Gone { collection })),
        (Some(row), Expect::Version(version)) if version != row.version => {
            Err(Failure::Refused(StoreError::Stale { collection }))
        }
        (Some(_), Expect::Version(_) | Expect::Any) => Ok(()),
    }
}
