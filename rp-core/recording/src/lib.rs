//! Recordings of sessions: format, sealing, disk and blob storage, search.
