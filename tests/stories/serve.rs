//! `aro serve` on real parts: a foreign OpenID provider, a real browser, a real Kubernetes.

mod admin;
mod main_job;
mod pages;
mod process;
pub(crate) mod served;
mod sign_in;
mod sign_in_life;
