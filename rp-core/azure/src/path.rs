//! Resource ids as paths: they come from documents that customers write.

/// Longest resource id that is asked.
const MOST: usize = 2048;

/// Whether a resource id may stand in a path as it is: whole segments of the characters that names of Azure have,
/// (`*` begins record sets), nothing that would change where the request goes.
pub(crate) fn is_resource_id(id: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.()*".contains(&b);
    let segment = |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(plain);
    id.len() <= MOST && id.strip_prefix('/').is_some_and(|rest| rest.split('/').all(segment))
}

/// A part of a resource id by the word before it, in any case: `after(id, "subnets")`.
pub(crate) fn after<'a>(id: &'a str, word: &str) -> Option<&'a str> {
    let mut parts = id.split('/');
    parts.find(|part| part.eq_ignore_ascii_case(word))?;
    parts.next().filter(|part| !part.is_empty())
}
