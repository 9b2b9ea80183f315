//! Accept loop, TLS with reload, targets, the dialer and its errors.
