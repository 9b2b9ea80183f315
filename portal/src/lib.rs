//! The web portal: sign-in, sessions, pages, JSON API.
