//! The portal without a socket: requests go into `app(state)`.

mod backchannel;
mod clients;
mod command_line;
mod kit;
mod kubeconfig;
mod pages;
mod looks;
mod provider;
mod routes;
mod sessions;
mod signin;
