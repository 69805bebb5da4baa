//! Overrides: `-s path=value`, written over the file before anything is checked.
//!
//! A path is a table and keys (`run.seed`) or a list, the name of one of its elements, and keys
//! (`flow.up.tcp.window`, `port.slow-fast.class.acks.queue.limit`, `link.slow-fast.rate.slow->fast`). A list alone is
//! written anew as a whole (`flow=[...]`). The value is a TOML value; text that is none is taken as a string.

use std::sync::Arc;

use crate::read::diagnostic::{Diagnostic, Source};
use crate::read::tree::{Entry, Node, Place, Tree, Value, element_name, index_of, joined_name, plain};
use crate::words::suggest;

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
    let value = Tree::value(value, offset, source).map_err(|rule| {
        let is_broken = rule.starts_with("not TOML");
        (rule, is_broken.then(|| "words stand in quotes, as in `{ kind = \"fifo\" }`".to_owned()))
    })?;
    let keys = keys_of(path.trim());
    if keys.iter().any(|key| key.is_empty()) {
        return Err(("a path is keys and names with one dot between them".to_owned(), example()));
    }
    let place = Place { source, span: 0..path.len() };
    if let ["port", name, rest @ ..] = keys.as_slice() {
        write_default_port(root, name, rest.starts_with(&["class", "all"]), &place)?;
    }
    match keys.as_slice() {
        ["port", port, "class", class, rest @ ..] => {
            let port = element(root, "port", port)?;
            put(element(port, "class", class)?, rest, value, &place)
        }
        [list @ ("node" | "link" | "profile" | "port" | "conditioner" | "flow" | "udp"), name, rest @ ..] => {
            let element = element(root, list, name)?;
            if let ("link", [key, direction]) = (*list, rest)
                && direction.contains("->")
            {
                split_directions(element, key)?;
            }
            put(element, rest, value, &place)
        }
        [list @ ("node" | "link" | "profile" | "port" | "conditioner" | "flow" | "udp")]
            if !matches!(value.value, Value::Array(_)) =>
        {
            Err((format!("{list} is a list: name one element"), None))
        }
        keys => put(root, keys, value, &place),
    }
}

/// The keys between the dots of a path; those of a slice, `p[0..2]`, are part of a name.
fn keys_of(path: &str) -> Vec<&str> {
    let mut in_brackets = false;
    let is_dot = |c| {
        in_brackets = c == '[' || (in_brackets && c != ']');
        c == '.' && !in_brackets
    };
    path.split(is_dot).collect()
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
    let direction = entries.iter().position(|e| key.contains("->") && plain(&e.key) == key);
    let index = direction.map_or_else(|| index_of(entries, key), Ok).unwrap_or_else(|index| {
        let node = Node { value: Value::Table(Vec::new()), place: place.clone() };
        entries.insert(index, Entry { key: key.to_owned(), place: place.clone(), node });
        index
    });
    Ok(&mut entries[index].node)
}

/// The element `name` of the list `kind` in `parent`.
fn element<'a>(parent: &'a mut Node, kind: &str, name: &str) -> Result<&'a mut Node, Refusal> {
    let items = match parent.get_mut(kind).map(|list| &mut list.value) {
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

/// Writes the port `name` into the file if the file has the link and leaves its port to the defaults; with `class` its
/// class `all` too. It cannot be changed alone where one port is for both directions of its link.
fn write_default_port(root: &mut Node, name: &str, class: bool, place: &Place) -> Result<(), Refusal> {
    let Some((at, to)) = link_ends(root, name) else { return Ok(()) };
    let node = |value| Node { value, place: place.clone() };
    let entry = |key: &str, node| Entry { key: key.to_owned(), place: place.clone(), node };
    if let Value::Table(top) = &mut root.value
        && let Err(index) = index_of(top, "port")
    {
        top.insert(index, entry("port", node(Value::Array(Vec::new()))));
    }
    let Some(Value::Array(ports)) = root.get_mut("port").map(|list| &mut list.value) else { return Ok(()) };
    let name_of = |port: &Node| element_name("port", port);
    let turned = joined_name(&to, &at);
    if turned.as_deref() != Some(name)
        && ports.iter().any(|port| port.get("between").is_some() && name_of(port) == turned)
    {
        let both = turned.unwrap_or_default();
        return Err((
            format!("the port `{both}` is for both directions"),
            Some(format!("write `port.{both}`")),
        ));
    }
    let index = ports.iter().position(|port| name_of(port).as_deref() == Some(name));
    let index = index.unwrap_or_else(|| {
        ports.push(node(Value::table(vec![entry("at", at), entry("to", to)])));
        ports.len() - 1
    });
    if let (true, Value::Table(port)) = (class, &mut ports[index].value)
        && let Err(index) = index_of(port, "class")
    {
        let all = Value::table(vec![entry("name", node(Value::String("all".to_owned())))]);
        port.insert(index, entry("class", node(Value::Array(vec![node(all)]))));
    }
    Ok(())
}

/// The two ends of the link, in this order, that a port called `name` is on.
fn link_ends(root: &Node, name: &str) -> Option<(Node, Node)> {
    root.get("link")?.items().iter().find_map(|link| {
        let [a, b] = link.get("ends")?.items() else { return None };
        let is_port = |at: &Node, to: &Node| Some(joined_name(at, to)? == name);
        let (ahead, back) = (is_port(a, b)?, is_port(b, a)?);
        if ahead { Some((a.clone(), b.clone())) } else { back.then(|| (b.clone(), a.clone())) }
    })
}

/// Makes one value for both directions of a link two equal ones, so that one of them can be changed.
fn split_directions(link: &mut Node, key: &str) -> Result<(), Refusal> {
    let Some((a, b)) =
        element_name("link", link).and_then(|n| n.split_once('-').map(|(a, b)| (a.to_owned(), b.to_owned())))
    else {
        return Ok(());
    };
    let Some(node) = link.get_mut(key) else { return Ok(()) };
    match node.value {
        Value::Table(_) => return Ok(()),
        Value::Array(_) => {
            let hint = format!("write the whole of it, as in `link.{a}-{b}.{key}=[\"5ms\", \"25ms\"]`");
            return Err((format!("`{key}` is a list here, for both directions"), Some(hint)));
        }
        _ => {}
    }
    let entry = |key: String| Entry { key, place: node.place.clone(), node: node.clone() };
    node.value = Value::table(vec![entry(format!("{a}->{b}")), entry(format!("{b}->{a}"))]);
    Ok(())
}
