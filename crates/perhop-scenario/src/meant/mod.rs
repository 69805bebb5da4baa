//! The meaning of a scenario: the model that a driver runs, its elements, routes and cost.

mod applications;
mod code;
pub mod cost;
pub mod elements;
mod flows;
pub mod model;
pub mod routes;
