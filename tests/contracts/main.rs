//! Contracts of the workspace with itself and with the world: arrows between crates, routes and callers, generated
//! files, dependencies, fuzz targets, citations and links, the systems checklist, the threat model, text that no file
//! may contain, lookups of a cluster's members by name, cells of CSV, command lines in documents, dashboards.

mod arrows;
mod citations;
mod cluster_types;
mod command_lines;
mod csv;
mod dashboards;
mod dependencies;
mod deploy;
mod fuzz;
mod generated;
mod links;
mod monitoring;
mod packages;
mod routes;
mod security;
mod stores;
mod swagger;
mod systems;
mod wiring;
mod words;
