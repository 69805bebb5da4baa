//! From TOML to the tree.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::read::diagnostic::{Diagnostic, Source};
use crate::read::tree::{Entry, Node, Place, Tree, Value};
use crate::words::suggest;

/// Longest file whose syntax is read on behind its first mistake: one made of nothing else would fill the memory.
const RECOVERED: usize = 1 << 18;
/// Most lines of broken syntax that are reported one by one; a file with more is hardly TOML at all.
const MOST_SYNTAX: usize = 10;

impl Tree {
    /// Parses `source`, the file. Every syntax error is reported.
    pub(crate) fn parse(source: Source) -> Result<Self, Vec<Diagnostic>> {
        let source = Arc::new(source);
        let mut found = Vec::new();
        let (table, errors) = match DeTable::parse(source.text()) {
            Ok(table) => (table, Vec::new()),
            Err(first) if source.text().len() > RECOVERED => {
                (Spanned::new(0..0, DeTable::new()), vec![first])
            }
            Err(_) => DeTable::parse_recoverable(source.text()),
        };
        for error in errors {
            let (span, message) = (error.span().unwrap_or(0..0), error.message().trim());
            let key =
                source.text().get(span.clone()).filter(|key| message == "duplicate key" && !key.is_empty());
            let rule =
                key.map_or_else(|| format!("not TOML: {message}"), |key| format!("`{key}` is set twice"));
            let is_value =
                |_: &&str| source.text()[span.end..].trim_start_matches([' ', '\t']).starts_with('=');
            let hint = key.filter(is_value).map(|_| "leave one of the two out".to_owned());
            let mut mistake = Diagnostic::new(&source, span, String::new(), rule);
            mistake.hint = hint;
            found.push(mistake);
        }
        let span = table.span();
        let mut convert = Convert { source: 0, offset: 0, outside: Vec::new() };
        let value = convert.table(table.into_inner());
        convert.outside.sort_by_key(|span| span.start);
        convert.outside.dedup_by_key(|span| source.line_of(span.start));
        for span in convert.outside {
            let rule = outside(source.text(), &span);
            found.push(Diagnostic::new(&source, span, String::new(), rule));
        }
        if !found.is_empty() {
            // One mistake of syntax often makes several messages on its line: the first says it best.
            found.sort_by_key(Diagnostic::order);
            found.dedup_by_key(|d| d.line);
            let more = found.len() - 1;
            if more > MOST_SYNTAX {
                found.truncate(1);
                found[0].rule += &format!("; {more} more lines are not TOML either");
            }
            return Err(found);
        }
        Ok(Self { sources: vec![source], root: Node { value, place: Place { source: 0, span } } })
    }

    /// A value written in an override, `offset` bytes into it; text that is no TOML value, nor begins as a table or a list,
    /// is a string.
    pub(crate) fn value(text: &str, offset: usize, source: usize) -> Result<Node, String> {
        let place = |span: Range<usize>| Place { source, span: span.start + offset..span.end + offset };
        let parsed = match DeValue::parse(text) {
            Ok(parsed) => parsed,
            Err(mistake) if text.starts_with(['{', '[']) => {
                return Err(format!("not TOML: {}", mistake.message().trim()));
            }
            Err(_) => {
                return Ok(Node { value: Value::String(text.to_owned()), place: place(0..text.len()) });
            }
        };
        let span = parsed.span();
        let mut convert = Convert { source, offset, outside: Vec::new() };
        let value = convert.value(span.clone(), parsed.into_inner());
        match convert.outside.pop() {
            Some(span) => Err(outside(text, &(span.start - offset..span.end - offset))),
            None => Ok(Node { value, place: place(span) }),
        }
    }
}

/// Why the number at `span` of `text` is wrong.
fn outside(text: &str, span: &Range<usize>) -> String {
    format!("`{}` does not fit in a TOML integer (64 bits)", suggest::short(&text[span.clone()]))
}

/// Turns toml's values into ours.
struct Convert {
    source: usize,
    /// Bytes before the parsed text in its source.
    offset: usize,
    /// Where numbers do not fit.
    outside: Vec<Range<usize>>,
}

impl Convert {
    fn place(&self, span: &Range<usize>) -> Place {
        Place { source: self.source, span: span.start + self.offset..span.end + self.offset }
    }

    fn table(&mut self, table: DeTable<'_>) -> Value {
        let entries = table.into_iter().map(|(key, value)| {
            let place = self.place(&key.span());
            Entry { key: key.into_inner().into_owned(), place, node: self.node(value) }
        });
        Value::table(entries.collect())
    }

    fn node(&mut self, value: Spanned<DeValue<'_>>) -> Node {
        let span = value.span();
        let place = self.place(&span);
        Node { value: self.value(span, value.into_inner()), place }
    }

    fn value(&mut self, span: Range<usize>, value: DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::String(text.into_owned()),
            DeValue::Integer(n) => {
                Value::Integer(i64::from_str_radix(n.as_str(), n.radix()).unwrap_or_else(|_| {
                    self.outside.push(self.place(&span).span);
                    0
                }))
            }
            DeValue::Float(x) => Value::Float(x.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(b) => Value::Boolean(b),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(items) => Value::Array(items.into_iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => self.table(table),
        }
    }
}
