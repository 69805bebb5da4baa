//! Columns that the labels of flows make: which there are depends on the scenario.

use std::collections::BTreeMap;

use perhop_scenario::words::labels::Labels;

use super::{Run, Table, flows};

impl<'a> Run<'a> {
    /// The columns that labels add to `table` after its own, by name: text, or nothing where a flow lacks the label.
    #[must_use]
    pub fn labels(&self, table: &Table) -> BTreeMap<&'a str, Vec<Option<&'a str>>> {
        let rows: Vec<&'a Labels> = match table.name {
            name if name == flows::FLOWS.name => self.scenario.flows.iter().map(|f| &*f.labels).collect(),
            name if name == flows::UDP.name => self.scenario.udp.iter().map(|f| &*f.labels).collect(),
            _ => Vec::new(),
        };
        let mut columns = BTreeMap::new();
        for (i, labels) in rows.iter().enumerate() {
            for (name, value) in *labels {
                let column = columns.entry(name.as_str()).or_insert_with(|| vec![None; rows.len()]);
                column[i] = Some(value.as_str());
            }
        }
        columns
    }
}
