//! Valid scenarios made up at random: one to four routers in a row, every queue, scheduler and meter, losses of single
//! packets and in bursts, UDP and TCP, rates over decades; groups of flows and ports for both directions.

use std::fmt::Write as _;

use perhop_testkit::scenarios::Numbers;

/// What a scenario is made from; rates, sizes and windows in one place, so that all can be doubled.
pub struct Made {
    numbers: Numbers,
    /// All rates are multiplied by this.
    rates: u64,
    /// And all sizes.
    sizes: u64,
    /// How many hosts send, `s[0]` and so on.
    hosts: usize,
    /// Whether nothing may have a length that is not doubled with all others.
    scales: bool,
    /// The rate that was made last, and that of the link between the first two routers.
    last_rate: u64,
    core_rate: u64,
    text: String,
}

/// How a scenario is made from its numbers.
#[derive(Clone, Copy)]
pub struct Form {
    /// What all rates, sizes and windows are multiplied by.
    pub scale: u64,
    /// What stands before the name of each flow.
    pub prefix: &'static str,
    /// Whether there is nothing that draws random numbers by the name of a flow or counts packets of a fixed length.
    pub plain: bool,
    /// Whether no packet has options of a fixed length: the blocks of SACK.
    pub scales: bool,
}

/// Scenario number `case`.
pub fn scenario(case: u64, form: Form) -> String {
    let numbers = Numbers::of_case(case);
    let (rates, sizes, scales) = (form.scale, form.scale, form.scales);
    let mut made =
        Made { numbers, rates, sizes, hosts: 0, scales, last_rate: 0, core_rate: 0, text: String::new() };
    made.write(form);
    made.text
}

