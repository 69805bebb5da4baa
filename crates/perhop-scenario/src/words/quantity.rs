//! Parsing and printing numbers with units; the table of what is accepted is in [`crate::words::units`].

/// Why a text is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct UnitError {
    /// The rule that the text breaks.
    pub rule: String,
    /// A text to write instead.
    pub hint: String,
}

/// A unit and how many base units it is.
type Unit = (&'static str, u64);

/// How one quantity is written.
pub(crate) struct Quantity {
    /// `a rate`.
    name: &'static str,
    /// `bits per second`.
    base: &'static str,
    units: &'static [Unit],
    prefixes: &'static [Unit],
    /// Endings people write instead of a unit, in lower case, longest first, with the units they may have meant.
    slips: &'static [(&'static str, &'static [&'static str])],
    /// Endings to show after a bare number.
    endings: [&'static str; 2],
    /// Examples of the quantity.
    examples: &'static str,
}

/// Most of any quantity but time: 10^15 of its base unit.
pub(crate) const MAX: u64 = 1_000_000_000_000_000;
/// Longest time: 10^9 s in ns.
pub(crate) const MAX_TIME: u64 = 1_000_000_000_000_000_000;

/// From this many on, a number without a unit is taken to be of base units where these have prefixes.
const MANY: u64 = 10_000;

