//! Many runs on several threads; a run never shares state with another.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use perhop_scenario::{Diagnostic, Loaded, load};
use perhop_sim::{Results, TraceKinds};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error;
use crate::simulation::to_python;

type Outcome = Result<(Loaded, Results), Vec<Diagnostic>>;
type Job = (Vec<u8>, String, Vec<String>);

/// Runs every job `(source, name, overrides)` on `threads` threads; results come in the order of the jobs.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn run_batch(py: Python<'_>, jobs: Vec<Job>, threads: usize) -> PyResult<Bound<'_, PyList>> {
    let outcomes = py.detach(|| run_all(&jobs, threads.max(1)));
    let list = PyList::empty(py);
    for outcome in outcomes {
        let (loaded, results) = outcome.map_err(|diagnostics| error::raise(py, &diagnostics))?;
        list.append(to_python(py, &loaded, &results, &[])?)?;
    }
    Ok(list)
}

fn run_all(jobs: &[Job], threads: usize) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            scope.spawn(|| {
                while let Some((at, job)) = take(jobs, &next) {
                    let outcome = run(job);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn take<'a>(jobs: &'a [Job], next: &AtomicUsize) -> Option<(usize, &'a Job)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).map(|job| (at, job))
}

fn run((source, name, overrides): &Job) -> Outcome {
    let loaded = load(source, name, overrides)?;
    let results = perhop_sim::Simulation::new(&loaded.scenario, TraceKinds::default()).finish();
    Ok((loaded, results))
}
