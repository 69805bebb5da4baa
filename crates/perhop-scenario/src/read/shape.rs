//! The first of two checks: is every key known, every value of the right kind and in range?
//!
//! The rules are the JSON Schema of the file's structs. The result is the file as JSON in which every refused value is
//! replaced by a permitted one, so that the second check can go on and find the other mistakes too; what was replaced is
//! in `damaged`.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::read::diagnostics::Diagnostics;
use crate::read::rules;
use crate::read::tree::{Entry, Node, Step, Tree, Value, index_of};
use crate::words::suggest;

/// The most words whose meanings a hint gives.
const FEW: usize = 4;

/// The findings of the check.
pub(crate) struct Shape<'a> {
    tree: &'a Tree,
    root: &'a Json,
    at: Vec<Step>,
    /// Every mistake.
    pub found: Diagnostics,
    /// Values that are not what was written.
    pub damaged: BTreeSet<Vec<Step>>,
}

impl<'a> Shape<'a> {
    /// Checks `tree` against the schema `root`; returns the file as JSON that fits the schema.
    pub(crate) fn check(tree: &'a Tree, root: &'a Json) -> (Self, Json) {
        let mut shape =
            Self { tree, root, at: Vec::new(), found: Diagnostics::default(), damaged: BTreeSet::new() };
        let json = shape.value(&tree.root, root);
        (shape, json)
    }

