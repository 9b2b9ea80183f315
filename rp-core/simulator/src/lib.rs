//! A simulated region: OpenID provider, CONNECT proxy and OpenShift-shaped clusters as real listeners.
