//! Access proxies: authorised target in, bytes out.
