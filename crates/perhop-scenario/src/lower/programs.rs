//! Program text of elements in Python.

use crate::meant::model::Code;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::Clock;

/// Fills in the text of an element that is written at `at`; returns whether there is nothing to report.
pub(crate) fn give(code: Option<&mut Code>, clock: Clock, at: &[Step], report: &mut Report) -> bool {
    let Some(code) = code else { return true };
    if clock == Clock::Live {
        let rule = "an element in Python runs in virtual time alone: real packets would wait for its calls";
        let hint = "take an element of perhop, or leave `run.clock` out";
        report.error(&[at, &steps!["kind"]].concat(), rule, Some(hint.to_owned()));
        return false;
    }
    let at = [at, &steps!["file"]].concat();
    let Some(file) = report.file(&at, &code.file) else { return false };
    match std::str::from_utf8(&file.bytes) {
        Ok(text) => code.text = text.into(),
        Err(error) => {
            let rule = format!("`{}` is not text: byte {} is not UTF-8", code.file, error.valid_up_to());
            report.error(&at, rule, Some("save it as UTF-8".to_owned()));
            return false;
        }
    }
    true
}
