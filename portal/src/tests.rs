//! The portal without a socket: requests go into `app(state)`.

mod kit;
mod kubeconfig;
mod pages;
mod provider;
mod routes;
mod sessions;
mod signin;
