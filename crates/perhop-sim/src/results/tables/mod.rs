//! The tables of a run: each column with its name, unit, meaning, and the first format that has it.
//!
//! Whoever writes or shows tables reads them from here: the Python package, a program in Rust, `docs/results.md`.

mod applications;
mod classes;
mod flows;
mod labels;
mod ports;
mod series;
mod trace;

use perhop_core::packet::Dscp;
use perhop_scenario::model::Scenario;

pub use self::series::SERIES;
use crate::engine::observe::TraceKinds;
use crate::results::Results;
use crate::results::sample::Subject;

/// Version of the tables; raised by one with the first change after a release.
pub const FORMAT: u32 = 3;

/// The tables of every run. Their hashes are combined in this order.
pub const TABLES: [&Table; 8] = [
    &flows::FLOWS,
    &ports::LINKS,
    &ports::QUEUES,
    &SERIES,
    &flows::UDP,
    &flows::MARKS,
    &ports::CONDITIONERS,
    &classes::CLASSES,
];

/// The tables of what few scenarios have, each only where it has rows. Their hashes follow those of [`TABLES`].
pub const OPTIONAL: [&Table; 4] =
    [&applications::APPLICATIONS, &applications::LOADS, &applications::VIDEOS, &applications::CALLS];

/// The tables of what was recorded, each only where it was asked for.
pub const TRACES: [&Table; 4] = [&trace::PACKETS, &trace::QUEUE, &trace::CWND, &trace::TCP];

/// The kinds of records for those of [`TRACES`] that are in `tables`.
#[must_use]
pub fn trace_kinds(tables: &[&Table]) -> TraceKinds {
    let selected = |trace: &Table| tables.iter().any(|table| table.name == trace.name);
    TraceKinds {
        packets: selected(&trace::PACKETS),
        queue: selected(&trace::QUEUE),
        cwnd: selected(&trace::CWND),
        tcp: selected(&trace::TCP),
    }
}

/// A table and how it is read.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The first format that has it.
    pub since: u32,
    /// The subject of a row.
    pub doc: &'static str,
    /// How many rows it has.
    pub rows: fn(&Run<'_>) -> usize,
    /// From left to right.
    pub columns: &'static [Column],
}

/// A column and how it is read.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit, `1` for a ratio; empty for text and for counts of what the name says.
    pub unit: &'static str,
    /// The first format that has it.
    pub since: u32,
    /// Its meaning.
    pub doc: &'static str,
    /// How it is read.
    pub of: Of,
}

/// The type of a column, with what gives the value in a row.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// Words.
    Text(for<'a> fn(&'a Run<'_>, usize) -> &'a str),
    /// A count.
    Count(fn(&Run<'_>, usize) -> u64),
    /// A number modulo 2^32.
    Modulo32(fn(&Run<'_>, usize) -> u32),
    /// A whole number that may be negative.
    Integer(fn(&Run<'_>, usize) -> i64),
    /// A real number; NaN where there is none.
    Real(fn(&Run<'_>, usize) -> f64),
}

impl Of {
    /// The name of the type.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Count(_) => "count",
            Self::Modulo32(_) => "modulo32",
            Self::Integer(_) => "integer",
            Self::Real(_) => "real",
        }
    }
}

/// A finished run, from which the tables are read.
#[derive(Debug)]
pub struct Run<'a> {
    scenario: &'a Scenario,
    results: &'a Results,
    /// The name of each code point.
    marks: Vec<String>,
    /// The paths of the subjects of series, and for each column the number of its own.
    paths: Vec<String>,
    path_of: Vec<usize>,
}

impl<'a> Run<'a> {
    /// The `results` of `scenario`.
    #[must_use]
    pub fn new(scenario: &'a Scenario, results: &'a Results) -> Self {
        let path = |subject: Subject| match subject {
            Subject::Flow(i) => format!("flow.{}", scenario.flows[i].name),
            Subject::Udp(i) => format!("udp.{}", scenario.udp[i].name),
            Subject::Link(i) => format!("link.{}", results.link_names[i]),
            Subject::Queue(i) => results.queues[i].path.clone(),
            Subject::Color(i, color) => format!("{}.{}", results.queues[i].path, color.name()),
            Subject::Conditioner(i) => results.conditioners[i].path.clone(),
        };
        let marks = (0..=u8::MAX).map_while(Dscp::new).map(|mark| mark.to_string()).collect();
        let (mut paths, mut path_of) = (Vec::new(), Vec::with_capacity(results.series.columns.len()));
        // the columns of a subject follow one another
        for of_subject in results.series.columns.chunk_by(|one, next| one.0 == next.0) {
            path_of.extend(of_subject.iter().map(|_| paths.len()));
            paths.push(path(of_subject[0].0));
        }
        Self { scenario, results, marks, paths, path_of }
    }

    /// The tables that are not records: [`TABLES`], and of [`OPTIONAL`] those with rows.
    pub fn tables(&self) -> impl Iterator<Item = &'static Table> + '_ {
        let optional = OPTIONAL.into_iter().filter(|table| (table.rows)(self) > 0);
        TABLES.into_iter().chain(optional)
    }

    fn node(&self, node: usize) -> &str {
        &self.scenario.nodes[node].name
    }

    /// Name of a flow by its number: TCP flows first, then UDP flows.
    fn flow(&self, flow: usize) -> &str {
        match flow.checked_sub(self.scenario.flows.len()) {
            None => &self.scenario.flows[flow].name,
            Some(k) => &self.scenario.udp[k].name,
        }
    }

    fn mark(&self, mark: Dscp) -> &str {
        &self.marks[mark.index()]
    }
}

/// Columns: name, unit, first format, type and value, meaning. The value is that of `$row`, row `$i` of `$run`.
macro_rules! columns {
    (
        $run:ident, $i:ident, $row:ident = $source:expr;
        $($name:literal, $unit:literal, $since:literal, $kind:ident($value:expr), $doc:literal;)*
    ) => {
        &[$($crate::results::tables::Column {
            name: $name,
            unit: $unit,
            since: $since,
            doc: $doc,
            of: $crate::results::tables::Of::$kind(|$run, $i| {
                // names come from the scenario
                #[allow(unused_variables)]
                let $row = &$source;
                $value
            }),
        }),*]
    };
}
use columns;
