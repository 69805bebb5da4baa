//! Campaign files, read and checked for their shape as scenarios are, and any file with a place for each remark about it.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use serde_json::Value as Json;

use crate::read::diagnostic::{Diagnostic, Source};
use crate::read::diagnostics::Diagnostics;
use crate::read::schema::schema_of;
use crate::read::shape::Shape;
use crate::read::tree::{Node, Step, Tree, Value};
use crate::written::campaign::CampaignFile;

static SCHEMA: LazyLock<Json> = LazyLock::new(schema_of::<CampaignFile>);

/// JSON Schema of a campaign file.
#[must_use]
pub fn schema() -> &'static Json {
    &SCHEMA
}

/// A TOML file, whose values have places. What they mean is not known here.
#[derive(Debug)]
pub struct File(Tree);

/// Something about a value of the file.
#[derive(Clone, Debug)]
pub struct Remark {
    /// Which value; where it is not written, the nearest above it is pointed at.
    pub at: Vec<Step>,
    /// Which bytes of the value, where it is a text.
    pub within: Option<Range<usize>>,
    /// Whether it is about the key rather than the value.
    pub is_of_key: bool,
    /// The rule that is broken.
    pub rule: String,
    /// A remedy.
    pub hint: Option<String>,
    /// Whether it is valid all the same.
    pub is_warning: bool,
}

impl File {
    /// Reads a file that messages call `name`.
    ///
    /// # Errors
    /// Every mistake of syntax.
    pub fn read(source: &[u8], name: &str) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self(Tree::parse(crate::text(source, name).map_err(|d| vec![*d])?)?))
    }

    /// Reads a campaign file that messages call `name`: it has the keys and kinds of values that it may have.
    ///
    /// # Errors
    /// Every mistake of syntax, or every unknown key, missing key and value of a wrong kind; the first hundred of them.
    pub fn read_campaign(source: &[u8], name: &str) -> Result<Self, Vec<Diagnostic>> {
        let file = Self::read(source, name)?;
        let found = Shape::check(&file.0, schema()).0.found;
        if found.is_empty() { Ok(file) } else { Err(found.into_list()) }
    }

    /// The file as JSON; tables are in the order of the file.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::new();
        write_json(&self.0.root, &mut out);
        out
    }

    /// The text at `at`, where there is one.
    #[must_use]
    pub fn text(&self, at: &[Step]) -> Option<&str> {
        self.0.text(at)
    }

    /// The remarks as diagnostics, from top to bottom, as many as a scenario's.
    #[must_use]
    pub fn diagnostics(&self, remarks: Vec<Remark>) -> Vec<Diagnostic> {
        let mut found = Diagnostics::default();
        found.extend(remarks.into_iter().map(|remark| self.diagnostic(remark)));
        found.into_list()
    }

    fn diagnostic(&self, remark: Remark) -> Diagnostic {
        let (node, depth) = self.0.nearest(&remark.at);
        let mut place = node.place.clone();
        let is_there = depth == remark.at.len();
        if let (true, Some(key)) = (remark.is_of_key, self.0.key(&remark.at)) {
            place = key.clone();
        }
        if let (true, Some(within), Some(text)) = (is_there, remark.within, node.text()) {
            let written = self.0.sources[0].text().get(place.span.clone()).unwrap_or_default();
            // a text with escapes is not in the file as it is: then the whole of it is meant
            if let Some(offset) = written.find(text) {
                let start = place.span.start + offset;
                place.span = start + within.start..start + within.end;
            }
        }
        let found = self.0.diagnostic_at(&remark.at, &place, remark.rule).with_hint(remark.hint);
        let found = if is_there { found } else { found.without_value() };
        if remark.is_warning { found.into_warning() } else { found }
    }
}

/// A remark about a text that is in no file.
#[must_use]
pub fn remark_on(
    text: &str,
    name: &str,
    span: Range<usize>,
    rule: String,
    hint: Option<String>,
) -> Diagnostic {
    let source = Arc::new(Source::new(name.to_owned(), text.to_owned(), 0));
    Diagnostic::new(&source, span, String::new(), rule).with_hint(hint)
}

fn write_json(node: &Node, out: &mut String) {
    let mut put = |value: Json| out.push_str(&value.to_string());
    match &node.value {
        Value::String(text) => put(Json::from(text.as_str())),
        Value::Integer(n) => put(Json::from(*n)),
        Value::Float(x) => put(Json::from(*x)),
        Value::Boolean(b) => put(Json::from(*b)),
        Value::Datetime => put(Json::Null),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Table(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|entry| entry.place.span.start);
            out.push('{');
            for (i, entry) in entries.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                out.push_str(&Json::from(entry.key.as_str()).to_string());
                out.push(':');
                write_json(&entry.node, out);
            }
            out.push('}');
        }
    }
}
