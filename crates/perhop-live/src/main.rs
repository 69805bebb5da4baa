//! `perhop-live`: the part of `perhop emulate` that needs privileges. It reads a scenario, runs it on real packets and writes JSON.
//!
//! `perhop-live run SCENARIO OUT [--tied] [--trace KIND]... [--pcap LINK=FILE]...`, `perhop-live differences SCENARIO`, `perhop-live parity SCENARIO`, `perhop-live probe`. Tied, it ends when its
//! standard input does, as it does when whoever started it has ended, however that was. Exit status as perhop's: 0 done, 2 usage,
//! 3 a scenario that cannot be run on a kernel, 7 this machine lacks something, 1 anything else.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use perhop_core::packet::Color;
use perhop_live::honour::{Honoured, honour};
use perhop_live::kernel::{Namespace, Tun, enter_user_namespace, is_root, more_files, realtime};
use perhop_live::parity::replay;
use perhop_live::run::Asked;
use perhop_live::{output, run};
use perhop_scenario::Loaded;
use perhop_sim::tables::{TRACES, Table, trace_kinds};
use perhop_sim::{PacketEvent, TraceKinds};

/// Why it ended: what to say, with which status.
struct Failure(u8, String);

const USAGE: &str = "usage: perhop-live run SCENARIO OUT [--tied] [--trace KIND]... [--pcap LINK=FILE]... | perhop-live differences SCENARIO | perhop-live parity SCENARIO | perhop-live probe";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["differences", scenario] => differences(scenario),
        ["parity", scenario] => parity(scenario),
        ["probe"] => probe(),
        ["run", scenario, out, ref options @ ..] => {
            Options::read(options).and_then(|o| live(scenario, out, &o))
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

/// What a run is asked for beside its tables.
#[derive(Default)]
struct Options {
    tied: bool,
    traces: Vec<&'static Table>,
    captures: Vec<(String, String)>,
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
                "--pcap" => words.next().and_then(|file| {
                    // a link's name has no `=`
                    let (link, path) = file.split_once('=')?;
                    options.captures.push((link.to_owned(), path.to_owned()));
                    Some(())
                }),
                _ => None,
            };
            known.ok_or_else(|| Failure(2, format!("{word}: {USAGE}")))?;
        }
        Ok(options)
    }

    /// The files of the captures.
    fn files(&self) -> io::Result<Vec<(String, Box<dyn Write + Send>)>> {
        let open = |(link, path): &(String, String)| -> io::Result<(String, Box<dyn Write + Send>)> {
            Ok((link.clone(), Box::new(BufWriter::new(open_file(path)?))))
        };
        self.captures.iter().map(open).collect()
    }
}

/// A file to be written. One that is there keeps its owner and its mode: root writes what is another's.
fn open_file(path: &str) -> io::Result<File> {
    // not with O_CREAT: that would be refused in a folder like /tmp (fs.protected_regular)
    match File::options().write(true).truncate(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => File::create_new(path),
        opened => opened,
    }
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

/// What namespaces, devices and their many descriptors need.
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

fn live(path: &str, out: &str, options: &Options) -> Result<(), Failure> {
    let (loaded, honoured) = read(path)?;
    rights()?;
    if options.tied {
        // only now: a process with several threads cannot make a user namespace
        std::thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            std::process::exit(1);
        });
    }
    let scenario = &loaded.scenario;
    let traces = &options.traces[..];
    let captures = options.files().map_err(|error| Failure(7, format!("a capture: {error}")))?;
    let all = scenario.run.duration.as_secs_f64();
    let tell = |at: perhop_core::time::Instant| eprintln!("at {:.1} of {all:.1} s", at.as_secs_f64());
    let finished = run(scenario, &honoured, trace_kinds(traces), Asked { arrivals: None, captures }, tell)
        .map_err(lacking)?;
    let written = open_file(out).and_then(|file| {
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
    let live = run(
        scenario,
        &honoured,
        kinds,
        Asked { arrivals: Some(&mut arrivals), captures: Vec::new() },
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
    let namespace = Namespace::new().map_err(lacking)?;
    let device = namespace.inside(|| Tun::open("tun0")).err().map(|error| error.to_string());
    println!("{}", serde_json::json!({"device": device, "priority": realtime(1).name()}));
    Ok(())
}

fn lacking(error: std::io::Error) -> Failure {
    use std::io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    let status = if matches!(error.kind(), PermissionDenied | NotFound | Unsupported) { 7 } else { 1 };
    Failure(status, format!("{error}; `perhop doctor` says what this machine lacks"))
}
