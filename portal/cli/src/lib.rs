//! Verbs for people: they talk to the JSON API.
