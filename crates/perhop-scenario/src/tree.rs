//! The file as written: values with their places, before anything is known about their meaning.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Source};

/// Most lines of broken syntax that are reported one by one; a file with more is hardly TOML at all.
const MOST_SYNTAX: usize = 10;

/// Where something is written: which source (0 the file, then the overrides) and which bytes of it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Index into [`Tree::sources`].
    pub source: usize,
    /// Bytes.
    pub span: Range<usize>,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// What is written.
    pub value: Value,
    /// Where.
    pub place: Place,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Text.
    String(String),
    /// An integer of 64 bits.
    Integer(i64),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or a time; no setting takes one.
    Datetime,
    /// A list.
    Array(Vec<Node>),
    /// Keys and values in the order written.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is written.
    pub place: Place,
    /// Its value.
    pub node: Node,
}

/// One step from a table or an array to a value in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// By key.
    Key(Cow<'static, str>),
    /// By position.
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Self::Key(Cow::Owned(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The steps from the root to a value: `steps!["flow", 2, "tcp", "window"]`.
macro_rules! steps {
    ($($step:expr),* $(,)?) => { [$($crate::tree::Step::from($step)),*] };
}
pub(crate) use steps;

/// The whole file with the overrides applied.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The file, then the overrides.
    pub sources: Vec<Arc<Source>>,
    /// The top table.
    pub root: Node,
}

impl Tree {
    /// Parses `source`, the file. Every syntax error is reported.
    pub(crate) fn parse(source: Source) -> Result<Self, Vec<Diagnostic>> {
        let source = Arc::new(source);
        let mut found = Vec::new();
        let (table, errors) = DeTable::parse_recoverable(source.text());
        for error in errors {
            let rule = format!("not TOML: {}", error.message().trim());
            found.push(Diagnostic::new(&source, error.span().unwrap_or(0..0), String::new(), rule));
        }
        let span = table.span();
        let mut convert = Convert { source: 0, offset: 0, outside: Vec::new() };
        let value = convert.table(table.into_inner());
        let wide = convert.outside.into_iter();
        found.extend(wide.map(|(span, rule)| Diagnostic::new(&source, span, String::new(), rule)));
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

    /// A value written in an override, `offset` bytes into it; text that is no TOML value is a string.
    pub(crate) fn value(text: &str, offset: usize, source: usize) -> Result<Node, String> {
        let place = |span: Range<usize>| Place { source, span: span.start + offset..span.end + offset };
        let Ok(parsed) = DeValue::parse(text) else {
            return Ok(Node { value: Value::String(text.to_owned()), place: place(0..text.len()) });
        };
        let span = parsed.span();
        let mut convert = Convert { source, offset, outside: Vec::new() };
        let value = convert.value(span.clone(), parsed.into_inner());
        match convert.outside.pop() {
            Some((_, rule)) => Err(rule),
            None => Ok(Node { value, place: place(span) }),
        }
    }

    /// The value at `steps`, or the nearest one above it that is written.
    pub(crate) fn nearest(&self, steps: &[Step]) -> (&Node, usize) {
        let mut node = &self.root;
        for (depth, step) in steps.iter().enumerate() {
            match node.child(step) {
                Some(child) => node = child,
                None => return (node, depth),
            }
        }
        (node, steps.len())
    }

    /// Whether the value at `steps` is written (and not a default).
    pub(crate) fn is_written(&self, steps: &[Step]) -> bool {
        self.nearest(steps).1 == steps.len()
    }

    /// The text at `steps`, where text is written there.
    pub(crate) fn text(&self, steps: &[Step]) -> Option<&str> {
        match self.nearest(steps) {
            (Node { value: Value::String(text), .. }, depth) if depth == steps.len() => Some(text),
            _ => None,
        }
    }

    /// Line (from 1) of the value at `steps`.
    pub(crate) fn line(&self, steps: &[Step]) -> usize {
        self.diagnostic(steps, String::new()).line
    }

    /// `steps` in the grammar of `-s`: elements by their name, `link.slow-fast.rate`.
    pub(crate) fn path(&self, steps: &[Step]) -> String {
        let mut path = String::new();
        let mut node = Some(&self.root);
        let mut kind = "";
        for step in steps {
            let child = node.and_then(|n| n.child(step));
            match step {
                Step::Key(key) => {
                    let dot = if path.is_empty() { "" } else { "." };
                    let _ = write!(path, "{dot}{key}");
                    kind = key;
                }
                Step::Index(index) => match child.and_then(|c| element_name(kind, c)) {
                    Some(name) => drop(write!(path, ".{name}")),
                    None => drop(write!(path, "[{index}]")),
                },
            }
            node = child;
        }
        path
    }

    /// A diagnostic about the value at `steps`.
    pub(crate) fn diagnostic(&self, steps: &[Step], rule: String) -> Diagnostic {
        self.diagnostic_at(steps, &self.nearest(steps).0.place, rule)
    }

    /// A diagnostic about `steps` that points at `place`.
    pub(crate) fn diagnostic_at(&self, steps: &[Step], place: &Place, rule: String) -> Diagnostic {
        Diagnostic::new(&self.sources[place.source], place.span.clone(), self.path(steps), rule)
    }
}

impl Node {
    /// The value one step below.
    pub(crate) fn child(&self, step: &Step) -> Option<&Self> {
        match (&self.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter().find(|e| e.key == *key).map(|e| &e.node)
            }
            (Value::Array(items), Step::Index(index)) => items.get(*index),
            _ => None,
        }
    }

    /// The text under `key`, where there is one.
    pub(crate) fn text(&self, key: &'static str) -> Option<&str> {
        match &self.child(&Step::from(key))?.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

/// What identifies an element of the list `kind` in a path, `None` where that is not written.
pub(crate) fn element_name(kind: &str, node: &Node) -> Option<String> {
    match kind {
        "node" | "flow" | "class" => node.text("name").map(str::to_owned),
        "port" => Some(format!("{}-{}", plain(node.text("at")?), plain(node.text("to")?))),
        "link" => {
            let ends = node.child(&Step::from("ends"))?;
            let end = |i: usize| match &ends.child(&Step::Index(i))?.value {
                Value::String(text) => Some(plain(text)),
                _ => None,
            };
            Some(format!("{}-{}", end(0)?, end(1)?))
        }
        _ => None,
    }
}

/// An end or a direction as paths have it: without `[*]`.
pub(crate) fn plain(text: &str) -> String {
    text.replace("[*]", "")
}

/// Turns toml's values into ours.
struct Convert {
    source: usize,
    /// Bytes before the parsed text in its source.
    offset: usize,
    /// Numbers that do not fit.
    outside: Vec<(Range<usize>, String)>,
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
        Value::Table(entries.collect())
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
                    self.outside.push((span, format!("`{n}` does not fit in a TOML integer (64 bits)")));
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
