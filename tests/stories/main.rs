//! Stories of the whole system on real parts: what a person does, and what may go wrong meanwhile.

mod audit;
mod canary;
mod command_life;
mod command_line;
mod door;
mod drain;
mod elevation;
mod exec_plugin;
mod explore;
mod faults;
mod grants_life;
mod hostile;
mod kill;
mod kubectl;
mod pages_life;
mod parts;
mod prom;
mod replicas;
mod revoke;
mod serve;
mod sign_in;
mod simulated;
mod store;
mod streams;
mod terminal;
mod world;
