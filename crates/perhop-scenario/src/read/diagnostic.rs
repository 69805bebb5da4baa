//! A mistake in a scenario, or a likely one: its place, the rule, and a remedy.

use std::ops::Range;
use std::sync::Arc;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents};
use miette::{Severity, SourceCode, SourceSpan, SpanContents};

use crate::words::suggest;

/// Most bytes of one line that a snippet shows on either side of the value.
const CLIP: usize = 200;

/// One mistake in a scenario file or in an override, or a warning: what is valid and almost surely meant otherwise.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{rule}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct Diagnostic {
    /// The setting, in the grammar of `-s`: `flow.up.tcp.window`. Empty when the file as a whole is meant.
    pub path: String,
    /// Line in the file (from 1), or in the override.
    pub line: usize,
    /// Column in that line, in characters (from 1).
    pub column: usize,
    /// The value as it was written; empty when there is none.
    pub value: String,
    /// The rule that the value breaks.
    pub rule: String,
    /// A remedy.
    pub hint: Option<String>,
    /// How many this is: one, or in the last of a long list all those that are not told one by one.
    pub count: usize,
    severity: Severity,
    text: Arc<Source>,
    span: Range<usize>,
}

impl Diagnostic {
    /// A diagnostic about `span` (bytes) of `source`.
    pub(crate) fn new(source: &Arc<Source>, span: Range<usize>, path: String, rule: String) -> Self {
        let span = source.floor(span.start)..source.floor(span.end.max(span.start));
        let (line, start) = source.line_of(span.start);
        let column = source.column(start, span.start) + 1;
        let value = suggest::short(source.text[span.clone()].trim_matches(['"', '\'']));
        Self {
            path,
            line: line + 1,
            column,
            value,
            rule,
            hint: None,
            count: 1,
            severity: Severity::Error,
            text: Arc::clone(source),
            span,
        }
    }

    /// The same with a hint.
    pub(crate) fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// The same as a warning.
    pub(crate) fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// The same about a value that is not written.
    pub(crate) fn without_value(mut self) -> Self {
        self.value.clear();
        self
    }

    /// Makes it stand for `count`, of which it is the first.
    pub(crate) fn sum_up(&mut self, count: usize) {
        self.rule = format!("and {count} more, from here on");
        (self.count, self.hint) = (count, None);
        self.path.clear();
        self.value.clear();
    }

    /// Whether both say the same about the same place.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        self.order() == other.order() && self.rule == other.rule
    }

    /// Position for sorting: the file before overrides, top to bottom.
    pub(crate) fn order(&self) -> (usize, usize) {
        (self.text.rank, self.span.start)
    }
}

impl miette::Diagnostic for Diagnostic {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.text.text.is_empty()).then_some(&*self.text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = (self.span.start, self.span.len());
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(None, span))))
    }
}

/// `diagnostic` as people read it: message, `file:line:column`, the line with a caret, the hint.
///
/// Without colour it controls no terminal: of control characters in the file only line feeds are left.
#[must_use]
pub fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false).with_links(false);
    if handler.render_report(&mut out, diagnostic).is_err() {
        // A snippet that cannot be drawn must not hide the message.
        out = format!("{}:{}:{}: {diagnostic}\n", diagnostic.text.name, diagnostic.line, diagnostic.column);
    }
    if color { out } else { out.chars().map(visible).collect() }
}

/// The picture of a control character, other characters as they are.
fn visible(c: char) -> char {
    match c {
        '\n' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// A text that diagnostics point into: the scenario file, or one override.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    text: String,
    rank: usize,
    /// Byte offset of every line.
    lines: Vec<usize>,
    /// Characters before every block of bytes: a line may be as long as the file.
    chars: Vec<usize>,
}

/// Bytes of a block.
const BLOCK: usize = 256;

/// Characters that begin in `bytes`.
fn count_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| !matches!(byte, 0x80..=0xbf)).count()
}

impl Source {
    /// `rank` is 0 for the file, then 1, 2, ... for the overrides.
    pub(crate) fn new(name: String, text: String, rank: usize) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        let blocks = text.as_bytes().chunks(BLOCK).map(count_chars);
        let before = blocks.scan(0, |before, chars| Some(std::mem::replace(before, *before + chars)));
        let chars = before.collect();
        Self { name, text, rank, lines, chars }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The nearest character boundary at or before `offset`.
    fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }

    /// Characters from byte `start` to byte `offset`.
    fn column(&self, start: usize, offset: usize) -> usize {
        let before = |at: usize| {
            let block = (at / BLOCK).min(self.chars.len().saturating_sub(1));
            self.chars.get(block).map_or(0, |n| n + count_chars(&self.text.as_bytes()[block * BLOCK..at]))
        };
        before(offset) - before(start)
    }

    /// Number (from 0) and first byte of the line that holds `offset`.
    pub(crate) fn line_of(&self, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset).saturating_sub(1);
        (line, self.lines.get(line).copied().unwrap_or(0))
    }
}

impl SourceCode for Source {
    /// Like miette's own for `str`, but found by the line index and clipped where lines are very long.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (first, first_start) = self.line_of(span.offset());
        let (last, _) = self.line_of(span.offset() + span.len());
        let line = first.saturating_sub(before);
        let mut start = self.lines[line];
        let mut end = self.lines.get(last + after + 1).copied().unwrap_or(self.text.len());
        let mut line_shown = line;
        if span.offset() - start > CLIP * (before + 1) {
            start = self.floor(first_start.max(span.offset().saturating_sub(CLIP)));
            line_shown = first;
        }
        end = self.floor(end.min(span.offset() + span.len().min(CLIP) + CLIP * (after + 1)));
        if before == 0 {
            // Asked for the place alone, not for lines to show.
            (line_shown, start) = (first, span.offset());
        }
        let column = self.column(self.line_of(start).1, start);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.text.as_bytes()[start..end],
            (start, end - start).into(),
            line_shown,
            column,
            self.lines.len(),
        )))
    }
}
