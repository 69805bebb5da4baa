//! Results as Python dicts of columns.

use std::collections::BTreeMap;

use numpy::{Element, PyArray1};
use perhop_sim::tables::{OPTIONAL, Of, Run, TABLES, TRACES, Table};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// Every table, those of traces included: name, columns, meaning, and whether it is there only sometimes.
#[pyfunction]
pub fn tables(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    let optional = OPTIONAL.into_iter().map(|table| (table, true, false));
    let always = TABLES.into_iter().map(|table| (table, false, false));
    let traces = TRACES.into_iter().map(|table| (table, false, true));
    for (table, optional, trace) in always.chain(optional).chain(traces) {
        let columns = PyList::empty(py);
        for column in table.columns {
            let item = PyDict::new(py);
            item.set_item("name", column.name)?;
            item.set_item("unit", column.unit)?;
            item.set_item("since", column.since)?;
            item.set_item("doc", column.doc)?;
            item.set_item("type", column.of.name())?;
            columns.append(item)?;
        }
        let item = PyDict::new(py);
        item.set_item("name", table.name)?;
        item.set_item("since", table.since)?;
        item.set_item("doc", table.doc)?;
        item.set_item("optional", optional)?;
        item.set_item("trace", trace)?;
        item.set_item("columns", columns)?;
        list.append(item)?;
    }
    Ok(list)
}

/// Which of `total` values in order, counted from 1, is the first that `permille` thousandths of all are not above.
#[pyfunction]
pub const fn nearest_rank(total: u64, permille: u64) -> u64 {
    perhop_core::histogram::nearest_rank(total, permille)
}

/// By name what `frame` makes of the columns of each of `tables`, one after the other, so that columns take the room of one.
pub fn to_python<'py>(
    py: Python<'py>,
    run: &Run<'_>,
    tables: impl IntoIterator<Item = &'static Table>,
    frame: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for table in tables {
        dict.set_item(table.name, frame.call1((table.name, columns(py, run, table)?))?)?;
    }
    Ok(dict)
}

/// The columns of a table by their names.
pub fn columns<'py>(py: Python<'py>, run: &Run<'_>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for column in table.columns {
        columns.set_item(column.name, values(py, run, (table.rows)(run), column.of)?)?;
    }
    for (name, values) in run.labels(table) {
        let words = values.into_iter().map(|word| word.map(|word| PyString::intern(py, word)));
        columns.set_item(name, PyList::new(py, words.collect::<Vec<_>>())?)?;
    }
    Ok(columns)
}

fn values<'py>(py: Python<'py>, run: &Run<'_>, rows: usize, of: Of) -> PyResult<Bound<'py, PyAny>> {
    Ok(match of {
        Of::Text(read) => words(py, (0..rows).map(|i| read(run, i)))?,
        Of::Count(read) => numbers(py, rows, |i| read(run, i)),
        Of::Modulo32(read) => numbers(py, rows, |i| read(run, i)),
        Of::Integer(read) => numbers(py, rows, |i| read(run, i)),
        Of::Real(read) => numbers(py, rows, |i| read(run, i)),
    })
}

/// Each word once, and for each row the number of its own: names recur in long tables.
fn words<'py, 'a>(py: Python<'py>, rows: impl Iterator<Item = &'a str>) -> PyResult<Bound<'py, PyAny>> {
    let (mut known, mut words, mut last) = (BTreeMap::new(), Vec::new(), (None, 0));
    let number = |word: &'a str| {
        if last.0 != Some(word) {
            let number = *known.entry(word).or_insert_with(|| {
                words.push(word);
                words.len() - 1
            });
            last = (Some(word), u32::try_from(number).unwrap_or(u32::MAX));
        }
        last.1
    };
    let numbers: Vec<u32> = rows.map(number).collect();
    (PyList::new(py, words)?, PyArray1::from_vec(py, numbers)).into_bound_py_any(py)
}

fn numbers<T: Element>(py: Python<'_>, rows: usize, read: impl Fn(usize) -> T) -> Bound<'_, PyAny> {
    PyArray1::from_iter(py, (0..rows).map(read)).into_any()
}
