//! From text to a checked tree: TOML with places, overrides, the shape that the structs ask for, and mistakes.

pub mod diagnostic;
pub(crate) mod diagnostics;
pub(crate) mod mistakes;
pub(crate) mod overlay;
pub(crate) mod parse;
pub(crate) mod rules;
pub(crate) mod scalar;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod tree;
