//! The portal without a socket: requests go into `app(state)`.

mod backchannel;
mod clients;
mod command_line;
mod kit;
mod kubeconfig;
mod life;
mod looks;
mod pages;
mod provider;
mod queries;
mod routes;
mod sessions;
mod signin;
