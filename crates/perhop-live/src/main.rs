//! `perhop-live`: the part of `perhop emulate` that needs privileges. It reads a scenario, runs it on real packets and writes JSON.
//!
//! `perhop-live run SCENARIO OUT [--tied] [--trace KIND]...`, `perhop-live differences SCENARIO`, `perhop-live parity SCENARIO`. Tied, it ends when its
//! standard input does, as it does when whoever started it has ended, however that was. Exit status as perhop's: 0 done, 2 usage,
//! 3 a scenario that cannot be run on a kernel, 7 this machine lacks something, 1 anything else.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use perhop_core::packet::Color;
use perhop_live::honour::{Honoured, honour};
use perhop_live::kernel::{enter_user_namespace, is_root};
use perhop_live::parity::replay;
use perhop_live::{output, run};
use perhop_scenario::Loaded;
use perhop_sim::tables::{TRACES, Table, trace_kinds};
use perhop_sim::{PacketEvent, TraceKinds};

/// Why it ended: what to say, with which status.
struct Failure(u8, String);

const USAGE: &str = "usage: perhop-live run SCENARIO OUT [--tied] [--trace KIND]... | perhop-live differences SCENARIO | perhop-live parity SCENARIO";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["differences", scenario] => differences(scenario),
        ["parity", scenario] => parity(scenario),
        ["run", scenario, out, "--tied", ref traces @ ..] => {
            traces_of(traces).and_then(|traces| live(scenario, out, &traces, true))
        }
        ["run", scenario, out, ref traces @ ..] => {
            traces_of(traces).and_then(|traces| live(scenario, out, &traces, false))
        }
        _ => Err(Failure(2, USAGE.into())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(status, why)) => {
            eprintln!("error: {why}");
            ExitCode::from(status)
        }
    }
}

fn traces_of(words: &[&str]) -> Result<Vec<&'static Table>, Failure> {
    let one = |pair: &[&str]| match pair {
        ["--trace", name] => TRACES.into_iter().find(|table| table.name == *name),
        _ => None,
    };
    let all: Option<Vec<_>> = words.chunks(2).map(one).collect();
    all.ok_or_else(|| Failure(2, format!("not a trace: {}", words.join(" "))))
}

fn read(path: &str) -> Result<(Loaded, Honoured), Failure> {
    let text = std::fs::read(path).map_err(|error| Failure(3, format!("{path}: {error}")))?;
    let loaded = perhop_scenario::load(&text, path, &[]).map_err(|mistakes| {
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Failure(3, told.join("\n"))
    })?;
    let honoured = honour(&loaded.scenario).map_err(|refused| Failure(3, refused.join("\n")))?;
    Ok((loaded, honoured))
}

fn differences(scenario: &str) -> Result<(), Failure> {
    let (_, honoured) = read(scenario)?;
    println!("{}", serde_json::json!(honoured.differences));
    Ok(())
}

/// What namespaces and devices need.
fn rights() -> Result<(), Failure> {
    if is_root() {
        return Ok(());
    }
    enter_user_namespace().map_err(|error| {
        let why = "neither root nor allowed to make a user namespace";
        Failure(7, format!("{why}: {error}; `perhop doctor` says what helps"))
    })
}

fn live(path: &str, out: &str, traces: &[&'static Table], tied: bool) -> Result<(), Failure> {
    let (loaded, honoured) = read(path)?;
    rights()?;
    if tied {
        // only now: a process with several threads cannot make a user namespace
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(1);
        });
    }
    let scenario = &loaded.scenario;
    let all = scenario.run.duration.as_secs_f64();
    let tell = |at: perhop_core::time::Instant| eprintln!("at {:.1} of {all:.1} s", at.as_secs_f64());
    let finished = run(scenario, &honoured, trace_kinds(traces), None, tell).map_err(lacking)?;
    let written = File::create(out).and_then(|file| {
        let mut out = BufWriter::new(file);
        output::write(&mut out, scenario, &finished, traces, &honoured)?;
        out.flush()
    });
    written.map_err(|error| Failure(1, format!("{out}: {error}")))
}

/// Runs live, gives the arrivals to a simulation, and says where their decisions differ.
fn parity(path: &str) -> Result<(), Failure> {
    let (loaded, honoured) = read(path)?;
    rights()?;
    let scenario = &loaded.scenario;
    let kinds = TraceKinds { packets: true, ..TraceKinds::default() };
    let mut arrivals = Vec::new();
    let live = run(scenario, &honoured, kinds, Some(&mut arrivals), |_| ()).map_err(lacking)?.results;
    let simulated = replay(scenario, &arrivals, kinds).map_err(lacking)?;
    let (live, simulated) = (&live.trace.packets, &simulated.trace.packets);
    let differ = live.iter().zip(simulated).filter(|(one, other)| one != other).count()
        + live.len().abs_diff(simulated.len());
    let dropped = live.iter().filter(|step| matches!(step.event, PacketEvent::Dropped(_))).count();
    let coloured = live.iter().filter(|step| step.color != Color::Green).count();
    println!(
        "{}",
        serde_json::json!({
            "arrivals": arrivals.len(), "steps": live.len(), "dropped": dropped, "not_green": coloured, "differ": differ,
        })
    );
    Ok(())
}

fn lacking(error: std::io::Error) -> Failure {
    use std::io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    let status = if matches!(error.kind(), PermissionDenied | NotFound | Unsupported) { 7 } else { 1 };
    Failure(status, format!("{error}; `perhop doctor` says what this machine lacks"))
}
