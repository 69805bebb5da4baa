//! Files that a scenario names: their names as they are written, and who reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::words::units::{UnitError, text};

/// The name of a file beside the scenario: parts with `/` between them, none of them `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

text!(
    FileName,
    "file-name",
    "A file in the folder of the scenario, or in one below it.",
    ["lte.trace", "traces/lte.csv"]
);

impl FileName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FileName {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let refused =
            |rule: &str, hint: &str| Err(UnitError { rule: rule.to_owned(), hint: hint.to_owned() });
        if text.chars().any(char::is_control) {
            return refused("a control character is in no name of a file", "rename the file");
        }
        if text.starts_with('/') || text.split('/').any(|part| part == "..") {
            return refused(
                "a file that a scenario names is in the scenario's folder or below it",
                "copy it there, or link to it",
            );
        }
        if text.split('/').any(|part| part.is_empty() || part == ".") {
            return refused(
                "a part of the name is missing",
                "write it as in `lte.trace` or `traces/lte.trace`",
            );
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Its contents.
    pub bytes: Arc<[u8]>,
    /// Their SHA-256, in hexadecimal.
    pub sha256: String,
}

/// The files that a scenario names and was given, by name.
pub type NamedFiles = BTreeMap<FileName, NamedFile>;

/// A reader of the files that a scenario names.
pub trait Files {
    /// The file called `name`.
    ///
    /// # Errors
    /// Why it cannot be read, as the end of a sentence that begins with its name.
    fn read(&self, name: &FileName) -> Result<NamedFile, String>;
}

/// No file at all.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &FileName) -> Result<NamedFile, String> {
        Err("cannot be read: this scenario came as text, without a folder".to_owned())
    }
}
