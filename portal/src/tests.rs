//! The portal without a socket: requests go into `app(state)`.

mod actions;
mod aro_operator;
mod backchannel;
mod clients;
mod cluster_pages;
mod command_line;
mod detours;
mod fleet;
mod kit;
mod kubeconfig;
mod life;
mod live;
mod looks;
mod maintenance;
mod notifications;
mod openapi;
mod operations;
mod pages;
mod panics;
mod provider;
mod queries;
mod routes;
mod sessions;
mod signin;
mod ssh;
