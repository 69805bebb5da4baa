//! Scripts against one end of a connection: a few lines that say what arrives, what must leave, and what must be true.

mod notation;
mod receiving;
mod sending;

use perhop_core::time::{Instant, Span};
use perhop_scenario::model::Flow;

use notation::{Words, time, time_span};
use receiving::ReceivingEnd;
use sending::SendingEnd;

/// What went wrong, without its place.
pub type Outcome<T = ()> = Result<T, String>;

/// One end of a connection, as a script sees it.
pub trait End {
    /// When its timer expires.
    fn deadline(&self) -> Option<Instant>;
    /// What a script calls an expiry of that timer.
    fn timer_name(&self) -> &'static str;
    /// The timer expires.
    fn expire(&mut self, now: Instant);
    /// What `words` say arrives, or the application does.
    fn event(&mut self, now: Instant, name: &str, words: &mut Words) -> Outcome;
    /// The oldest that has left and has not been said, in the words that a script has for it.
    fn unsaid(&self) -> Option<String>;
    /// What `words` say has left.
    fn expect(&mut self, words: &mut Words) -> Outcome;
    /// Compares a value with what `words` say.
    fn check(&self, name: &str, words: &mut Words) -> Outcome;
}

/// Settings at the head of a script.
#[derive(Default)]
struct Head {
    receiver: bool,
    tcp: Vec<String>,
    ack: Vec<String>,
}

/// Settings that hold where a script says nothing else; the rest is that of the profile.
const DEFAULTS: [(&str, &str); 4] =
    [("profile", "\"rfc\""), ("mss", "\"1000B\""), ("window", "\"60kB\""), ("handshake", "false")];

impl Head {
    /// Takes a line of settings; returns whether it was one.
    fn take(&mut self, line: &str) -> bool {
        match line.split_once(':') {
            None if matches!(line, "receiver" | "sender") => self.receiver = line == "receiver",
            Some(("tcp", keys)) => self.tcp.push(keys.to_owned()),
            Some(("ack", keys)) => self.ack.push(keys.to_owned()),
            _ => return false,
        }
        true
    }

    /// The flow of a scenario with these settings.
    fn flow(&self) -> Outcome<Flow> {
        let mut tcp = self.tcp.clone();
        for (key, value) in DEFAULTS {
            let says = |line: &String| line.split([',', '=']).any(|part| part.trim() == key);
            if !self.tcp.iter().any(says) {
                tcp.push(format!("{key} = {value}"));
            }
        }
        let scenario = format!(
            "[run]\nduration = '1s'\n[[node]]\nname = 'a'\n[[node]]\nname = 'b'\n\
             [[link]]\nends = ['a', 'b']\nrate = '1Mbit/s'\ndelay = '1ms'\n\
             [[flow]]\nname = 'f'\nfrom = 'a'\nto = 'b'\ntcp = {{ {} }}\nack = {{ {} }}\n",
            tcp.join(", "),
            self.ack.join(", "),
        );
        let loaded = perhop_scenario::load(scenario.as_bytes(), "settings", &[]).map_err(|found| {
            found.iter().map(|one| perhop_scenario::render(one, false)).collect::<Vec<_>>().join("\n")
        })?;
        loaded.scenario.flows.into_iter().next().ok_or_else(|| "no flow".to_owned())
    }

    fn end(&self) -> Outcome<Box<dyn End>> {
        let flow = self.flow()?;
        Ok(if self.receiver { Box::new(ReceivingEnd::new(&flow)) } else { Box::new(SendingEnd::new(&flow)) })
    }
}

/// A script that runs.
struct Run {
    end: Box<dyn End>,
    now: Instant,
}

impl Run {
    /// Runs `+wait event`.
    fn line(&mut self, line: &str) -> Outcome {
        let mut words = Words::new(line);
        let wait = words.next().unwrap_or_default();
        let span = wait.strip_prefix('+').map_or_else(|| Err(format!("{wait} is no event")), time_span)?;
        let event = words.next().ok_or("an event is missing")?;
        if !matches!(event, ">" | "*") || span > Span::ZERO {
            self.all_said()?;
        }
        if event == "!" {
            self.expire(span, &mut words)?;
        } else {
            self.pass(span)?;
            match event {
                ">" => self.end.expect(&mut words)?,
                "*" => {
                    while let Some(name) = words.next() {
                        self.end.check(name, &mut words)?;
                    }
                }
                name => self.end.event(self.now, name, &mut words)?,
            }
        }
        words.end()
    }

    fn all_said(&self) -> Outcome {
        self.end.unsaid().map_or(Ok(()), |what| Err(format!("{what} has left, which was not said")))
    }

    /// Lets time pass in which no timer expires.
    fn pass(&mut self, span: Span) -> Outcome {
        let then = self.now + span;
        match self.end.deadline() {
            Some(at) if at < then => Err(format!("the timer expires at {}, which was not said", time(at))),
            _ => {
                self.now = then;
                Ok(())
            }
        }
    }

    /// Lets time pass until the timer expires, to the microsecond.
    fn expire(&mut self, span: Span, words: &mut Words) -> Outcome {
        let name = self.end.timer_name();
        if words.next() != Some(name) {
            return Err(format!("the timer of this end is called {name}"));
        }
        let then = self.now + span;
        let at = self.end.deadline().ok_or("no timer runs")?;
        if at.as_nanos().abs_diff(then.as_nanos()) > 1_000 {
            return Err(format!("the timer does not expire at {} but at {}", time(then), time(at)));
        }
        self.now = at;
        self.end.expire(at);
        Ok(())
    }
}

/// Runs a script; the error names `name` and the line.
pub fn run(name: &str, text: &str) -> Outcome {
    let mut head = Head::default();
    let mut running: Option<Run> = None;
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let place = |what: String| format!("{name}:{number}: {what}");
        let line = line.split('#').next().unwrap_or_default().trim();
        last = number;
        if line.is_empty() || running.is_none() && head.take(line) {
            continue;
        }
        let run = match &mut running {
            Some(run) => run,
            none => none.insert(Run { end: head.end().map_err(place)?, now: Instant::ZERO }),
        };
        run.line(line).map_err(place)?;
    }
    let run = running.ok_or_else(|| format!("{name}: nothing happens"))?;
    let too = |what: String| Err(format!("{name}:{last}: {what} has left, too"));
    run.end.unsaid().map_or(Ok(()), too)
}
