//! `perhop-bench`: speed and memory of the engine, without Python. docs/benchmarks.md says what is measured and how.
//!
//! Exit codes: 0 done, 1 a run that broke an invariant or two runs that differ, 2 usage.

mod allocator;
mod cases;
mod measure;
mod ns2;
mod report;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

const USAGE: &str = "\
Usage: perhop-bench [--json] [--case ID]...

  --json      figures as JSON on standard output, the table on standard error
  --case ID   only this case; may be repeated
";

struct Arguments {
    json: bool,
    names: Vec<String>,
    help: bool,
}

fn main() -> ExitCode {
    let chosen = parse(std::env::args().skip(1)).and_then(|args| Ok((cases::choose(&args.names)?, args)));
    let result = match chosen {
        Err(message) => Err((2, message)),
        Ok((_, Arguments { help: true, .. })) => {
            print!("{USAGE}");
            Ok(())
        }
        Ok((chosen, args)) => bench(&chosen, args.json).map_err(|message| (1, message)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, message)) => {
            eprintln!("error: {message}");
            ExitCode::from(code)
        }
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut parsed = Arguments { json: false, names: Vec::new(), help: false };
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => parsed.json = true,
            "--help" | "-h" => parsed.help = true,
            "--case" => parsed.names.push(words.next().ok_or("--case needs a name")?),
            other => match other.strip_prefix("--case=") {
                Some(name) => parsed.names.push(name.to_owned()),
                None => return Err(format!("unknown argument {other:?}\n\n{USAGE}")),
            },
        }
    }
    Ok(parsed)
}

/// Runs the cases in rounds, so that all of them meet the machine's quiet and busy hours alike.
fn bench(chosen: &[cases::Case], json: bool) -> Result<(), String> {
    let say = |line: &str| if json { eprintln!("{line}") } else { println!("{line}") };
    let mut all = Vec::new();
    for case in chosen {
        eprintln!("{}: the first half", case.id);
        let scenario = case.scenario().map_err(|found| format!("{}: {found:?}", case.id))?;
        let runs = measure::Runs::new(scenario).map_err(|error| format!("{}: {error}", case.id))?;
        all.push((*case, runs));
    }
    let mut ns2 = Err(format!("{} was not asked for", ns2::CASE));
    for round in 1..=measure::RUNS {
        for (case, runs) in &mut all {
            eprintln!("{}: run {round} of {}", case.id, measure::RUNS);
            runs.add().map_err(|error| format!("{}: {error}", case.id))?;
            if case.id == ns2::CASE {
                ns2 = if round == 1 { ns2::Runs::new(runs.scenario()) } else { ns2 };
                ns2 = ns2.and_then(ns2::Runs::add);
            }
        }
    }
    let ns2 = ns2.map(|runs| runs.measurement());
    let rows: Vec<report::Row> = all.iter().map(|(case, runs)| (*case, runs.measurement())).collect();
    say(report::HEAD);
    for row in &rows {
        say(&report::line(row));
    }
    say("");
    for remark in report::remarks(&rows, &ns2) {
        say(&format!("- {remark}"));
    }
    if json {
        println!("{:#}", report::json(&rows, &ns2));
    }
    Ok(())
}
