//! The resource provider's API as ARM and the admin tool meet it: `aro rp` with certificates of the test on real stores,
//! hostile requests, and what the portal shows of it.

mod callers;
mod detectors;
mod hostile;
mod installations;
mod mirror;
mod requests;
mod site;
mod stores;
mod workers;