impl Made {
    fn put(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A rate, 100 kbit/s to 1 Gbit/s times `most` in a hundred.
    fn rate(&mut self, most: u64) -> String {
        let decades = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
        let rate = self.numbers.pick(&decades) * (1 + self.numbers.number() % 9) / 9;
        self.last_rate = rate * most / 100 * self.rates;
        format!("\"{}bit/s\"", self.last_rate)
    }

    fn size(&self, bytes: u64) -> String {
        format!("\"{}B\"", bytes * self.sizes)
    }

    fn write(&mut self, form: Form) {
        let routers = 1 + self.numbers.below(4);
        let (hosts, sinks) = (1 + self.numbers.below(3), 1 + self.numbers.below(3));
        self.hosts = hosts;
        let packet = self.size(1_000);
        let seed = self.numbers.below(1_000);
        self.put(&format!(
            "[run]\nduration = \"2s\"\nseed = {seed}\npacket_size = {packet}\ninterval = \"500ms\""
        ));
        if self.numbers.once_in(3) {
            let most = self.numbers.pick(&[1, 100, 1_000, 100_000]);
            self.put(&format!("processing_jitter = \"{most}us\""));
        }
        self.put(&format!(
            "[[node]]\nname = \"s\"\ncount = {hosts}\n[[node]]\nname = \"d\"\ncount = {sinks}"
        ));
        for r in 0..routers {
            self.put(&format!("[[node]]\nname = \"r{r}\"\nkind = \"router\""));
        }
        self.link("s[*]", "r0", form);
        self.link(&format!("r{}", routers - 1), "d[*]", form);
        for r in 1..routers {
            self.link(&format!("r{}", r - 1), &format!("r{r}"), form);
            if r == 1 {
                self.core_rate = self.last_rate;
            }
        }
        if routers > 1 {
            let (at, to) = if self.numbers.once_in(4) { (1, 0) } else { (0, 1) };
            self.port(&format!("r{at}"), &format!("r{to}"));
        }
        if self.numbers.once_in(2) {
            self.conditioner(form);
        }
        for flow in 0..=self.numbers.below(3) {
            self.flow(flow, form);
        }
        if self.numbers.once_in(2) {
            self.udp(form);
        }
    }

    fn link(&mut self, a: &str, b: &str, form: Form) {
        let (rate, delay) = (self.rate(100), self.numbers.pick(&[0, 1, 10, 40]));
        self.put(&format!("[[link]]\nends = [\"{a}\", \"{b}\"]\nrate = {rate}\ndelay = \"{delay}ms\""));
        if self.numbers.once_in(4) && !form.plain {
            let loss = self.numbers.pick(&[0.001, 0.1, 0.9]);
            self.put(&format!("loss = {loss}"));
        }
        if self.numbers.once_in(6) {
            let (p, r) = (self.numbers.pick(&[0.001, 0.05]), self.numbers.pick(&[0.05, 0.5]));
            self.put(&format!("burst_loss = {{ p = {p}, r = {r}, loss_bad = 0.8 }}"));
        }
    }

    fn port(&mut self, at: &str, to: &str) {
        let ends = match self.numbers.once_in(3) {
            true => format!("between = [\"{at}\", \"{to}\"]"),
            false => format!("at = \"{at}\"\nto = \"{to}\""),
        };
        // its quanta and overheads have lengths of their own
        if !self.scales && self.numbers.once_in(5) {
            let queue = self.cake(&format!(", rate = \"{}bit/s\"", self.core_rate / 4 * 3));
            return self.put(&format!("[[port]]\n{ends}\n[[port.class]]\nname = \"all\"\nqueue = {queue}"));
        }
        let kind =
            *self.numbers.pick(&["strict-priority", "wrr", "drr", "wfq", "cbq", "htb", "paired-counter"]);
        let more = match kind {
            "paired-counter" => ", data = \"rest\", share = 0.5".to_owned(),
            "htb" => format!(", burst = {}", self.size(2_000)),
            _ => String::new(),
        };
        self.put(&format!("[[port]]\n{ends}\nscheduler = {{ kind = \"{kind}\"{more} }}"));
        if self.numbers.once_in(3) {
            let rate = self.core_rate / self.rates / 4 * 3 * self.rates;
            let (burst, overhead) = (self.size(2_000), self.size(20));
            self.put(&format!(
                "shaper = {{ rate = \"{rate}bit/s\", burst = {burst}, overhead = {overhead} }}"
            ));
        }
        let matches = *self.numbers.pick(&["AF11\", \"AF12\", \"AF13", "EF", "pure-ack"]);
        for (name, matches) in [("first", matches), ("rest", "any")] {
            let queue = self.queue();
            self.put(&format!("[[port.class]]\nname = \"{name}\"\nmatch = [\"{matches}\"]\nqueue = {queue}"));
            let quantum = self.size(1_500);
            match kind {
                "wrr" | "wfq" => self.put("weight = 2"),
                "drr" => self.put(&format!("quantum = {quantum}")),
                "cbq" => self.put("share = 0.5"),
                "htb" => {
                    let rate = self.core_rate / self.rates / 8 * self.rates;
                    let ceil = 4 * rate;
                    let bursts = format!("burst = {quantum}\ncburst = {quantum}\nquantum = {quantum}");
                    self.put(&format!("rate = \"{rate}bit/s\"\nceil = \"{ceil}bit/s\"\n{bursts}"));
                }
                _ => {}
            }
        }
    }

    fn queue(&mut self) -> String {
        let size = |bytes| self.size(bytes);
        let common = format!("limit = {}, w_q = 0.02", size(60_000));
        let curve = |min, max| format!("{{ min_th = {}, max_th = {}, max_p = 0.1 }}", size(min), size(max));
        let (low, middle, high) = (curve(5_000, 15_000), curve(12_000, 25_000), curve(20_000, 50_000));
        match self.numbers.below(9) {
            0 => format!("{{ kind = \"fifo\", limit = {} }}", self.size(20_000)),
            1 => {
                let thresholds = format!("min_th = {}, max_th = {}", self.size(5_000), self.size(15_000));
                format!("{{ kind = \"red\", {common}, {thresholds}, max_p = 0.1, gentle = true }}")
            }
            2 => {
                let times = self.numbers.pick(&["", ", target = \"1ms\", interval = \"10ms\""]);
                let linux = format!(", conventions = {{ like = \"linux\", mtu = {} }}", self.size(1_500));
                let like = if self.numbers.once_in(2) { linux.as_str() } else { "" };
                format!("{{ kind = \"codel\", limit = {}{times}{like} }}", self.size(60_000))
            }
            3 => {
                let inside = self.numbers.pick(&["fifo", "codel", "pie"]);
                let like = self.numbers.pick(&["rfc8290", "linux"]);
                let (limit, quantum) = (self.size(20_000), self.size(1_500));
                format!(
                    "{{ kind = \"fq\", limit = {limit}, quantum = {quantum}, queue = {{ kind = \"{inside}\" }}, \
                     conventions = {{ like = \"{like}\" }} }}"
                )
            }
            4 => {
                let linux = ", conventions = { like = \"linux\" }";
                let options = ", active_from = \"2p\", derandomize = true, cap_adjustment = true, ecn = true";
                // Linux's packets and what is measured of the rate have lengths of their own
                let fixed = ["", options, linux, ", delay_from = \"departure-rate\""];
                let more = self.numbers.pick(if self.scales { &fixed[..2] } else { &fixed });
                let quick = "target = \"2ms\", t_update = \"5ms\", max_burst = \"10ms\"";
                format!("{{ kind = \"pie\", limit = {}, {quick}{more} }}", self.size(60_000))
            }
            5 => format!("{{ kind = \"docsis-pie\", limit = {}, target = \"2ms\" }}", self.size(20_000)),
            6 if !self.scales => self.cake(""),
            7 => format!("{{ kind = \"rio\", {common}, green = {high}, red = {low} }}"),
            _ => format!("{{ kind = \"gred\", {common}, green = {high}, yellow = {middle}, red = {low} }}"),
        }
    }

    /// The queue CAKE, whose only class it is if `rate` gives it a shaper.
    fn cake(&mut self, rate: &str) -> String {
        let tins = self.numbers.pick(&["besteffort", "diffserv3", "diffserv4", "diffserv8"]);
        let isolation = self.numbers.pick(&["flows", "hosts", "dual-srchost", "triple-isolate"]);
        let more =
            self.numbers.pick(&["", ", ack_filter = \"aggressive\"", ", overhead = \"38B\", mpu = \"84B\""]);
        let limit = self.size(60_000);
        format!(
            "{{ kind = \"cake\", limit = {limit}, tins = \"{tins}\", isolation = \"{isolation}\", rtt = \"20ms\"{more}{rate} }}"
        )
    }

    fn conditioner(&mut self, form: Form) {
        let (cir, pir) = (100_000 * self.rates, 2_000_000 * self.rates);
        let burst = self.size(10_000);
        let window = self.numbers.pick(&["50ms", "1s"]);
        let meter = match self.numbers.below(if form.plain { 6 } else { 7 }) {
            0 => format!("{{ kind = \"token-bucket\", cir = \"{cir}bit/s\", cbs = {burst} }}"),
            1 => format!("{{ kind = \"sr-tcm\", cir = \"{cir}bit/s\", cbs = {burst}, ebs = {burst} }}"),
            2 => format!(
                "{{ kind = \"tr-tcm\", cir = \"{cir}bit/s\", pir = \"{pir}bit/s\", cbs = {burst}, pbs = {burst} }}"
            ),
            3 => format!("{{ kind = \"tsw2cm\", cir = \"{cir}bit/s\", window = \"{window}\" }}"),
            4 => format!(
                "{{ kind = \"tsw3cm\", cir = \"{cir}bit/s\", pir = \"{pir}bit/s\", window = \"{window}\" }}"
            ),
            5 => format!(
                "{{ kind = \"tr-tcm-diffserv\", cir = \"{cir}bit/s\", eir = \"{pir}bit/s\", cbs = {burst}, ebs = {burst} }}"
            ),
            _ => "{ kind = \"tcp-friendly\", interval = \"1s\", tokens = 100 }".to_owned(),
        };
        let per =
            if meter.contains("friendly") { "aggregate" } else { *self.numbers.pick(&["aggregate", "flow"]) };
        self.put(&format!(
            "[[conditioner]]\nname = \"edge\"\nat = \"r0\"\nfrom = \"s[*]\"\nper = \"{per}\"\nmeter = {meter}"
        ));
        let two = ["token-bucket", "tsw2cm", "tcp-friendly"].iter().any(|kind| meter.contains(kind));
        let yellow = if !two { "yellow = \"AF12\", " } else { "" };
        self.put(&format!("marker = {{ green = \"AF11\", {yellow}red = \"AF13\" }}"));
    }

    fn flow(&mut self, number: usize, form: Form) {
        let slice = format!("s[0..{}]", self.hosts);
        let ends = [("s[*]", "d[*]"), ("s[0]", "d[*]"), ("d[0]", "s[0]"), (slice.as_str(), "d[0]")];
        let (from, to) = *self.numbers.pick(&ends);
        let prefix = form.prefix;
        self.put(&format!("[[flow]]\nname = \"{prefix}{number}\"\nfrom = \"{from}\"\nto = \"{to}\""));
        let group = ["", "count = 2\n", "labels = { load = \"high\" }\n", "count = 1\nports = [9, 9]\n"];
        let group = *self.numbers.pick(&group);
        self.put(group.trim_end());
        let mark = *self.numbers.pick(&["BE", "AF11", "EF"]);
        let start = self.numbers.below(100);
        self.put(&format!("mark = \"{mark}\"\nstart = \"{start}ms\""));
        let (mss, header, window) = (self.size(960), self.size(40), self.size(960 * 30));
        let cc = *self.numbers.pick(&["reno", "cubic"]);
        let recovery = *self.numbers.pick(&["tahoe", "reno", "newreno", "sack"]);
        let recovery = if form.scales && recovery == "sack" { "newreno" } else { recovery };
        let drawn = !form.plain && self.numbers.once_in(4);
        let clock = if drawn { ", clock_tick = \"100ms\", clock_phase = \"random\"" } else { "" };
        let tcp = format!(
            "profile = \"rfc\", cc = \"{cc}\", recovery = \"{recovery}\", mss = {mss}, header = {header}, window = {window}{clock}"
        );
        self.put(&format!("tcp = {{ {tcp} }}"));
    }

    fn udp(&mut self, form: Form) {
        let (rate, packet) = (self.rate(50), self.size(500));
        let kinds = ["\"cbr\"", "\"poisson\"", "\"on-off\", on = \"100ms\", off = \"100ms\""];
        let kind = if form.plain { kinds[0] } else { *self.numbers.pick(&kinds) };
        self.put(&format!(
            "[[udp]]\nname = \"{}u\"\nfrom = \"s[0]\"\nto = \"d[0]\"\nmark = \"EF\"",
            form.prefix
        ));
        self.put(&format!("rate = {rate}\npacket_size = {packet}\npattern = {{ kind = {kind} }}"));
    }
}
