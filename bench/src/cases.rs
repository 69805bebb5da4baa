//! The cases: a scenario file each, or one file with overrides.

use perhop_scenario::model::Scenario;

const FULL_100: &str = include_str!("../cases/full-100.toml");
const DUMBBELL_100: &str = include_str!("../cases/dumbbell-100.toml");
const DUMBBELL_1000: &str = include_str!("../cases/dumbbell-1000.toml");
const GROWTH: &str = include_str!("../cases/growth.toml");
const LOSSY: &str = include_str!("../cases/lossy.toml");
const DIFFSERV: &str = include_str!("../cases/diffserv.toml");

/// Bottleneck rate per flow of the growth cases, bit/s.
const GROWTH_RATE: u64 = 100_000;
/// Bottleneck buffer per flow of the growth cases, packets.
const GROWTH_BUFFER: u64 = 4;

/// A case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name on the command line.
    pub id: &'static str,
    file: &'static str,
    source: &'static str,
    growth: Option<Growth>,
    /// What the case changes beside that.
    change: Option<&'static str>,
}

/// How large a growth case is.
#[derive(Clone, Copy, Debug)]
struct Growth {
    flows: u64,
    /// Chosen for about 2 million packet-hops, ms.
    duration: u64,
}

const fn as_written(id: &'static str, file: &'static str, source: &'static str) -> Case {
    Case { id, file, source, growth: None, change: None }
}

const fn changed(case: Case, id: &'static str, change: &'static str) -> Case {
    Case { id, change: Some(change), ..case }
}

const fn growth(id: &'static str, flows: u64, duration: u64) -> Case {
    let growth = Some(Growth { flows, duration });
    Case { id, file: "bench/cases/growth.toml", source: GROWTH, growth, change: None }
}

const DUMBBELL: Case = as_written("dumbbell-100", "bench/cases/dumbbell-100.toml", DUMBBELL_100);
const LOSSES: Case = as_written("lossy-reno", "bench/cases/lossy.toml", LOSSY);

/// The case that stands for the work perhop is for: SACK, a meter of three colours for each flow, a queue of three levels.
pub const HEADLINE: &str = "full-100";

/// Every case, the headline first.
pub const ALL: [Case; 13] = [
    as_written(HEADLINE, "bench/cases/full-100.toml", FULL_100),
    DUMBBELL,
    as_written("dumbbell-1000", "bench/cases/dumbbell-1000.toml", DUMBBELL_1000),
    changed(DUMBBELL, "fifo-100", "port.r1-r2.class.all.queue={ kind = \"fifo\", limit = \"150p\" }"),
    as_written("diffserv-100", "bench/cases/diffserv.toml", DIFFSERV),
    growth("growth-10", 10, 2_800_000),
    growth("growth-100", 100, 280_000),
    growth("growth-1000", 1_000, 28_000),
    growth("growth-10000", 10_000, 3_500),
    growth("growth-100000", 100_000, 250),
    LOSSES,
    changed(LOSSES, "lossy-newreno", "flow.bulk.tcp.recovery=newreno"),
    changed(LOSSES, "lossy-sack", "flow.bulk.tcp.recovery=sack"),
];

impl Case {
    /// What the scenario file is changed by, as for `perhop run -s`.
    pub fn overrides(&self) -> Vec<String> {
        let Some(Growth { flows, duration }) = self.growth else {
            return self.change.iter().map(ToString::to_string).collect();
        };
        vec![
            format!("node.s.count={flows}"),
            format!("node.d.count={flows}"),
            format!("link.r1-r2.rate={}bit/s", flows * GROWTH_RATE),
            format!("port.r1-r2.class.all.queue.limit={}p", flows * GROWTH_BUFFER),
            format!("run.duration={duration}ms"),
            format!("run.interval={duration}ms"),
        ]
    }

    /// The scenario.
    ///
    /// # Errors
    /// The case, and what is wrong with its scenario file.
    pub fn scenario(&self) -> Result<Scenario, String> {
        perhop_scenario::load(self.source.as_bytes(), self.file, &self.overrides())
            .map(|loaded| loaded.scenario)
            .map_err(|found| format!("{}: {found:?}", self.id))
    }
}

/// The cases named, in their own order; every case where none is named.
///
/// # Errors
/// The first name that is no case, with the nearest one that is.
pub fn choose(names: &[String]) -> Result<Vec<Case>, String> {
    for name in names {
        if ALL.iter().all(|case| case.id != name) {
            let ids: Vec<&str> = ALL.iter().map(|case| case.id).collect();
            let near = ids.iter().max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
            let hint = near.filter(|id| strsim::jaro(id, name) > 0.7);
            let hint = hint.map_or(String::new(), |id| format!("did you mean {id}? "));
            return Err(format!("no case is called {name:?}; {hint}Cases: {}", ids.join(", ")));
        }
    }
    Ok(ALL.into_iter().filter(|case| names.is_empty() || names.iter().any(|n| n == case.id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_valid_scenario_with_the_flows_its_name_says() {
        for case in ALL.iter().filter(|case| case.id != "growth-100000") {
            let scenario = case.scenario().expect(case.id);
            let flows = scenario.flows.len();
            if case.id.starts_with("lossy") {
                assert_eq!(flows, 40, "{}", case.id);
            } else {
                assert!(case.id.ends_with(&format!("-{flows}")), "{}: {flows} flows", case.id);
            }
        }
    }

    /// `perhop bench` looks names up in the file before it builds this program.
    #[test]
    fn the_file_of_names_has_every_case() {
        let ids: Vec<&str> = ALL.iter().map(|case| case.id).collect();
        assert_eq!(include_str!("../cases/names.txt").lines().collect::<Vec<_>>(), ids);
    }

    #[test]
    fn a_name_that_is_no_case_is_answered_with_the_nearest() {
        let error = choose(&["dumbel-100".to_owned()]).expect_err("no such case");
        assert!(error.contains("did you mean dumbbell-100?"), "{error}");
        assert_eq!(choose(&[]).map(|c| c.len()), Ok(ALL.len()));
    }
}
