//! Queues and meters from outside: what a file says of them, and what those who bring them say of it.

use std::cell::RefCell;

use crate::common::{BASE, lines};
use perhop_core::dscp::Dscp;
use perhop_core::packet::Color;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_scenario::elements::{
    ElementError, Elements, FromSetting, NoElements, Setting, Settings, SettingsTable,
};
use perhop_scenario::model::{CustomControl, CustomMeter, CustomQueue, Meter, Queue};
use perhop_scenario::{Diagnostic, FileName, Files, Loaded, NamedFile, NoFiles, load, load_with};
use perhop_tcp::settings::TcpParams;

/// One queue, `own`, and one meter, `mine`; both take `gain`, a number, and nothing else.
#[derive(Default)]
struct Own {
    requests: RefCell<Vec<(BitRate, bool)>>,
}

fn gain(given: &SettingsTable) -> Result<(), ElementError> {
    Settings::read(given, |settings| settings.need::<f64>("gain").map(drop))
}

impl Elements for Own {
    fn check_queue(&self, queue: &CustomQueue) -> Result<(), ElementError> {
        self.requests.borrow_mut().push((queue.rate, false));
        if queue.name != "own" {
            return Err(ElementError::unknown("queue", &queue.name, [String::from("own")].iter()));
        }
        gain(&queue.settings)
    }

    fn check_meter(&self, meter: &CustomMeter, per_flow: bool) -> Result<(), ElementError> {
        self.requests.borrow_mut().push((BitRate::new(1).expect("not zero"), per_flow));
        if meter.name != "mine" {
            return Err(ElementError::unknown("meter", &meter.name, [String::from("mine")].iter()));
        }
        gain(&meter.settings)
    }
}

const QUEUE: &str = r#"{ kind = "custom", name = "own", limit = "9p", settings = { gain = 2 } }"#;
const METER: &str = r#"{ kind = "custom", name = "mine", settings = { gain = 0.5 } }"#;

