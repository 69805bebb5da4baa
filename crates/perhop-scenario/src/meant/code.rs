//! Program text of elements in Python.

use std::sync::Arc;

use crate::words::files::FileName;

/// The program text of elements in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its file, as the scenario calls it.
    pub file: FileName,
    /// The text of it.
    pub text: Arc<str>,
}

impl Code {
    /// The file, with nothing in it yet.
    pub(crate) fn named(file: &FileName) -> Self {
        Self { file: file.clone(), text: "".into() }
    }
}
