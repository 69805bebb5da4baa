//! Words, numbers and times of a script.

use perhop_core::time::{Instant, Span};

use super::Outcome;

/// The words of a line.
pub struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    /// The words of `line`.
    pub fn new(line: &'a str) -> Self {
        Self(line.split_whitespace())
    }

    /// The next word.
    pub fn next(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    /// The next word, which must be there: the value of `name`.
    pub fn value(&mut self, name: &str) -> Outcome<&'a str> {
        self.next().ok_or_else(|| format!("{name} has no value"))
    }

    /// Nothing may be left over.
    pub fn end(&mut self) -> Outcome {
        self.next().map_or(Ok(()), |word| Err(format!("{word} is one word too many")))
    }
}

/// Seconds, such as `0.25`.
pub fn time_span(word: &str) -> Outcome<Span> {
    let bad = || format!("+{word} is no time");
    let seconds: f64 = word.parse().map_err(|_| bad())?;
    if !(0.0..1e9).contains(&seconds) {
        return Err(bad());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "is positive and small")]
    Ok(Span::from_nanos((seconds * 1e9).round() as u64))
}

/// Seconds since the start.
pub fn instant(word: &str) -> Outcome<Instant> {
    time_span(word).map(|span| Instant::ZERO + span)
}

/// A time as a script writes it.
pub fn time(at: Instant) -> String {
    format!("{}", at.as_secs_f64())
}

/// Fails unless a time is what `word` says, to the microsecond.
pub fn same_time(name: &str, is: Option<u64>, word: &str) -> Outcome {
    let wanted = if word == "none" { None } else { Some(time_span(word)?.as_nanos()) };
    let same = match (is, wanted) {
        (Some(is), Some(wanted)) => is.abs_diff(wanted) <= 1_000,
        (is, wanted) => is == wanted,
    };
    let text = is.map_or("none".to_owned(), |ns| time(Instant::from_nanos(ns)));
    same.then_some(()).ok_or_else(|| format!("{name} is {text}, not {word}"))
}

/// Bytes, in segments or by themselves.
#[derive(Clone, Copy)]
pub struct Segments(pub u64);

impl Segments {
    /// Bytes: `3` segments, `2.5` segments, or `700B`.
    pub fn bytes(self, word: &str) -> Outcome<u64> {
        let bad = |_| format!("{word} is neither a number of segments nor of bytes");
        if let Some(bytes) = word.strip_suffix('B') {
            return bytes.parse().map_err(|_| bad(()));
        }
        let segments: f64 = word.parse().map_err(|_| bad(()))?;
        #[expect(clippy::cast_precision_loss, reason = "a segment is small")]
        let bytes = segments * self.0 as f64;
        if !(0.0..1e15).contains(&bytes) {
            return Err(bad(()));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "is positive and below 2^53"
        )]
        Ok(bytes.round() as u64)
    }

    /// First byte and the byte after the last: of segment `3`, of segments `3-5`, or `500B-700B`.
    pub fn range(self, word: &str) -> Outcome<(u64, u64)> {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let more = if last.ends_with('B') { 0 } else { self.0 };
        let (start, end) = (self.bytes(first)?, self.bytes(last)? + more);
        if start < end { Ok((start, end)) } else { Err(format!("{word} is no range of segments")) }
    }

    /// Each segment of `word`, as [`Segments::range`] reads it: byte ranges are one segment.
    pub fn each(self, word: &str) -> Outcome<Vec<(u64, u64)>> {
        let (start, end) = self.range(word)?;
        if word.contains('B') {
            return Ok(vec![(start, end)]);
        }
        Ok((start..end)
            .step_by(usize::try_from(self.0).unwrap_or(1))
            .map(|seq| (seq, seq + self.0))
            .collect())
    }

    /// A number of bytes as a script writes it.
    pub fn text(self, bytes: u64) -> String {
        if bytes.is_multiple_of(self.0) { (bytes / self.0).to_string() } else { format!("{bytes}B") }
    }

    /// A range as a script writes it.
    pub fn range_text(self, start: u64, end: u64) -> String {
        if !start.is_multiple_of(self.0) || !end.is_multiple_of(self.0) {
            format!("{start}B-{end}B")
        } else if end == start + self.0 {
            self.text(start)
        } else {
            format!("{}-{}", start / self.0, end / self.0 - 1)
        }
    }

    /// Fails unless a number of bytes is what `word` says.
    pub fn same(self, name: &str, is: u64, word: &str) -> Outcome {
        let wanted = if word == "none" { u64::MAX } else { self.bytes(word)? };
        let text = if is == u64::MAX { "none".to_owned() } else { self.text(is) };
        (is == wanted).then_some(()).ok_or_else(|| format!("{name} is {text}, not {word}"))
    }
}

/// Fails unless a count is what `word` says.
pub fn same_count(name: &str, is: u64, word: &str) -> Outcome {
    (word == is.to_string()).then_some(()).ok_or_else(|| format!("{name} is {is}, not {word}"))
}
