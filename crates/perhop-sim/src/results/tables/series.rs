//! The table of series: one value a row, series after series.

use super::{Run, Table, columns};

/// Series and interval of a row.
fn cell(run: &Run<'_>, row: usize) -> (usize, usize) {
    let intervals = run.results.series.times.len();
    (row / intervals, row % intervals)
}

/// Series.
pub static SERIES: Table = Table {
    name: "series",
    since: 1,
    doc: "values for each interval",
    rows: |run| run.results.series.columns.len() * run.results.series.times.len(),
    columns: columns! { run, i, at = cell(run, i);
        "time_s", "s", 1, Real(run.results.series.times[at.1].as_secs_f64()), "end of the interval";
        "path", "", 1, Text(&run.paths[run.path_of[at.0]]), "what the value is about";
        "quantity", "", 1, Text(run.results.series.columns[at.0].1.name()), "which value";
        "value", "", 1, Real(run.results.series.values(at.0)[at.1]), "the value, in the unit of the quantity";
    },
};
