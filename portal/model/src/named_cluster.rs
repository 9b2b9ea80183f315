//! A cluster as people name it.

use rp_documents::ResourceId;

use crate::state::PortalState;

/// A resource id, or the one cluster of that name.
pub fn cluster(state: &PortalState, text: &str) -> Option<ResourceId> {
    if let Ok(id) = ResourceId::parse(text) {
        return Some(id);
    }
    let snapshot = state.model.index.snapshot();
    let mut named = snapshot.entries.iter().filter(|entry| entry.id.name().eq_ignore_ascii_case(text));
    let first = named.next()?;
    named.next().is_none().then(|| first.id.clone())
}