    fn value(&mut self, node: &Node, schema: &'a Json) -> Json {
        let rules = rules::resolve(self.root, schema);
        if let Some(variants) = rules["oneOf"].as_array() {
            return if variants.iter().any(|v| v["const"].is_string()) {
                self.choice(node, schema, variants)
            } else {
                self.tagged(node, schema, variants)
            };
        }
        if let Some(variants) = rules["anyOf"].as_array() {
            let kind = match node.value {
                Value::Table(_) => "object",
                Value::Array(_) => "array",
                Value::Integer(_) => "integer",
                Value::Float(_) => "number",
                Value::Boolean(_) => "boolean",
                Value::String(_) | Value::Datetime => "string",
            };
            let is = |v: &Json, of: &str| rules::resolve(self.root, v)["type"] == of;
            let fitting = variants.iter().find(|v| is(v, kind));
            // a single value stands before lists and tables
            let best = fitting.or_else(|| variants.iter().find(|v| !is(v, "object")));
            return match best {
                Some(variant) => self.value(node, variant),
                None => self.wrong_kind(node, schema),
            };
        }
        match (rules["type"].as_str(), &node.value) {
            (Some("object"), Value::Table(entries)) => self.table(node, entries, rules),
            (Some("array"), Value::Array(items)) => self.list(node, items, rules),
            (Some("string"), Value::String(text)) => self.text(node, text, schema, rules),
            (Some("string"), Value::Integer(n)) => self.number_for_text(node, &n.to_string(), schema, rules),
            (Some("string"), Value::Float(x)) => self.number_for_text(node, &x.to_string(), schema, rules),
            (Some("integer"), Value::Integer(n)) => self.integer(node, *n, schema, rules),
            #[expect(
                clippy::cast_precision_loss,
                reason = "a number may be written without a point: share = 1"
            )]
            (Some("number"), Value::Integer(n)) => self.number(node, *n as f64, schema, rules),
            (Some("number"), Value::Float(x)) => self.number(node, *x, schema, rules),
            (Some("boolean"), Value::Boolean(b)) => Json::Bool(*b),
            _ => self.wrong_kind(node, schema),
        }
    }

    fn table(&mut self, node: &Node, entries: &[Entry], rules: &'a Json) -> Json {
        let mut out = self.keys(entries, rules);
        for key in rules["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !out.contains_key(key) {
                let property = &rules["properties"][key];
                out.insert(key.to_owned(), self.missing(node, key, property));
            }
        }
        Json::Object(out)
    }

    /// The values of a table's keys; left out are unknown ones, and those of a table that may have any.
    fn keys(&mut self, entries: &[Entry], rules: &'a Json) -> Map<String, Json> {
        let known = rules["properties"].as_object();
        let mut out = Map::new();
        for Entry { key, place, node } in entries {
            self.at.push(Step::from(key.clone()));
            let property = known
                .and_then(|k| k.get(key))
                .or_else(|| rules.get("additionalProperties").filter(|a| a.is_object()));
            if let Some(property) = property {
                out.insert(key.clone(), self.value(node, property));
            } else if rules["additionalProperties"] != true {
                let keys = known.into_iter().flat_map(Map::keys).map(String::as_str);
                let keys: Vec<&str> = keys.collect();
                let hint = self.hint(|| {
                    suggest::near(key, keys.iter().copied())
                        .or_else(|| {
                            rules::elsewhere(self.root, key, &self.table_path())
                                .map(|at| format!("`{key}` stands in {at}"))
                        })
                        .or_else(|| {
                            let about = known.into_iter().flatten().filter_map(|(name, rules)| {
                                Some((name.as_str(), rules["description"].as_str()?))
                            });
                            suggest::described(key, about)
                        })
                        .or_else(|| suggest::begun(key, keys.iter().copied()))
                        .or_else(|| suggest::among(key, keys.iter().copied()))
                });
                let rule = format!("there is no setting `{}` here", suggest::short(key));
                let error = self.tree.diagnostic_at(&self.at, place, rule);
                self.found.push(error.with_hint(hint));
            }
            self.at.pop();
        }
        out
    }

    /// The names of the tables around the key at hand.
    fn table_path(&self) -> String {
        let names = self.at[..self.at.len() - 1].iter().filter_map(|step| match step {
            Step::Key(name) => Some(name.as_ref()),
            Step::Index(_) => None,
        });
        names.collect::<Vec<_>>().join(".")
    }

    fn missing(&mut self, node: &Node, key: &str, property: &'a Json) -> Json {
        let rules = rules::resolve(self.root, property);
        let about = property["description"].as_str().or(rules["description"].as_str()).unwrap_or_default();
        let add = match (rules["examples"][0].as_str(), rules["type"].as_str(), self.at.is_empty()) {
            (Some(example), _, _) => format!("add `{key} = \"{example}\"`"),
            (None, Some("array"), true) => format!("add a [[{key}]]"),
            (None, _, true) => format!("add a [{key}]"),
            _ => format!("add `{key} = ...`"),
        };
        let mut at = self.at.clone();
        at.push(Step::from(key.to_owned()));
        let error = self.tree.diagnostic_at(&at, &node.place, format!("`{key}` is missing"));
        self.found.push(error.without_value().with_hint(Some(format!("{add}: {}", lower_first(about)))));
        self.damage(at);
        rules::placeholder(self.root, property)
    }

    fn list(&mut self, node: &Node, items: &[Node], rules: &'a Json) -> Json {
        let bounds =
            (rules["minItems"].as_u64().unwrap_or(0), rules["maxItems"].as_u64().unwrap_or(u64::MAX));
        let count = items.len() as u64;
        if count < bounds.0 || count > bounds.1 {
            let rule = match bounds {
                (min, max) if min == max => format!("needs exactly {min} entries, not {count}"),
                (min, _) if count < min => format!("needs at least {min} entry"),
                (_, max) => format!("takes at most {max} entries, not {count}"),
            };
            let about = rules["description"].as_str().filter(|_| bounds.0 == bounds.1);
            return self.refuse(node, rules, rule, about.map(lower_first));
        }
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.at.push(Step::from(index));
            out.push(self.value(item, &rules["items"]));
            self.at.pop();
        }
        Json::Array(out)
    }

    /// One of several words, or text of a form beside them.
    fn choice(&mut self, node: &Node, schema: &'a Json, variants: &'a [Json]) -> Json {
        let words = || variants.iter().filter_map(|v| v["const"].as_str());
        let Value::String(text) = &node.value else { return self.wrong_kind(node, schema) };
        if words().any(|word| word == text) {
            return Json::String(text.clone());
        }
        let form = variants.iter().find_map(Form::of);
        if let Some(form) = form.as_ref().filter(|form| text.starts_with(form.prefix)) {
            return self.text(node, text, schema, form.rules);
        }
        let hint = self.hint(|| {
            suggest::near(text, words())
                .or_else(|| {
                    rules::taking(self.root, &self.table_path(), text)
                        .map(|other| format!("`{text}` is a value of `{other}`"))
                })
                .or_else(|| suggest::begun(text, words()))
                .or_else(|| form.as_ref()?.of_rest(text))
                .or_else(|| meanings(variants))
        });
        let mut rule = format!("`{}` is not one of {}", suggest::short(text), list_words(words()));
        if let Some(form) = form {
            rule += &format!(", nor like \"{}\"", form.example);
        }
        self.refuse(node, schema, rule, hint)
    }

    /// One of several tables told apart by a word in them.
    fn tagged(&mut self, node: &Node, schema: &'a Json, variants: &'a [Json]) -> Json {
        let tag = variants[0]["properties"]
            .as_object()
            .and_then(|p| p.iter().find(|(_, v)| v["const"].is_string()));
        let tag = tag.map_or("kind", |(name, _)| name.as_str());
        let words = || variants.iter().filter_map(|v| v["properties"][tag]["const"].as_str());
        let Value::Table(entries) = &node.value else {
            let word = words().find(|word| matches!(&node.value, Value::String(text) if text == word));
            let example = word.or_else(|| words().next()).unwrap_or_default();
            let hint = Some(format!("write a table, as in `{{ {tag} = \"{example}\" }}`"));
            return self.refuse(node, schema, format!("must be a table, not {}", kind_of(&node.value)), hint);
        };
        let Some(word) = entries.iter().find(|e| e.key == tag) else {
            if let Some(json) = self.overridden_default(node, entries, schema, variants, tag) {
                return json;
            }
            let mut at = self.at.clone();
            at.push(Step::from(tag.to_owned()));
            let error =
                self.tree.diagnostic_at(&at, &node.place, format!("`{tag}` is missing")).without_value();
            self.found.push(error.with_hint(Some(format!("`{tag}` is one of {}", list_words(words())))));
            self.damage(self.at.clone());
            return rules::placeholder(self.root, schema);
        };
        if let Value::String(text) = &word.node.value
            && let Some(variant) = variants.iter().find(|v| v["properties"][tag]["const"] == text.as_str())
        {
            return match self.changed_kind(text, word, entries, variant) {
                Some(json) => json,
                None => self.table(node, entries, variant),
            };
        }
        self.at.push(Step::from(tag.to_owned()));
        let text = match &word.node.value {
            Value::String(text) => format!("`{}`", suggest::short(text)),
            other => kind_of(other).to_owned(),
        };
        let hint = match &word.node.value {
            Value::String(text) => {
                let elsewhere =
                    || Some(format!("`{text}` is a kind of `{}`", rules::of_kind(self.root, tag, text)?));
                self.hint(|| {
                    elsewhere()
                        .or_else(|| suggest::kin(text, words()))
                        .or_else(|| suggest::near(text, words()))
                        .or_else(|| suggest::part(text, words()))
                })
            }
            _ => None,
        };
        self.refuse(&word.node, schema, format!("{text} is not one of {}", list_words(words())), hint);
        self.at.pop();
        self.damage(self.at.clone());
        rules::placeholder(self.root, schema)
    }

    /// Reports that an override made `kind` of a table of another kind whose settings it has no use for, or that lacks
    /// some; returns a permitted table instead.
    fn changed_kind(
        &mut self,
        kind: &str,
        word: &Entry,
        entries: &[Entry],
        variant: &'a Json,
    ) -> Option<Json> {
        let own = variant["properties"].as_object()?;
        let written = |key: &str| index_of(entries, key).ok().map(|index| &entries[index].node);
        let foreign = entries.iter().filter(|e| e.node.place.source == 0 && !own.contains_key(&e.key));
        let foreign: Vec<&str> = foreign.map(|entry| entry.key.as_str()).collect();
        let needed = variant["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let missing: Vec<&str> = needed.filter(|key| written(key).is_none()).collect();
        if word.node.place.source == 0 || (foreign.is_empty() && missing.is_empty()) {
            return None;
        }
        let rule = match foreign.is_empty() {
            true => format!("`{kind}` needs {}", missing.join(", ")),
            false => format!("`{kind}` has no {}, which the file sets", foreign.join(", ")),
        };
        let setting = |key: &String| match written(key).and_then(Node::text) {
            Some(text) => Some(format!("{key} = \"{text}\"")),
            None => missing.contains(&key.as_str()).then(|| format!("{key} = ...")),
        };
        let table = own.keys().filter_map(setting).collect::<Vec<_>>().join(", ");
        let hint = format!("give the whole table: `-s '{}={{ {table} }}'`", self.tree.path(&self.at));
        self.at.push(Step::from(word.key.clone()));
        let json = self.refuse(&word.node, variant, rule, Some(hint));
        self.at.pop();
        self.damage(self.at.clone());
        Some(json)
    }

    /// A table that only overrides made, as `queue.limit=9p` does where the file leaves `queue` to its default: the
    /// default with these changes.
    fn overridden_default(
        &mut self,
        node: &Node,
        entries: &[Entry],
        schema: &'a Json,
        variants: &'a [Json],
        tag: &str,
    ) -> Option<Json> {
        let default = schema["default"].as_object().filter(|_| node.place.source > 0)?;
        let variant = variants.iter().find(|v| v["properties"][tag]["const"] == default[tag])?;
        let mut table = default.clone();
        table.extend(self.keys(entries, variant));
        Some(Json::Object(table))
    }

    /// Reports that the value at the current path is a list, say, and should be a number.
    pub(crate) fn wrong_kind(&mut self, node: &Node, schema: &'a Json) -> Json {
        let rules = rules::resolve(self.root, schema);
        let wanted = match rules["type"].as_str() {
            Some("object") => "a table",
            Some("array") => "a list",
            Some("integer") => "an integer",
            Some("number") => "a number",
            Some("boolean") => "true or false",
            _ => "a string",
        };
        let example = rules["examples"][0].as_str().map(|example| format!("for instance \"{example}\""));
        let keys = rules["properties"].as_object().map(|p| p.keys().map(String::as_str).collect::<Vec<_>>());
        let item = rules::resolve(self.root, &rules["items"])["examples"][0].as_str();
        let list = item.map(|item| format!("write a list, as in [\"{item}\"]"));
        let words =
            rules["oneOf"].as_array().map(|all| list_words(all.iter().filter_map(|v| v["const"].as_str())));
        let words = words.map(|words| format!("write one of {words}"));
        let hint = example
            .or(list)
            .or(words)
            .or_else(|| keys.map(|keys| format!("its settings are: {}", keys.join(", "))));
        self.refuse(node, schema, format!("must be {wanted}, not {}", kind_of(&node.value)), hint)
    }

    /// Reports the value at the current path and returns a permitted one instead.
    pub(crate) fn refuse(
        &mut self,
        node: &Node,
        schema: &'a Json,
        rule: String,
        hint: Option<String>,
    ) -> Json {
        let Node { place, .. } = node;
        self.found.push(self.tree.diagnostic_at(&self.at, place, rule).with_hint(hint));
        self.damage(self.at.clone());
        rules::placeholder(self.root, schema)
    }

    /// The value at `at` is not what was written; nobody asks where there is no end to the mistakes.
    fn damage(&mut self, at: Vec<Step>) {
        if !self.found.is_endless() {
            self.damaged.insert(at);
        }
    }

    /// The suggestion of `look`, where there is not too much wrong to look for it.
    fn hint(&self, look: impl FnOnce() -> Option<String>) -> Option<String> {
        if self.found.is_long() { None } else { look() }
    }
}

