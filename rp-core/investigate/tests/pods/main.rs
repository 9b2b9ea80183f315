//! Investigations on a real API server, with the rights and the policies of `deploy/investigate`, a node of kwok and a kubelet.

mod api;
mod ends;
mod life;
mod objects;
mod sandbox;
