//! Results as Python dicts of columns.

use numpy::{Element, PyArray1};
use perhop_sim::tables::{OPTIONAL, Of, Run, TABLES, TRACES, Table};
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

/// The columns of `tables` by the table's name.
pub fn to_python<'py>(
    py: Python<'py>,
    run: &Run<'_>,
    tables: impl IntoIterator<Item = &'static Table>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for table in tables {
        let columns = PyDict::new(py);
        for column in table.columns {
            columns.set_item(column.name, values(py, run, (table.rows)(run), column.of)?)?;
        }
        for (name, values) in run.labels(table) {
            let words = values.into_iter().map(|word| word.map(|word| PyString::intern(py, word)));
            columns.set_item(name, PyList::new(py, words.collect::<Vec<_>>())?)?;
        }
        dict.set_item(table.name, columns)?;
    }
    Ok(dict)
}

fn values<'py>(py: Python<'py>, run: &Run<'_>, rows: usize, of: Of) -> PyResult<Bound<'py, PyAny>> {
    Ok(match of {
        // names recur in long tables: equal ones share one Python object
        Of::Text(read) => PyList::new(py, (0..rows).map(|i| PyString::intern(py, read(run, i))))?.into_any(),
        Of::Count(read) => numbers(py, rows, |i| read(run, i)),
        Of::Modulo32(read) => numbers(py, rows, |i| read(run, i)),
        Of::Integer(read) => numbers(py, rows, |i| read(run, i)),
        Of::Real(read) => numbers(py, rows, |i| read(run, i)),
    })
}

fn numbers<T: Element>(py: Python<'_>, rows: usize, read: impl Fn(usize) -> T) -> Bound<'_, PyAny> {
    PyArray1::from_iter(py, (0..rows).map(read)).into_any()
}
