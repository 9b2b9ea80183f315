//! The network as every part sees it: who may be reached and how, TLS with reload, the accept loop.
//!
//! `Target` and `trait Directory` live here, so that code that dials a cluster needs neither the store nor
//! the access rules; `rp-access` implements the directory (`contract/rules.md` §2).

pub mod assertion;
pub mod budget;
pub mod clients;
mod dial;
pub mod door;
pub mod http;
pub mod jwt;
pub mod listen;
mod networks;
mod opening;
mod origin;
pub mod rate;
mod stream;
mod target;
pub mod tls;

pub use budget::{Budget, BudgetExceeded, BudgetLimits, Cost};
pub use dial::{ConnectProxy, DialError, Dialer, DialerOptions, Port, PrivateWay, Resolver, Stage};
pub use networks::{Forbidden, Networks};
pub use origin::{Origins, read_header};
pub use rate::{PerMinute, Rates, TooOften, network};
pub use stream::Stream;
pub use target::{
    Credential, Directory, DirectoryError, Endpoint, Source, SshKey, SshMachine, SshTarget, Target,
};
