//! `perhop-bench`: speed and memory of the engine, without Python. docs/benchmarks.md says what is measured and how.
//!
//! Exit codes: 0 done, 1 a run that broke an invariant or two runs that differ, 2 usage.

mod allocator;
mod cases;
mod measure;
mod ns2;
mod report;

use std::process::{Command, ExitCode, Stdio};

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
    /// What this program asks of itself: one run of one case, or of its first half, as JSON.
    once: bool,
    half: bool,
}

fn main() -> ExitCode {
    let chosen = parse(std::env::args().skip(1)).and_then(|args| Ok((cases::choose(&args.names)?, args)));
    let result = match chosen {
        Err(message) => Err((2, message)),
        Ok((_, Arguments { help: true, .. })) => {
            print!("{USAGE}");
            Ok(())
        }
        Ok((chosen, Arguments { once: true, half, .. })) => {
            once(&chosen[0], half).map_err(|message| (1, message))
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
            "--half" => parsed.half = true,
            "--case" => parsed.names.push(words.next().ok_or("--case needs a name")?),
            other => match other.strip_prefix("--case=") {
                Some(name) => parsed.names.push(name.to_owned()),
                None => return Err(format!("unknown argument {other:?}\n\n{USAGE}")),
            },
        }
    }
    Ok(parsed)
}

/// Runs `case` once and prints the figures.
fn once(case: &cases::Case, half: bool) -> Result<(), String> {
    let mut scenario = case.scenario()?;
    if half {
        measure::halve(&mut scenario);
    }
    println!("{}", json!(measure::run(&scenario)?));
    Ok(())
}

/// Has another process do that.
fn run_apart(case: &cases::Case, half: bool) -> Result<measure::Run, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", case.id);
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.args(["--once", "--case", case.id]).args(half.then_some("--half")).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&"a run failed"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// Runs the cases in rounds, so that all of them meet the machine's quiet and busy minutes alike.
fn bench(chosen: &[cases::Case], json: bool) -> Result<(), String> {
    let say = |line: &str| if json { eprintln!("{line}") } else { println!("{line}") };
    let mut runs = vec![Vec::with_capacity(measure::RUNS); chosen.len()];
    let mut ns2 = Err(format!("{} was not asked for", ns2::CASE));
    for round in 1..=measure::RUNS {
        for (case, runs) in chosen.iter().zip(&mut runs) {
            eprintln!("{}: run {round} of {}", case.id, measure::RUNS);
            runs.push(run_apart(case, false)?);
            if case.id == ns2::CASE {
                ns2 = if round == 1 { ns2::Runs::new(&case.scenario()?) } else { ns2 };
                ns2 = ns2.and_then(ns2::Runs::add);
            }
        }
    }
    let mut rows = Vec::new();
    for (case, runs) in chosen.iter().zip(&runs) {
        let half = run_apart(case, true)?;
        let measured = measure::measurement(&half, runs).map_err(|error| format!("{}: {error}", case.id))?;
        rows.push((*case, measured));
    }
    let ns2 = ns2.map(|runs| runs.measurement());
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