fn file(queue: &str, meter: &str) -> String {
    let base = BASE.replace(r#"{ kind = "fifo", limit = "64kB" }"#, queue);
    assert_ne!(base, BASE);
    let conditioner =
        "[[conditioner]]\nname = \"edge\"\nat = \"r\"\nfrom = \"s[*]\"\nmarker = { red = \"drop\" }\n";
    format!("{base}\n{conditioner}meter = {meter}\n")
}

fn with_own(text: &str, changes: &[&str]) -> Result<Loaded, Vec<Diagnostic>> {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    load_with(text.as_bytes(), "test.toml", &changes, &Own::default(), &NoFiles)
}

fn queue_of(loaded: &Loaded) -> CustomQueue {
    let link = loaded.scenario.links.iter().find(|link| link.name == "slow->fast").expect("it is there");
    match &link.port.classes[1].queue {
        Queue::Custom(queue) => queue.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_says_what_they_are_built_from() {
    let loaded = with_own(&file(QUEUE, METER), &[]).expect("no mistake");
    let settings = SettingsTable::from([("gain".to_owned(), Setting::Integer(2))]);
    let rate = BitRate::new(100_000).expect("not zero");
    let wanted =
        CustomQueue { name: "own".to_owned(), limit: QueueSize::Packets(9), rate, settings, code: None };
    assert_eq!(queue_of(&loaded), wanted);
    let edge = &loaded.scenario.conditioners[0];
    let Some(Meter::Custom(meter)) = &edge.meter else { panic!("{:?}", edge.meter) };
    assert_eq!((meter.name.as_str(), meter.settings["gain"].clone()), ("mine", Setting::Number(0.5)));
    let colors = edge.colors.as_ref().expect("a meter from outside may look at colours");
    let af12 = Dscp::af(1, 2).expect("AF12");
    assert_eq!([af12, Dscp::DEFAULT].map(|dscp| colors.color(dscp)), [Color::Yellow, Color::Red]);
}

#[test]
fn settings_may_be_left_out_and_overridden() {
    let bare = file(r#"{ kind = "custom", name = "own" }"#, METER);
    let loaded = with_own(&bare, &["port.slow-fast.class.data.queue.settings.gain=3"]).expect("no mistake");
    let queue = queue_of(&loaded);
    assert_eq!((queue.limit, &queue.settings["gain"]), (QueueSize::Packets(1000), &Setting::Integer(3)));
}

/// Numbers, text and flags stay what they are, and what is resolved means the same.
#[test]
fn what_is_resolved_loads_again() {
    let loaded = with_own(&file(QUEUE, METER), &[]).expect("no mistake");
    let text = loaded.resolved_toml();
    let again = with_own(&text, &[]).expect("no mistake");
    assert_eq!(queue_of(&again), queue_of(&loaded));
    assert_eq!(again.resolved_toml(), text);
}

/// A queue is asked for in front of every link, with its rate; a meter with what `per` says.
#[test]
fn they_are_asked_in_their_place() {
    let own = Own::default();
    let text = file(QUEUE, METER).replace("name = \"edge\"", "name = \"edge\"\nper = \"flow\"");
    load_with(text.as_bytes(), "test.toml", &[], &own, &NoFiles).expect("no mistake");
    let rates: Vec<_> = own.requests.take().iter().map(|(rate, flow)| (rate.bits_per_sec(), *flow)).collect();
    assert_eq!(rates, [(100_000, false), (1, true)]);
}

#[test]
fn mistakes_have_their_place() {
    let one = |queue: &str, meter: &str| lines(with_own(&file(queue, meter), &[]));
    assert_eq!(one(QUEUE, METER), "no mistake");
    let message = one(&QUEUE.replace("gain", "gian"), METER);
    assert_eq!(message, "42:67 port.slow-fast.class.data.queue.settings.gain: gain is missing");
    let message = one(&QUEUE.replace("gain = 2", "gain = \"2\""), METER);
    assert_eq!(message, "42:76 port.slow-fast.class.data.queue.settings.gain: gain must be a number");
    let message = one(QUEUE, &METER.replace("gain = 0.5", "gain = 0.5, gian = 1"));
    assert_eq!(
        message,
        "59:75 conditioner.edge.meter.settings.gian: this element has no setting `gian` (did you mean `gain`?)"
    );
    let message = one(&QUEUE.replace("own", "ownn"), METER);
    assert_eq!(
        message,
        "42:35 port.slow-fast.class.data.queue.name: there is no queue `ownn` here (did you mean `own`?)"
    );
    let message = one(&QUEUE.replace("9p", "0p"), METER);
    assert_eq!(
        message,
        "42:50 port.slow-fast.class.data.queue.limit: a queue of 0 drops every packet (write at least `1p`)"
    );
    for wrong in ["[1]", "{ a = 1 }", "2026-11-21"] {
        let message = one(&QUEUE.replace("gain = 2", &format!("gain = {wrong}")), METER);
        assert!(
            message.starts_with("42:76 port.slow-fast.class.data.queue.settings.gain: must be a string"),
            "{message}"
        );
    }
    let message = one(&QUEUE.replace("gain = 2", "gain = inf"), METER);
    assert!(message.ends_with("inf is not a number to count with (write a number)"), "{message}");
}

#[test]
fn perhop_itself_has_none() {
    let message = lines(load(file(QUEUE, METER).as_bytes(), "test.toml", &[]));
    let outside = "(it comes from outside of perhop: run this file with the program that brings it)";
    assert_eq!(
        message,
        format!(
            "42:35 port.slow-fast.class.data.queue.name: there is no queue `own` here {outside}\n\
             59:35 conditioner.edge.meter.name: there is no meter `mine` here {outside}"
        )
    );
}

fn read<T: FromSetting>(setting: Setting) -> Result<T, String> {
    let given = SettingsTable::from([("x".to_owned(), setting)]);
    Settings::read(&given, |settings| settings.need("x")).map_err(|error| error.to_string())
}

#[test]
fn settings_are_read_in_the_units_of_the_elements() {
    let text = |text: &str| Setting::Text(text.to_owned());
    assert_eq!(read(text("2Mbit/s")), Ok(BitRate::new(2_000_000).expect("not zero")));
    assert_eq!(read(text("5ms")), Ok(Span::from_millis(5)));
    assert_eq!(read(text("3kB")), Ok(Bytes(3000)));
    assert_eq!(read(text("4p")), Ok(QueueSize::Packets(4)));
    assert_eq!(read(text("EF")).map(Dscp::value), Ok(46));
    assert_eq!(read(text("any")), Ok("any".to_owned()));
    assert_eq!((read(Setting::Integer(3)), read(Setting::Flag(true))), (Ok(3u64), Ok(true)));
    assert_eq!(read(Setting::Integer(3)).map(|x: f64| x.to_string()), Ok("3".to_owned()));
    let wrong = |message: &str| Some(format!("settings.x: x {message}"));
    assert_eq!(read::<u64>(Setting::Integer(-1)).err(), wrong("must be a whole number, not below zero"));
    assert_eq!(read::<bool>(text("true")).err(), wrong("must be true or false"));
    assert_eq!(read::<String>(Setting::Flag(true)).err(), wrong("must be text"));
    assert_eq!(read::<Span>(Setting::Integer(5)).err(), wrong("must be text, for instance \"200ms\""));
    assert_eq!(
        read::<BitRate>(text("0bit/s")).err(),
        wrong("is wrong: a rate must be above zero: at zero nothing is ever sent")
    );
}

#[test]
fn a_setting_that_can_be_left_out_is_known_all_the_same() {
    let none = SettingsTable::new();
    assert_eq!(Settings::read(&none, |settings| settings.get::<u64>("x")), Ok(None));
    let given = SettingsTable::from([("x".to_owned(), Setting::Integer(1))]);
    assert_eq!(Settings::read(&given, |settings| settings.get::<u64>("x")), Ok(Some(1)));
}

#[test]
fn a_queue_from_outside_may_mark_packets() {
    let ecn = ["flow.up.tcp.ecn=true"];
    assert_eq!(with_own(&file(QUEUE, METER), &ecn).expect("no mistake").warnings.len(), 0);
    let fifo = r#"{ kind = "fifo" }"#;
    assert_eq!(with_own(&file(fifo, METER), &ecn).expect("no mistake").warnings.len(), 1);
}

const IN_PYTHON: &str =
    r#"{ kind = "python", file = "mine.py", name = "Mine", limit = "9p", settings = { gain = 2 } }"#;
const METER_IN_PYTHON: &str = r#"{ kind = "python", file = "mine.py", name = "Own" }"#;

/// Any queue and meter in Python.
struct Interpreted;

impl Elements for Interpreted {
    fn check_queue(&self, queue: &CustomQueue) -> Result<(), ElementError> {
        let code = queue.code.as_ref().expect("it is in Python");
        assert_eq!((code.file.as_str(), &code.text[..11]), ("mine.py", "class Mine:"));
        gain(&queue.settings)
    }

    fn check_meter(&self, meter: &CustomMeter, _: bool) -> Result<(), ElementError> {
        meter.code.as_ref().map(drop).ok_or_else(ElementError::no_python)
    }

    fn check_control(&self, _: &CustomControl, _: &TcpParams) -> Result<(), ElementError> {
        Ok(())
    }

    fn check_ack_policy(&self, _: &CustomControl) -> Result<(), ElementError> {
        Ok(())
    }
}

/// A file `mine.py`.
struct Program(&'static [u8]);

impl Files for Program {
    fn read(&self, name: &FileName) -> Result<NamedFile, String> {
        if name.as_str() == "mine.py" {
            return Ok(NamedFile { bytes: self.0.into(), sha256: self.0.len().to_string() });
        }
        Err("cannot be read".to_owned())
    }
}

const PROGRAM: Program = Program(b"class Mine:\n    pass\n");

fn in_python(changes: &[&str], program: &Program) -> Result<Loaded, Vec<Diagnostic>> {
    let text = file(IN_PYTHON, METER_IN_PYTHON);
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    load_with(text.as_bytes(), "test.toml", &changes, &Interpreted, program)
}

#[test]
fn an_element_in_python_has_the_text_of_its_file() {
    let loaded = in_python(&[], &PROGRAM).expect("no mistake");
    let text = loaded.resolved_toml();
    let again = load_with(text.as_bytes(), "test.toml", &[], &Interpreted, &PROGRAM).expect("no mistake");
    assert_eq!(queue_of(&again), queue_of(&loaded));
    let other = in_python(&[], &Program(b"class Mine: pass")).expect("no mistake");
    assert_ne!(other.treatment_toml(), loaded.treatment_toml(), "another program is another treatment");
}

#[test]
fn what_a_class_takes_the_place_of_is_not_written_beside_it() {
    let warned = |changes: &[&str]| {
        let loaded = in_python(changes, &PROGRAM).expect("no mistake");
        let about = |one: &&Diagnostic| one.rule.starts_with("this changes nothing");
        let found = loaded.warnings.iter().filter(about).map(ToString::to_string).collect::<Vec<_>>();
        let text = loaded.resolved_toml();
        let again = load_with(text.as_bytes(), "test.toml", &[], &Interpreted, &PROGRAM).expect("no mistake");
        assert_eq!(again.warnings.iter().filter(about).count(), 0, "a resolved scenario has every setting");
        found.join("\n")
    };
    let class = r#"{ kind = "python", file = "mine.py", name = "Own" }"#;
    let (acks, control) = (format!("flow.up.ack.control={class}"), format!("flow.up.control={class}"));
    assert_eq!(warned(&[&acks, &control]), "");
    assert_eq!(
        warned(&[&acks, "flow.up.ack.policy=every-segment", "flow.up.tcp.cc=reno"]),
        "flow.up.ack.policy: this changes nothing: `ack.control` takes its place"
    );
    assert_eq!(
        warned(&[&control, "flow.up.tcp.cc=reno", "flow.up.ack.policy=every-segment"]),
        "flow.up.tcp.cc: this changes nothing: `control` takes its place"
    );
}

#[test]
fn mistakes_about_programs_have_their_place() {
    let first = |changes: &[&str], program: &Program| {
        let message = lines(in_python(changes, program));
        message.lines().next().map(ToOwned::to_owned).unwrap_or_default()
    };
    let path = "port.slow-fast.class.data.queue";
    assert_eq!(
        first(&[&format!("{path}.file=mien.py")], &PROGRAM),
        format!("1:38 {path}.file: `mien.py` cannot be read (the path begins at the folder of the scenario)")
    );
    assert_eq!(
        first(&[], &Program(b"class Mine: \xff")),
        format!("42:35 {path}.file: `mine.py` is not text: byte 12 is not UTF-8 (save it as UTF-8)")
    );
    assert_eq!(
        first(&["run.clock=live"], &PROGRAM),
        format!(
            "42:18 {path}.kind: an element in Python runs in virtual time alone: real packets would wait for its \
             calls (take an element of perhop, or leave `run.clock` out)"
        )
    );
    let text = file(IN_PYTHON, METER_IN_PYTHON);
    let message = lines(load_with(text.as_bytes(), "test.toml", &[], &NoElements, &PROGRAM));
    let refused = format!("42:18 {path}.kind: this program runs no elements in Python (`perhop run` does)");
    assert_eq!(message.lines().next(), Some(refused.as_str()));
}
