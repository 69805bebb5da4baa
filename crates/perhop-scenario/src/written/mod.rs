//! Form of the files: a struct for each table, the words and units of their values, defaults and profiles.

pub mod application;
pub mod campaign;
pub mod conditioner;
pub(crate) mod defaults;
pub mod file;
pub mod port;
pub mod profile;
pub mod promises;
pub mod queue;
pub mod sizes;
pub mod sources;
pub mod tcp;
