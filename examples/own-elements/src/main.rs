//! Runs a scenario file that may name the elements of this crate: `cargo run -- scenario.toml`.

use std::process::ExitCode;

use own_elements::elements;
use perhop_scenario::{NoFiles, load_with, render};
use perhop_sim::{Simulation, TraceKinds};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: own-elements FILE")?;
    let elements = elements();
    let loaded = match load_with(&std::fs::read(&file)?, &file, &[], &elements, &NoFiles) {
        Ok(loaded) => loaded,
        Err(mistakes) => {
            mistakes.iter().for_each(|mistake| eprintln!("{}", render(mistake, false)));
            return Ok(ExitCode::from(3));
        }
    };
    loaded.warnings.iter().for_each(|warning| eprintln!("{}", render(warning, false)));
    let results = Simulation::with_elements(&loaded.scenario, TraceKinds::default(), &elements)?.finish();
    for (flow, result) in loaded.scenario.flows.iter().zip(&results.flows) {
        println!("{}: {:.3} Mbit/s", flow.name, result.goodput_bit_s / 1e6);
    }
    for one in &results.conditioners {
        let [green, yellow, red] =
            [one.stats.green, one.stats.yellow, one.stats.red].map(|seen| seen.packets);
        println!("{}: {green} green, {yellow} yellow, {red} red", one.path);
    }
    for one in results.queues.iter().filter(|one| one.stats.dropped.packets > 0) {
        println!("{}: {} of {} dropped", one.path, one.stats.dropped.packets, one.stats.offered.packets);
    }
    results.invariants.iter().for_each(|law| eprintln!("broken invariant: {law}"));
    Ok(if results.invariants.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(4) })
}