const PREFIXES: &[Unit] = &[
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

/// Rates.
pub(crate) const RATE: Quantity = Quantity {
    name: "a rate",
    base: "bits per second",
    units: &[("bit/s", 1), ("bps", 1), ("B/s", 8)],
    prefixes: PREFIXES,
    slips: &[
        ("bits/sec", &["bit/s"]),
        ("bit/sec", &["bit/s"]),
        ("bits/s", &["bit/s"]),
        ("bit/s", &["bit/s"]),
        ("bytes/s", &["B/s"]),
        ("byte/s", &["B/s"]),
        ("bits", &["bit/s"]),
        ("bit", &["bit/s"]),
        ("bps", &["bit/s"]),
        ("b/s", &["bit/s", "B/s"]),
        ("b", &["bit/s", "B/s"]),
        ("", &["bit/s", "B/s"]),
    ],
    endings: ["kbit/s", "Mbit/s"],
    examples: "`100kbit/s`, `10Mbps` or `1.25MB/s`",
};

/// Times.
pub(crate) const TIME: Quantity = Quantity {
    name: "a time",
    base: "nanoseconds",
    units: &[("s", 1)],
    prefixes: &[("", 1_000_000_000), ("m", 1_000_000), ("u", 1_000), ("µ", 1_000), ("μ", 1_000), ("n", 1)],
    slips: &[("seconds", &["s"]), ("second", &["s"]), ("secs", &["s"]), ("sec", &["s"]), ("s", &["s"])],
    endings: ["s", "ms"],
    examples: "`60s`, `5ms`, `20us` or `100ns`",
};

/// Sizes.
pub(crate) const SIZE: Quantity = Quantity {
    name: "a size",
    base: "bytes",
    units: &[("B", 1)],
    prefixes: PREFIXES,
    slips: &[("bytes", &["B"]), ("byte", &["B"]), ("b", &["B"]), ("", &["B", "iB"])],
    endings: ["B", "kB"],
    examples: "`1460B`, `64kB` or `64KiB`",
};

/// Amounts in packets; those in bytes are sizes.
pub(crate) const PACKETS: Quantity = Quantity {
    name: "an amount",
    base: "packets or bytes",
    units: &[("p", 1)],
    prefixes: &[("", 1)],
    slips: &[
        ("packets", &["p"]),
        ("packet", &["p"]),
        ("pkts", &["p"]),
        ("pkt", &["p"]),
        ("p", &["p"]),
        ("bytes", &["B"]),
        ("byte", &["B"]),
        ("b", &["B"]),
        ("", &["B", "iB"]),
    ],
    endings: ["p", "kB"],
    examples: "`100p` (packets), `64kB` or `64KiB`",
};

impl Quantity {
    /// Number of base units that `unit` stands for.
    pub(crate) fn factor(&self, unit: &str) -> Option<u64> {
        self.units.iter().find_map(|(name, units)| {
            let prefix = unit.strip_suffix(name)?;
            self.prefixes.iter().find(|(p, _)| *p == prefix).map(|(_, by)| units * by)
        })
    }

    /// An error that breaks `rule`; without a better hint it shows examples.
    pub(crate) fn error(&self, rule: String, hint: Option<String>) -> UnitError {
        UnitError { rule, hint: hint.unwrap_or_else(|| format!("write {}", self.examples)) }
    }

    /// `text` in base units, at most `max` of them.
    pub(crate) fn parse(&self, text: &str, max: u64) -> Result<u64, UnitError> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim_start());
        if let Some(error) = self.refuses(text) {
            return Err(error);
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(self.no_number());
        }
        if unit.is_empty() {
            return Err(self.bare(number));
        }
        let Some(factor) = self.factor(unit) else {
            return Err(
                self.error(format!("`{unit}` is not a unit for {}", self.name), self.meant(number, unit))
            );
        };
        let fraction = fraction.trim_end_matches('0');
        let too_large = || {
            let most = self.printed(max);
            self.error(format!("`{text}` is more than perhop can count: the most is `{most}`"), None)
        };
        let too_fine = || self.error(format!("`{text}` is not a whole number of {}", self.base), None);
        // No unit is a multiple of 10^20, so nothing with more decimals is whole.
        let tens = u32::try_from(fraction.len()).ok().filter(|n| *n <= 20).ok_or_else(too_fine)?;
        let tens = 10u128.pow(tens);
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
        let scaled = digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
        if !scaled.is_multiple_of(tens) {
            return Err(too_fine());
        }
        u64::try_from(scaled / tens).ok().filter(|n| *n <= max).ok_or_else(too_large)
    }

    /// The error for a text that does not begin with a number from zero on, nor with a point.
    fn refuses(&self, text: &str) -> Option<UnitError> {
        match text.chars().next() {
            Some('-') => Some(self.error(format!("{} cannot be negative", self.name), None)),
            Some('0'..='9' | '.') => None,
            _ => Some(self.no_number()),
        }
    }

    fn no_number(&self) -> UnitError {
        self.error(format!("{} starts with a decimal number", self.name), None)
    }

    /// The error for a number without a unit.
    pub(crate) fn bare(&self, number: &str) -> UnitError {
        if let Some(error) = self.refuses(number) {
            return error;
        }
        let [a, b] = match number.parse() {
            // so many are base units
            Ok(n) if (MANY..=MAX).contains(&n) && self.has_prefixes() => {
                [format!("{number}{}", self.unit()), self.printed(n)]
            }
            _ => self.endings.map(|ending| format!("{number}{ending}")),
        };
        let or = if a == b { String::new() } else { format!(" or \"{b}\"") };
        let hint = format!("write the unit: \"{a}\"{or}");
        UnitError { rule: format!("{} needs a unit; a bare number has none", self.name), hint }
    }

    /// The unit without a prefix.
    fn unit(&self) -> &'static str {
        self.units[0].0
    }

    /// Whether the unit may have a decimal prefix.
    fn has_prefixes(&self) -> bool {
        self.prefixes.len() == PREFIXES.len()
    }

    /// `n` base units as they are written.
    fn printed(&self, n: u64) -> String {
        let unit = self.unit();
        if self.has_prefixes() {
            return shortest(n, unit);
        }
        format!("{}{unit}", n / self.factor(unit).unwrap_or(1))
    }

    /// The probable intention of somebody who wrote `unit`.
    fn meant(&self, number: &str, unit: &str) -> Option<String> {
        let lower = unit.to_lowercase();
        let mut options: Vec<String> = Vec::new();
        for (slip, units) in self.slips {
            let Some(rest) = lower.strip_suffix(slip) else { continue };
            let rest = match rest {
                "milli" => "m",
                "micro" => "u",
                "nano" => "n",
                rest => rest,
            };
            for unit in *units {
                let prefixes = if *unit == "B" || *unit == "iB" { PREFIXES } else { self.prefixes };
                let known = prefixes.iter().find(|(p, _)| p.to_lowercase() == rest);
                // `iB` makes 64K either decimal or binary; it needs a prefix of one letter.
                if let Some((p, _)) = known.filter(|(p, _)| *unit != "iB" || p.len() == 1) {
                    let p = if *unit == "iB" { p.to_uppercase() } else { (*p).to_owned() };
                    options.push(format!("`{number}{p}{unit}`"));
                }
            }
            if !options.is_empty() {
                break;
            }
        }
        if options.is_empty() { None } else { Some(format!("did you mean {}?", options.join(" or "))) }
    }
}

/// `n` with the prefix that needs the fewest digits.
pub(crate) fn shortest(n: u64, unit: &str) -> String {
    let fits = PREFIXES.iter().filter(|(_, by)| n.is_multiple_of(*by) && (n > 0 || *by == 1));
    let best = fits.map(|(p, by)| (n / by, *p)).min_by_key(|(m, p)| (*m, p.len()));
    let (m, prefix) = best.unwrap_or((n, ""));
    format!("{m}{prefix}{unit}")
}
