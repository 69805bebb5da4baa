//! Overrides: `-s path=value`, written over the file before anything is checked.
//!
//! A path is a table and keys (`run.seed`) or a list, the name of one of its elements, and keys
//! (`flow.up.tcp.window`, `port.slow-fast.class.acks.queue.limit`, `link.slow-fast.rate.slow->fast`). The value is a
//! TOML value; text that is none is taken as a string.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Source};
use crate::suggest;
use crate::tree::{Entry, Node, Place, Tree, Value, element_name, plain};

/// Why an override cannot be applied, and a hint.
type Refusal = (String, Option<String>);

/// Applies `overrides` in order; a later one wins.
pub(crate) fn apply(tree: &mut Tree, overrides: &[String]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (i, text) in overrides.iter().enumerate() {
        let source = Arc::new(Source::new(format!("-s {text}"), text.clone(), i + 1));
        tree.sources.push(Arc::clone(&source));
        if let Err((rule, hint)) = apply_one(&mut tree.root, text, i + 1) {
            let path = text.split('=').next().unwrap_or_default();
            found.push(Diagnostic::new(&source, 0..path.len(), path.trim().to_owned(), rule).with_hint(hint));
        }
    }
    found
}

fn apply_one(root: &mut Node, text: &str, source: usize) -> Result<(), Refusal> {
    let example =
        || Some("write path=value, as in `run.duration=60s` or `flow.up.tcp.window=64KiB`".to_owned());
    let (path, written) =
        text.split_once('=').ok_or_else(|| ("an override is path=value".to_owned(), example()))?;
    let value = written.trim();
    let offset = path.len() + 1 + (written.len() - written.trim_start().len());
    let value = Tree::value(value, offset, source).map_err(|rule| (rule, None))?;
    let keys: Vec<&str> = path.trim().split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err(("a path is keys and names with one dot between them".to_owned(), example()));
    }
    let place = Place { source, span: 0..path.len() };
    match keys.as_slice() {
        ["port", port, "class", class, rest @ ..] => {
            let port = element(root, "port", port)?;
            put(element(port, "class", class)?, rest, value, &place)
        }
        [list @ ("node" | "link" | "port" | "flow"), name, rest @ ..] => {
            let element = element(root, list, name)?;
            if let ("link", [key, direction]) = (*list, rest)
                && direction.contains("->")
            {
                split_directions(element, key);
            }
            put(element, rest, value, &place)
        }
        [list @ ("node" | "link" | "port" | "flow")] => {
            Err((format!("{list} is a list: name one element"), None))
        }
        keys => put(root, keys, value, &place),
    }
}

/// Writes `value` under `keys`, making tables on the way.
fn put(mut node: &mut Node, keys: &[&str], value: Node, place: &Place) -> Result<(), Refusal> {
    let Some((last, tables)) = keys.split_last() else {
        return Err(("the path ends at an element: name one of its settings".to_owned(), None));
    };
    for key in tables {
        node = child(node, key, place)?;
    }
    *child(node, last, place)? = value;
    Ok(())
}

/// The value under `key`; where there is none, an empty table that counts as written at `place`.
fn child<'a>(node: &'a mut Node, key: &str, place: &Place) -> Result<&'a mut Node, Refusal> {
    let Value::Table(entries) = &mut node.value else {
        return Err((format!("there is no `{key}` here: what is above it has a value, not keys"), None));
    };
    let same = |e: &Entry| e.key == key || (key.contains("->") && plain(&e.key) == key);
    let index = entries.iter().position(same).unwrap_or_else(|| {
        let table = Node { value: Value::Table(Vec::new()), place: place.clone() };
        entries.push(Entry { key: key.to_owned(), place: place.clone(), node: table });
        entries.len() - 1
    });
    Ok(&mut entries[index].node)
}

/// The element `name` of the list `kind` in `parent`.
fn element<'a>(parent: &'a mut Node, kind: &str, name: &str) -> Result<&'a mut Node, Refusal> {
    let items = match parent.child_mut(kind).map(|list| &mut list.value) {
        Some(Value::Array(items)) => items.as_mut_slice(),
        _ => &mut [],
    };
    let names: Vec<Option<String>> = items.iter().map(|item| element_name(kind, item)).collect();
    match names.iter().position(|n| n.as_deref() == Some(name)) {
        Some(index) => Ok(&mut items[index]),
        None => {
            let hint = suggest::among(name, names.iter().flatten().map(String::as_str));
            let rule = format!("the file has no {kind} `{name}`");
            Err((rule, hint.or_else(|| Some(format!("an override changes a [[{kind}]] that the file has")))))
        }
    }
}

/// Makes one value for both directions of a link two equal ones, so that one of them can be changed.
fn split_directions(link: &mut Node, key: &str) {
    let Some((a, b)) =
        element_name("link", link).and_then(|n| n.split_once('-').map(|(a, b)| (a.to_owned(), b.to_owned())))
    else {
        return;
    };
    let Some(node) = link.child_mut(key) else { return };
    if let Value::Table(_) = node.value {
        return;
    }
    let entry = |key: String| Entry { key, place: node.place.clone(), node: node.clone() };
    node.value = Value::Table(vec![entry(format!("{a}->{b}")), entry(format!("{b}->{a}"))]);
}

impl Node {
    /// The value under `key`, to be changed.
    fn child_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Table(entries) => entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node),
            _ => None,
        }
    }
}
