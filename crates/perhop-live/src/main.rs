//! `perhop-live`: the part of `perhop emulate` that needs privileges. It runs a scenario on real packets and writes JSON.
//!
//! No argument is a path: it reads the scenario from standard input and writes to descriptors that whoever started it has opened, so
//! that a privilege opens nothing for anybody. Its privileges are gone before the first packet.
//!
//! - `perhop-live run [--tied] [--trace KIND]... [--pcap LINK]...`: standard input is a Unix socket. It brings the descriptor for the
//!   results and one for each capture (messages of one byte with up to 200 each), then the scenario (its length in eight bytes,
//!   the highest first, and its text). Tied, the program ends when the socket does, as it does when whoever started it has
//!   ended, however that was.
//! - `perhop-live differences`, `perhop-live parity`: the scenario is all of standard input.
//! - `perhop-live probe`.
//!
//! Exit status as perhop's: 0 done, 2 usage, 3 a scenario that cannot be run on a kernel, 7 this machine lacks something, 1 anything
//! else.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use perhop_core::packet::Color;
use perhop_live::honour::{Honoured, find_controls, honour};
use perhop_live::kernel::{
    Namespace, Tun, congestion_controls, default_qdisc, descriptors, enter_user_namespace, is_root,
    more_files, ordinary, realtime, text,
};
use perhop_live::parity::replay;
use perhop_live::run::RunRequest;
use perhop_live::{output, run};
use perhop_scenario::Loaded;
use perhop_sim::tables::{TRACES, Table, trace_kinds};
use perhop_sim::{PacketEvent, TraceKinds};

/// Why it ended: what to say, with which status.
struct Failure(u8, String);

const USAGE: &str = "usage: perhop-live run [--tied] [--trace KIND]... [--pcap LINK]... | perhop-live differences | perhop-live parity | perhop-live probe";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["differences"] => differences(),
        ["parity"] => parity(),
        ["probe"] => probe(),
        ["run", ref options @ ..] => Options::read(options).and_then(|options| live(&options)),
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

/// The options of a run beside its tables.
#[derive(Default)]
struct Options {
    tied: bool,
    traces: Vec<&'static Table>,
    /// Links, by name.
    captures: Vec<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let known = match *word {
                "--tied" => {
                    options.tied = true;
                    Some(())
                }
                "--trace" => words.next().and_then(|name| {
                    let table = TRACES.into_iter().find(|table| table.name == *name)?;
                    options.traces.push(table);
                    Some(())
                }),
                "--pcap" => words.next().map(|link| options.captures.push((*link).to_owned())),
                _ => None,
            };
            known.ok_or_else(|| Failure(2, format!("{word}: {USAGE}")))?;
        }
        Ok(options)
    }
}

type Link = (String, Box<dyn Write + Send>);

fn checked(text: &[u8]) -> Result<(Loaded, Honoured), Failure> {
    let loaded = perhop_scenario::load(text, "standard input", &[]).map_err(|mistakes| {
        let messages: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Failure(3, messages.join("\n"))
    })?;
    let mut honoured = honour(&loaded.scenario).map_err(|refused| Failure(3, refused.join("\n")))?;
    find_controls(&loaded.scenario, &congestion_controls()).map_err(|why| Failure(7, why))?;
    if default_qdisc().as_deref() == Some("fq") {
        honoured
            .differences
            .insert("senders: this machine's default qdisc, fq, paces all of them".to_owned());
    }
    Ok((loaded, honoured))
}

/// The scenario that is all of standard input.
fn read() -> Result<(Loaded, Honoured), Failure> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(unheard)?;
    checked(&text)
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn unheard(error: io::Error) -> Failure {
    let why = "it must be a Unix socket; sudo must not log what a program reads (`Defaults!PATH !log_input`)";
    Failure(7, format!("standard input: {error}; {why}"))
}

fn differences() -> Result<(), Failure> {
    let (_, honoured) = read()?;
    println!("{}", serde_json::json!(honoured.differences));
    Ok(())
}

/// The rights for namespaces, devices and their many descriptors.
fn rights() -> Result<(), Failure> {
    more_files().map_err(lacking)?;
    if is_root() {
        return Ok(());
    }
    enter_user_namespace().map_err(|error| {
        let why = "neither root nor allowed to make a user namespace";
        Failure(7, format!("{why}: {error}; `perhop doctor` says what helps"))
    })
}

fn live(options: &Options) -> Result<(), Failure> {
    // room for the descriptors that come
    more_files().map_err(lacking)?;
    let mut files = descriptors(1 + options.captures.len()).map_err(unheard)?.into_iter().map(File::from);
    let (loaded, honoured) = checked(&text().map_err(unheard)?)?;
    rights()?;
    let scenario = &loaded.scenario;
    let traces = &options.traces[..];
    let out = files.next();
    let writer = |(link, file): (&String, File)| -> Link { (link.clone(), Box::new(BufWriter::new(file))) };
    let captures = options.captures.iter().zip(files).map(writer).collect();
    let all = scenario.run.duration.as_secs_f64();
    let report = |at: perhop_core::time::Instant| eprintln!("at {:.1} of {all:.1} s", at.as_secs_f64());
    let ready = if options.tied { tie } else { || () };
    let request = RunRequest { ready, arrivals: None, captures };
    let finished = run(scenario, &honoured, trace_kinds(traces), request, report).map_err(lacking)?;
    let written = out.map_or(Ok(()), |file| {
        let mut out = BufWriter::new(file);
        output::write(&mut out, scenario, &finished, traces, &honoured)?;
        out.flush()
    });
    written.map_err(|error| Failure(7, format!("the results cannot be written: {error}")))
}

/// Ends the process when standard input does.
fn tie() {
    std::thread::spawn(|| {
        // it only waits
        ordinary();
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(1);
    });
}

/// Runs live, gives the arrivals to a simulation, and says where their decisions differ.
fn parity() -> Result<(), Failure> {
    let (loaded, honoured) = read()?;
    rights()?;
    let scenario = &loaded.scenario;
    let kinds = TraceKinds { packets: true, ..TraceKinds::default() };
    let mut arrivals = Vec::new();
    let live = run(
        scenario,
        &honoured,
        kinds,
        RunRequest { ready: || (), arrivals: Some(&mut arrivals), captures: Vec::new() },
        |_| (),
    )
    .map_err(lacking)?
    .results;
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

/// Tries what a run needs, and says what there is: a device (or why there is none), and how the loop would be scheduled.
fn probe() -> Result<(), Failure> {
    rights()?;
    let (_, device) = Namespace::new(|| Ok(Tun::open("tun0").err())).map_err(lacking)?;
    let device = device.map(|error| error.to_string());
    println!("{}", serde_json::json!({"device": device, "priority": realtime(1).name()}));
    Ok(())
}

fn lacking(error: std::io::Error) -> Failure {
    use std::io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    let status = if matches!(error.kind(), PermissionDenied | NotFound | Unsupported) { 7 } else { 1 };
    Failure(status, format!("{error}; `perhop doctor` says what this machine lacks"))
}
