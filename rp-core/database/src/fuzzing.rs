//! Continuations of lists, for `tests/fuzz`. Compiled with `--cfg fuzzing` alone.

use rp_documents::Collection;

use crate::continuation::Continuation;

/// The continuation after a document of a list.
pub fn seal(partition: &str, id: &str, collection: Collection, filter: Option<&str>) -> String {
    let (partition, id) = (partition.to_owned(), id.to_owned());
    Continuation { partition, id }.encode(collection, filter)
}

/// The document that a continuation names.
pub fn open(text: &str, collection: Collection, filter: Option<&str>) -> Option<(String, String)> {
    Continuation::decode(text, collection, filter).ok().map(|found| (found.partition, found.id))
}
