//! The time sliding window markers twice more, in other forms than the element. Each is given its draws.

use perhop_core::packet::Color;

/// The markers of ns-2's DiffServ module, step by step: rates in byte/s, times in s, a draw for each packet.
#[derive(Clone, Debug)]
pub struct TswByNs2 {
    cir: f64,
    pir: f64,
    win_len: f64,
    avg_rate: f64,
    arrival_time: f64,
}

impl TswByNs2 {
    /// A policy with these rates, in bit/s.
    #[must_use]
    pub fn new(cir: f64, pir: f64, win_len: f64) -> Self {
        Self { cir: cir / 8.0, pir: pir / 8.0, win_len, avg_rate: cir / 8.0, arrival_time: 0.0 }
    }

    /// Meters a packet, and says whether the estimate now exceeds the committed rate.
    pub fn meter(&mut self, now: f64, size: f64) -> bool {
        let bytes_in_window = self.avg_rate * self.win_len;
        let new_bytes = bytes_in_window + size;
        self.avg_rate = new_bytes / (now - self.arrival_time + self.win_len);
        self.arrival_time = now;
        self.avg_rate > self.cir
    }

    /// The colour of the packet by TSW2CM: the code point it came for, or the one it is downgraded to.
    #[must_use]
    pub fn two_colors(&self, draw: f64) -> Color {
        if self.avg_rate > self.cir && draw <= 1.0 - self.cir / self.avg_rate {
            Color::Red
        } else {
            Color::Green
        }
    }

    /// The colour of the packet by TSW3CM.
    #[must_use]
    pub fn three_colors(&self, draw: f64) -> Color {
        let rand = self.avg_rate * (1.0 - draw);
        if rand > self.pir {
            Color::Red
        } else if rand > self.cir {
            Color::Yellow
        } else {
            Color::Green
        }
    }
}

/// The marker by the wording of RFC 2859: in each case a probability for each colour. Rates in bit/s, times in s.
#[derive(Clone, Debug)]
pub struct TswByRfc {
    ctr: f64,
    ptr: f64,
    avg_interval: f64,
    avg_rate: f64,
    t_front: f64,
}

impl TswByRfc {
    /// Section 3: before the first packet.
    #[must_use]
    pub fn new(ctr: f64, ptr: f64, avg_interval: f64) -> Self {
        Self { ctr, ptr, avg_interval, avg_rate: ctr, t_front: 0.0 }
    }

    /// Section 3: upon each packet's arrival.
    pub fn estimate(&mut self, now: f64, bits: f64) {
        let in_window = self.avg_rate * self.avg_interval;
        self.avg_rate = (in_window + bits) / (now - self.t_front + self.avg_interval);
        self.t_front = now;
    }

    /// Section 4: the probabilities of green, yellow and red.
    #[must_use]
    pub fn probabilities(&self) -> [f64; 3] {
        let Self { ctr, ptr, avg_rate, .. } = *self;
        if avg_rate <= ctr {
            [1.0, 0.0, 0.0]
        } else if avg_rate <= ptr {
            let yellow = (avg_rate - ctr) / avg_rate;
            [1.0 - yellow, yellow, 0.0]
        } else {
            let (red, yellow) = ((avg_rate - ptr) / avg_rate, (ptr - ctr) / avg_rate);
            [1.0 - (red + yellow), yellow, red]
        }
    }

    /// The colour that `draw` gives: the worst one below it.
    #[must_use]
    pub fn color(&self, draw: f64) -> Color {
        let [_, yellow, red] = self.probabilities();
        if draw < red {
            Color::Red
        } else if draw < red + yellow {
            Color::Yellow
        } else {
            Color::Green
        }
    }
}
