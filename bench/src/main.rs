//! `perhop-bench`: speed and memory of the engine, without Python. docs/benchmarks.md says what is measured and how.
//!
//! Exit codes: 0 done, 1 a run that broke an invariant or two runs that differ, 2 usage.

mod allocator;
mod cachegrind;
mod cases;
mod measure;
mod ns2;
mod report;

use std::process::{Command, ExitCode, Stdio};

use cachegrind::{Cost, Counts};
use perhop_core::time::Span;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

const USAGE: &str = "\
Usage: perhop-bench [--json] [--case ID]...

  --json      figures as JSON on standard output, the table on standard error
  --case ID   only this case; may be repeated
";

#[derive(Default)]
struct Arguments {
    json: bool,
    names: Vec<String>,
    help: bool,
    /// What this program asks of itself: one run of one case, perhaps up to a point in simulated time, as JSON.
    once: bool,
    until: Option<Span>,
}

fn main() -> ExitCode {
    let chosen = parse(std::env::args().skip(1)).and_then(|args| Ok((cases::choose(&args.names)?, args)));
    let result = match chosen {
        Err(message) => Err((2, message)),
        Ok((_, Arguments { help: true, .. })) => {
            print!("{USAGE}");
            Ok(())
        }
        Ok((chosen, Arguments { once: true, until, .. })) => {
            once(&chosen[0], until).map_err(|message| (1, message))
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
    let mut parsed = Arguments::default();
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => parsed.json = true,
            "--help" | "-h" => parsed.help = true,
            "--once" => parsed.once = true,
            "--until" => parsed.until = Some(nanos(words.next())?),
            "--case" => parsed.names.push(words.next().ok_or("--case needs a name")?),
            other => match other.strip_prefix("--case=") {
                Some(name) => parsed.names.push(name.to_owned()),
                None => return Err(format!("unknown argument {other:?}\n\n{USAGE}")),
            },
        }
    }
    Ok(parsed)
}

fn nanos(word: Option<String>) -> Result<Span, String> {
    let nanos = word.and_then(|word| word.parse().ok()).ok_or("--until needs a number of nanoseconds")?;
    Ok(Span::from_nanos(nanos))
}

/// Runs `case` once and prints the figures.
fn once(case: &cases::Case, until: Option<Span>) -> Result<(), String> {
    let mut scenario = case.scenario()?;
    if let Some(until) = until {
        measure::shorten(&mut scenario, until);
    }
    println!("{}", json!(measure::run(&scenario)?));
    Ok(())
}

/// How this program is asked for that.
fn run_of(case: &cases::Case, until: Option<Span>) -> Result<(String, Vec<String>), String> {
    let program = std::env::current_exe().map_err(|error| format!("{}: {error}", case.id))?;
    let mut words: Vec<String> = ["--once", "--case", case.id].map(str::to_owned).into();
    words.extend(until.into_iter().flat_map(|until| ["--until".to_owned(), until.as_nanos().to_string()]));
    Ok((program.to_string_lossy().into_owned(), words))
}

/// Has another process do that.
fn run_apart(case: &cases::Case, until: Option<Span>) -> Result<measure::Run, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", case.id);
    let (program, words) = run_of(case, until)?;
    let output = Command::new(program).args(words).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&"a run failed"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// What a hop of `case`, which does `hops`, costs.
fn cost(case: &cases::Case, hops: u64) -> Result<Cost, String> {
    cachegrind::cost(case.scenario()?.run.duration, hops, |until| {
        let (program, words) = run_of(case, Some(until))?;
        let (said, costs) = cachegrind::run(&program, &words)?;
        let run: measure::Run = serde_json::from_str(&said).map_err(|error| error.to_string())?;
        Ok(Counts { hops: run.packet_hops(), costs })
    })
}

/// Runs the cases in rounds, so that all of them meet the machine's quiet and busy minutes alike.
fn bench(chosen: &[cases::Case], json: bool) -> Result<(), String> {
    let say = |line: &str| if json { eprintln!("{line}") } else { println!("{line}") };
    let mut runs = vec![Vec::with_capacity(measure::RUNS); chosen.len()];
    let mut ns2: Vec<(&str, Result<ns2::Runs, String>)> = Vec::new();
    for round in 1..=measure::RUNS {
        for (case, runs) in chosen.iter().zip(&mut runs) {
            eprintln!("{}: run {round} of {}", case.id, measure::RUNS);
            runs.push(run_apart(case, None)?);
            if round == 1 && ns2::CASES.contains(&case.id) {
                ns2.push((case.id, ns2::Runs::new(&case.scenario()?)));
            }
        }
        ns2 = ns2.into_iter().map(|(id, runs)| (id, runs.and_then(ns2::Runs::add))).collect();
    }
    let mut rows = Vec::new();
    for (case, runs) in chosen.iter().zip(&runs) {
        eprintln!("{}: instructions", case.id);
        let half = run_apart(case, Some(measure::half(&case.scenario()?)))?;
        let cost = cost(case, runs[0].packet_hops());
        let measured =
            measure::measurement(&half, runs, cost).map_err(|error| format!("{}: {error}", case.id))?;
        rows.push((*case, measured));
    }
    let ns2: Vec<_> = ns2.into_iter().map(|(id, runs)| (id, runs.map(|runs| runs.measurement()))).collect();
    say(report::HEAD);
    for line in report::lines(&rows, &ns2) {
        say(&line);
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
