//! The file as written: values with their places, before anything is known about their meaning.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use crate::read::diagnostic::{Diagnostic, Source};
use crate::words::suggest;

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
    /// The value.
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
    /// Keys and values, in the order of the keys.
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
pub enum Step {
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
    ($($step:expr),* $(,)?) => { [$($crate::read::tree::Step::from($step)),*] };
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

    /// Where the key of the value at `steps` is written.
    pub(crate) fn key(&self, steps: &[Step]) -> Option<&Place> {
        let (Step::Key(key), above) = steps.split_last()? else { return None };
        let (table, depth) = self.nearest(above);
        match &table.value {
            Value::Table(entries) if depth == above.len() => {
                Some(&entries[index_of(entries, key).ok()?].place)
            }
            _ => None,
        }
    }

    /// Whether the value at `steps` is written (and not a default).
    pub(crate) fn is_written(&self, steps: &[Step]) -> bool {
        self.nearest(steps).1 == steps.len()
    }

    /// The text at `steps`, where text is written there.
    pub(crate) fn text(&self, steps: &[Step]) -> Option<&str> {
        let (node, depth) = self.nearest(steps);
        node.text().filter(|_| depth == steps.len())
    }

    /// The value at `steps` as text, where a text or a number is written there.
    pub(crate) fn shown(&self, steps: &[Step]) -> Option<String> {
        let (node, depth) = self.nearest(steps);
        match &node.value {
            _ if depth < steps.len() => None,
            Value::String(text) => Some(text.clone()),
            Value::Integer(n) => Some(n.to_string()),
            Value::Float(x) => Some(x.to_string()),
            Value::Boolean(_) | Value::Datetime | Value::Array(_) | Value::Table(_) => None,
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
                    let _ = write!(path, "{dot}{}", bounded(key));
                    kind = key;
                }
                Step::Index(index) => match child.and_then(|c| element_name(kind, c)) {
                    Some(name) => drop(write!(path, ".{}", bounded(&name))),
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

impl Value {
    /// A table of `entries`.
    pub(crate) fn table(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Self::Table(entries)
    }
}

/// Where among `entries` the one under `key` is, or where it would be.
pub(crate) fn index_of(entries: &[Entry], key: &str) -> Result<usize, usize> {
    entries.binary_search_by(|entry| entry.key.as_str().cmp(key))
}

impl Node {
    /// The value one step below.
    pub(crate) fn child(&self, step: &Step) -> Option<&Self> {
        match step {
            Step::Key(key) => self.get(key),
            Step::Index(index) => self.items().get(*index),
        }
    }

    /// The value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => Some(&entries[index_of(entries, key).ok()?].node),
            _ => None,
        }
    }

    /// The value under `key`, to be changed.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Table(entries) => {
                let index = index_of(entries, key).ok()?;
                Some(&mut entries[index].node)
            }
            _ => None,
        }
    }

    /// The text, where it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, where it is a list.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }
}

/// `text` as it is, unless nobody could have meant it: two names joined have fewer bytes.
fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= 600 { Cow::Borrowed(text) } else { Cow::Owned(suggest::short(text)) }
}

/// The name of an element of the list `kind` in a path, `None` where it is not written.
pub(crate) fn element_name(kind: &str, node: &Node) -> Option<String> {
    let text = |key: &str| node.get(key)?.text();
    match kind {
        "node" | "profile" | "conditioner" | "flow" | "udp" | "class" | "factor" | "range" | "response" => {
            text("name").map(str::to_owned)
        }
        "port" if node.get("between").is_some() => joined(node.get("between")?),
        "port" => joined_name(node.get("at")?, node.get("to")?),
        "link" => joined(node.get("ends")?),
        _ => None,
    }
}

fn joined(ends: &Node) -> Option<String> {
    let [a, b] = ends.items() else { return None };
    joined_name(a, b)
}

/// The name of the link between the ends `a` and `b`, as paths have it.
pub(crate) fn joined_name(a: &Node, b: &Node) -> Option<String> {
    Some(format!("{}-{}", plain(a.text()?), plain(b.text()?)))
}

/// An end or a direction as paths have it: without `[*]`.
pub(crate) fn plain(text: &str) -> String {
    text.replace("[*]", "")
}