/// Text that may stand in place of a word: what it begins with, and what is then asked of it.
struct Form<'a> {
    rules: &'a Json,
    example: &'a str,
    prefix: &'a str,
}

impl<'a> Form<'a> {
    /// That of one variant, if it is no word.
    fn of(variant: &'a Json) -> Option<Self> {
        let example = variant["examples"][0].as_str()?;
        Some(Self { rules: variant, example, prefix: example.split_inclusive(':').next()? })
    }

    /// A hint for text that would be right behind the prefix.
    fn of_rest(&self, rest: &str) -> Option<String> {
        let whole = format!("{}{}", self.prefix, rest.to_ascii_lowercase());
        rules::check_format(self.rules["format"].as_str()?, &whole).ok()?;
        let about = lower_first(self.rules["description"].as_str()?);
        Some(format!("`{whole}`: {}", about.trim_end_matches('.')))
    }
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "an integer",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime => "a date or time",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

fn list_words<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

/// The meanings of a few words: the beginning of each one's description.
fn meanings(variants: &[Json]) -> Option<String> {
    let meaning = |word: &Json| {
        let about = word["description"].as_str()?.split(['.', ',', ';', ':', '(']).next()?;
        Some(format!("`{}`: {}", word["const"].as_str()?, lower_first(about.trim_end())))
    };
    let all: Option<Vec<_>> = variants.iter().map(meaning).collect();
    all.filter(|all| all.len() <= FEW).map(|all| all.join("; "))
}

/// For a description that goes on after a colon; an acronym stays as it is.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}
