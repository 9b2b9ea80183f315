//! Grants, rights, policy, tokens; the grant cache; the directory over the store.
