//! Tables as data: what their descriptions promise, and that every value can be read.

use std::collections::BTreeSet;

use perhop_scenario::load;
use perhop_scenario::words::labels::OWN_COLUMNS;
use perhop_sim::tables::{FORMAT, Of, Run, TABLES, TRACES, Table};
use perhop_sim::{Simulation, Trace};

use crate::common::ALL;
use crate::determinism::{DIFFSERV, SHORT};

fn every() -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter().chain(TRACES)
}

#[test]
fn tables_and_columns_are_described() {
    let names: BTreeSet<_> = every().map(|table| table.name).collect();
    assert_eq!(names.len(), TABLES.len() + TRACES.len());
    for table in every() {
        assert!((1..=FORMAT).contains(&table.since) && !table.doc.is_empty(), "{}", table.name);
        let columns: BTreeSet<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(columns.len(), table.columns.len(), "{}", table.name);
        for column in table.columns {
            let name = format!("{}.{}", table.name, column.name);
            assert!((table.since..=FORMAT).contains(&column.since), "{name}");
            assert!(!column.doc.is_empty() && !column.doc.contains(['|', '\n']), "{name}");
            let endings = [("_bit_s", "bit/s"), ("_s", "s"), ("_bytes", "byte"), ("_packets", "packets")];
            let known = endings.iter().find(|(ending, _)| column.name.ends_with(ending));
            let windows = table.name == "tcp";
            assert!(windows || known.is_none_or(|(_, unit)| *unit == column.unit), "{name}: {}", column.unit);
        }
    }
}

#[test]
fn no_label_can_be_called_as_a_column() {
    let of_flows = TABLES.into_iter().filter(|table| ["flows", "udp"].contains(&table.name));
    let names: BTreeSet<_> = of_flows.flat_map(|table| table.columns).map(|column| column.name).collect();
    assert!(names.iter().eq(&OWN_COLUMNS), "written/labels.rs has other names than {names:?}");
}

#[test]
fn labels_are_columns() {
    let labels = "labels = { load = \"high\", arm = \"two\" }\nname = \"bulk\"";
    let text = DIFFSERV.replacen("name = \"bulk\"", labels, 1);
    let overrides: Vec<String> = SHORT.iter().map(ToString::to_string).collect();
    let loaded = load(text.as_bytes(), "diffserv.toml", &overrides).expect("labels are allowed");
    let results = Simulation::new(&loaded.scenario, ALL).finish();
    let run = Run::new(&loaded.scenario, &results);
    let flows = run.labels(TABLES[0]);
    assert_eq!(flows.keys().collect::<Vec<_>>(), [&"arm", &"load"]);
    for (flow, value) in loaded.scenario.flows.iter().zip(&flows["load"]) {
        assert_eq!(*value, flow.name.starts_with("bulk").then_some("high"), "{}", flow.name);
    }
    assert!(every().filter(|table| table.name != "flows").all(|table| run.labels(table).is_empty()));
}

#[test]
fn the_format_is_the_newest_of_a_column() {
    assert_eq!(every().flat_map(|table| table.columns).map(|column| column.since).max(), Some(FORMAT));
}

#[test]
fn a_trace_taken_in_parts_is_the_trace() {
    let overrides: Vec<String> = SHORT.iter().map(ToString::to_string).collect();
    let loaded = load(DIFFSERV.as_bytes(), "diffserv.toml", &overrides).expect("the starter is valid");
    let whole = Simulation::new(&loaded.scenario, ALL).finish();
    let mut run = Simulation::new(&loaded.scenario, ALL);
    let mut parts = Vec::new();
    while !run.advance_while_room(run.end(), 1000) {
        let part = run.take_recorded();
        assert!((1000..1100).contains(&part.trace.rows()), "{}", part.trace.rows());
        assert_eq!(part.sites, whole.sites);
        parts.push(part.trace);
    }
    let last = run.finish();
    assert!(parts.len() > 10 && last.event_digest == whole.event_digest);
    parts.push(last.trace);
    fn joined<T: Clone>(parts: &[Trace], of: impl Fn(&Trace) -> &Vec<T>) -> Vec<T> {
        parts.iter().flat_map(|part| of(part).clone()).collect()
    }
    assert_eq!(joined(&parts, |part| &part.packets), whole.trace.packets);
    assert_eq!(joined(&parts, |part| &part.queue), whole.trace.queue);
    assert_eq!(joined(&parts, |part| &part.cwnd), whole.trace.cwnd);
    assert_eq!(format!("{:?}", joined(&parts, |part| &part.tcp)), format!("{:?}", whole.trace.tcp));
}

#[test]
fn every_cell_of_a_run_is_read() {
    let overrides: Vec<String> = SHORT.iter().map(ToString::to_string).collect();
    let loaded = load(DIFFSERV.as_bytes(), "diffserv.toml", &overrides).expect("the starter is valid");
    let results = Simulation::new(&loaded.scenario, ALL).finish();
    let run = Run::new(&loaded.scenario, &results);
    for table in every() {
        let rows = (table.rows)(&run);
        assert!(rows > 0, "{}", table.name);
        for column in table.columns {
            for row in [0, rows / 2, rows - 1] {
                let read = match column.of {
                    Of::Text(read) => !read(&run, row).is_empty() || column.name == "reason",
                    Of::Count(read) => read(&run, row) != u64::MAX || column.name == "ssthresh_bytes",
                    Of::Modulo32(read) => read(&run, row) != u32::MAX,
                    Of::Integer(read) => read(&run, row) >= -1,
                    Of::Real(read) => !read(&run, row).is_infinite(),
                };
                assert!(read, "{}.{} in row {row}", table.name, column.name);
            }
        }
    }
    let (series, intervals) = (&results.series, results.series.times.len());
    let Of::Real(value) = TABLES[3].columns[3].of else { panic!("series.value is a number") };
    for row in 0..intervals * 2 {
        let expected = series.values(row / intervals)[row % intervals];
        assert_eq!(value(&run, row).to_bits(), expected.to_bits(), "row {row}");
    }
}
