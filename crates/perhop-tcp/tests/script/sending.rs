//! The sending end under a script: acknowledgments come in, segments go out.

use std::collections::VecDeque;

use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_scenario::model::Flow;
use perhop_tcp::segment::{Ack, Segment};
use perhop_tcp::sender::Sender;

use super::notation::{Segments, Words, instant, same_count, same_time};
use super::{End, Outcome};

/// More segments than this at one instant are a sender gone wild.
const MOST: usize = 10_000;
/// What a segment can have beside its numbers, in the order in which it is written.
const FLAGS: [&str; 4] = ["rtx", "fin", "cwr", "ect"];

/// A sender and what has left it.
pub struct SendingEnd {
    sender: Sender,
    unit: Segments,
    window: Bytes,
    timestamps: bool,
    left: VecDeque<Segment>,
}

impl SendingEnd {
    /// A sender that has started at time 0.
    pub fn new(flow: &Flow) -> Self {
        let params = &flow.tcp.params;
        let mut end = Self {
            sender: Sender::new(params, Instant::ZERO),
            unit: Segments(params.mss.0),
            window: params.window,
            timestamps: params.timestamps,
            left: VecDeque::new(),
        };
        end.expire(Instant::ZERO);
        end
    }

    fn poll(&mut self, now: Instant) {
        while self.left.len() < MOST
            && let Some(segment) = self.sender.poll_transmit(now)
        {
            self.left.push_back(segment);
        }
    }

    fn text(&self, segment: &Segment) -> String {
        let bare = segment.fin && segment.payload().0 == 0;
        let mut text = if segment.syn {
            "syn".to_owned()
        } else if bare {
            "fin".to_owned()
        } else {
            self.unit.range_text(segment.seq, segment.end - u64::from(segment.fin))
        };
        let flags = [segment.retransmission, segment.fin && !bare, segment.cwr, segment.ect];
        for (name, _) in FLAGS.iter().zip(flags).filter(|(_, set)| *set) {
            text = text + " " + name;
        }
        text
    }

    /// An acknowledgment, and how many times it comes.
    fn ack(&mut self, words: &mut Words) -> Outcome<(Ack, usize)> {
        let mut ack = Ack { window: self.window, echo: Instant::from_nanos(u64::MAX), ..Ack::default() };
        let (mut times, mut numbered) = (1, false);
        while let Some(word) = words.next() {
            match word {
                "ack" => {
                    ack.ack = self.unit.bytes(words.value(word)?)?;
                    numbered = true;
                }
                "win" => self.window = Bytes(self.unit.bytes(words.value(word)?)?),
                "echo" => ack.echo = instant(words.value(word)?)?,
                "ece" => ack.ece = true,
                "syn" => (ack.syn, numbered) = (true, true),
                "sack" => {
                    for range in words.value(word)?.split(',') {
                        let (start, end) = self.unit.range(range)?;
                        ack.sack.push(start, end);
                    }
                }
                _ => match word.strip_prefix('x').and_then(|count| count.parse().ok()) {
                    Some(count) => times = count,
                    None => return Err(format!("{word} is not part of an acknowledgment")),
                },
            }
        }
        ack.window = self.window;
        if !numbered || self.timestamps && ack.echo == Instant::from_nanos(u64::MAX) {
            return Err("an acknowledgment has a number, and with timestamps an echo".to_owned());
        }
        Ok((ack, times))
    }
}

impl End for SendingEnd {
    fn deadline(&self) -> Option<Instant> {
        self.sender.next_timeout()
    }

    fn timer_name(&self) -> &'static str {
        "rto"
    }

    fn expire(&mut self, now: Instant) {
        self.sender.on_timeout(now);
        self.poll(now);
    }

    fn event(&mut self, now: Instant, name: &str, words: &mut Words) -> Outcome {
        match name {
            "<" => {
                let (ack, times) = self.ack(words)?;
                for _ in 0..times {
                    self.sender.on_ack(now, &ack);
                    self.poll(now);
                }
            }
            "write" => {
                self.sender.write(Bytes(self.unit.bytes(words.value(name)?)?));
                self.poll(now);
            }
            _ => return Err(format!("{name} is no event")),
        }
        Ok(())
    }

    fn unsaid(&self) -> Option<String> {
        self.left.front().map(|segment| self.text(segment))
    }

    /// `3-5 rtx, 9, fin`: segments in this order.
    fn expect(&mut self, words: &mut Words) -> Outcome {
        while let Some(word) = words.next() {
            let (mut last, what) = (word.ends_with(','), word.trim_end_matches(','));
            let mut flags = Vec::new();
            while !last && let Some(word) = words.next() {
                last = word.ends_with(',');
                let flag = word.trim_end_matches(',');
                if !FLAGS.contains(&flag) {
                    return Err(format!("{flag} is no flag of a segment"));
                }
                flags.push(flag);
            }
            let names = match what {
                "syn" | "fin" => vec![what.to_owned()],
                _ => self.unit.each(what)?.iter().map(|&(s, e)| self.unit.range_text(s, e)).collect(),
            };
            for mut wanted in names {
                for flag in FLAGS.iter().filter(|flag| flags.contains(flag)) {
                    wanted = wanted + " " + flag;
                }
                match self.left.pop_front().map(|segment| self.text(&segment)) {
                    Some(text) if text == wanted => {}
                    Some(text) => return Err(format!("{text} has left, not {wanted}")),
                    None => return Err(format!("nothing more has left, but {wanted} should have")),
                }
            }
        }
        Ok(())
    }

    fn check(&self, name: &str, words: &mut Words) -> Outcome {
        let (s, word) = (&self.sender, words.value(name)?);
        let ns = |at: Instant| at.as_nanos();
        match name {
            "cwnd" => self.unit.same(name, s.cwnd().0, word),
            "ssthresh" => self.unit.same(name, s.ssthresh().0, word),
            "inflight" => self.unit.same(name, s.in_flight().0, word),
            "una" => self.unit.same(name, s.una(), word),
            "recovering" => same_count(name, s.recovering().into(), word),
            "samples" => same_count(name, s.rtt().samples(), word),
            "rto" => same_time(name, Some(s.rtt().rto().as_nanos()), word),
            "srtt" => same_time(name, s.rtt().srtt().map(|span| span.as_nanos()), word),
            "timer" => same_time(name, s.next_timeout().map(ns), word),
            "completed" => same_time(name, s.stats().completed.map(ns), word),
            "stats" => {
                let count = match word {
                    "segments" => s.stats().segments,
                    "retransmissions" => s.stats().retransmissions,
                    "fast_retransmits" => s.stats().fast_retransmits,
                    "timeouts" => s.stats().timeouts,
                    "syn_timeouts" => s.stats().syn_timeouts,
                    "probes" => s.stats().probes,
                    "undone_timeouts" => s.stats().undone_timeouts,
                    "spurious_timeouts" => s.stats().spurious_timeouts,
                    _ => return Err(format!("there is no counter {word}")),
                };
                same_count(word, count, words.value(word)?)
            }
            _ => Err(format!("there is no {name}")),
        }
    }
}
