//! The receiving end under a script: segments come in, acknowledgments go out.

use std::collections::VecDeque;

use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use perhop_scenario::model::{AckPolicy, Flow};
use perhop_tcp::ack::{self, EverySegment};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::{Ack, Segment};

use super::notation::{Segments, Words, instant, same_time, time};
use super::{End, Outcome};

/// A receiver and what has left it.
pub struct ReceivingEnd {
    receiver: Receiver,
    unit: Segments,
    left: VecDeque<Ack>,
}

impl ReceivingEnd {
    /// A receiver that nothing has reached.
    pub fn new(flow: &Flow) -> Self {
        let params = &flow.tcp.params;
        let policy: Box<dyn ack::AckPolicy> = match flow.ack {
            AckPolicy::EverySegment => Box::new(EverySegment),
            AckPolicy::Delayed(params) => params.policy(),
        };
        Self {
            receiver: Receiver::new(ReceiverParams::from(params), policy),
            unit: Segments(params.mss.0),
            left: VecDeque::new(),
        }
    }

    fn poll(&mut self, now: Instant) {
        self.left.extend(std::iter::from_fn(|| self.receiver.poll_transmit(now)));
    }

    /// An acknowledgment as a script writes it; window and echo only where it does.
    fn text(&self, ack: &Ack, window: bool, echo: bool) -> String {
        let mut text = if ack.syn { "syn ".to_owned() } else { String::new() };
        text += &format!("ack {}", self.unit.text(ack.ack));
        let blocks: Vec<_> = ack.sack.as_slice().iter().map(|&(s, e)| self.unit.range_text(s, e)).collect();
        for (there, word) in [
            (!blocks.is_empty(), format!(" sack {}", blocks.join(","))),
            (ack.ece, " ece".to_owned()),
            (window, format!(" win {}", self.unit.text(ack.window.0))),
            (echo, format!(" echo {}", time(ack.echo))),
        ] {
            text += if there { &word } else { "" };
        }
        text
    }
}

impl End for ReceivingEnd {
    fn deadline(&self) -> Option<Instant> {
        self.receiver.next_timeout()
    }

    fn timer_name(&self) -> &'static str {
        "delay"
    }

    fn expire(&mut self, now: Instant) {
        self.receiver.on_timeout(now);
        self.poll(now);
    }

    /// `3-4 ce cwr sent 0.1`: segments one after the other.
    fn event(&mut self, now: Instant, name: &str, words: &mut Words) -> Outcome {
        if name != "<" {
            return Err(format!("{name} is no event"));
        }
        let what = words.value(name)?;
        let mut like = Segment { sent: now, syn: what == "syn", ..Segment::default() };
        let mut ce = false;
        while let Some(word) = words.next() {
            match word {
                "ce" => ce = true,
                "cwr" => like.cwr = true,
                "fin" => like.fin = true,
                "rtx" => like.retransmission = true,
                "sent" => like.sent = instant(words.value(word)?)?,
                _ => return Err(format!("{word} is not part of a segment")),
            }
        }
        let each = if like.syn { vec![(0, 0)] } else { self.unit.each(what)? };
        for (seq, end) in each {
            self.receiver.on_segment(now, &Segment { seq, end, ..like }, ce);
            self.poll(now);
        }
        Ok(())
    }

    fn unsaid(&self) -> Option<String> {
        self.left.front().map(|ack| self.text(ack, false, false))
    }

    /// `ack 3 sack 5-7,9 ece win 60 echo 0.1`: one acknowledgment.
    fn expect(&mut self, words: &mut Words) -> Outcome {
        let mut wanted = Vec::new();
        while let Some(word) = words.next() {
            wanted.push(word);
        }
        let ack = self.left.pop_front().ok_or("no acknowledgment has left")?;
        let text = self.text(&ack, wanted.contains(&"win"), wanted.contains(&"echo"));
        let wanted = wanted.join(" ");
        (text == wanted).then_some(()).ok_or_else(|| format!("{text} has left, not {wanted}"))
    }

    fn check(&self, name: &str, words: &mut Words) -> Outcome {
        let word = words.value(name)?;
        match name {
            "ack" => self.unit.same(name, self.receiver.ack(), word),
            "delivered" => self.unit.same(name, self.receiver.delivered().0, word),
            "timer" => same_time(name, self.receiver.next_timeout().map(|at| at.as_nanos()), word),
            _ => Err(format!("there is no {name}")),
        }
    }
}
