//! The part of the first check that looks at single values: text, integers, numbers.

use serde_json::Value as Json;

use crate::read::rules;
use crate::read::shape::{Shape, kind_of};
use crate::read::tree::Node;
use crate::words::marks::Mark;
use crate::words::units::{Limit, Rate, Size, Time};

impl<'a> Shape<'a> {
    /// Text that may have a format.
    pub(crate) fn text(&mut self, node: &Node, text: &str, schema: &'a Json, rules: &'a Json) -> Json {
        let longest = rules["maxLength"].as_u64().unwrap_or(u64::MAX);
        let length = text.chars().count();
        if length as u64 > longest {
            let rule = format!("{length} characters: {longest} are the most");
            return self.refuse(node, schema, rule, Some("choose a shorter one".to_owned()));
        }
        if length == 0 && rules["minLength"].as_u64().is_some_and(|shortest| shortest > 0) {
            return self.refuse(node, schema, "must not be empty".to_owned(), None);
        }
        match rules::check_format(rules["format"].as_str().unwrap_or_default(), text) {
            Ok(()) => Json::String(text.to_owned()),
            Err(error) => self.refuse(node, schema, error.rule, Some(error.hint)),
        }
    }

    /// A number where text belongs: a quantity without its unit, or simply wrong.
    pub(crate) fn number_for_text(
        &mut self,
        node: &Node,
        number: &str,
        schema: &'a Json,
        rules: &'a Json,
    ) -> Json {
        let bare = match rules["format"].as_str() {
            Some("rate-with-unit" | "link-rate") => Rate::bare(number),
            Some("time-with-unit" | "phase-with-unit") => Time::bare(number),
            Some("size-with-unit") => Size::bare(number),
            Some("limit-with-unit") => Limit::bare(number),
            Some("mark" | "marker-action" | "selector") if number.parse::<Mark>().is_ok() => {
                let hint = Some(format!("write \"{number}\""));
                return self.refuse(node, schema, "the number of a mark is in quotes".to_owned(), hint);
            }
            None if rules["examples"].is_null() => {
                let rule = format!("must be a string, not {}", kind_of(&node.value));
                return self.refuse(node, schema, rule, Some(format!("write \"{number}\"")));
            }
            _ => return self.wrong_kind(node, schema),
        };
        self.refuse(node, schema, bare.rule, Some(bare.hint))
    }

    /// An integer in its range.
    pub(crate) fn integer(&mut self, node: &Node, n: i64, schema: &'a Json, rules: &'a Json) -> Json {
        let min = rules["minimum"].as_i64().unwrap_or(i64::MIN);
        let bits = if rules["format"] == "uint32" { i64::from(u32::MAX) } else { i64::MAX };
        let max = rules["maximum"].as_i64().unwrap_or(bits);
        if n < min {
            return self.refuse(node, schema, format!("{n} is below {min}, the least allowed"), None);
        }
        if n > max {
            return self.refuse(node, schema, format!("{n} is above {max}, the most allowed"), None);
        }
        Json::from(n)
    }

    /// A number in its range.
    pub(crate) fn number(&mut self, node: &Node, x: f64, schema: &'a Json, rules: &'a Json) -> Json {
        let (least, above) = (rules["minimum"].as_f64(), rules["exclusiveMinimum"].as_f64());
        let (most, below) = (rules["maximum"].as_f64(), rules["exclusiveMaximum"].as_f64());
        let inside = least.is_none_or(|min| x >= min)
            && above.is_none_or(|min| x > min)
            && most.is_none_or(|max| x <= max)
            && below.is_none_or(|max| x < max);
        let bounds = [("at least", least), ("above", above), ("at most", most), ("below", below)];
        let bounds = bounds.into_iter().filter_map(|(word, bound)| Some(format!("{word} {}", bound?)));
        let range = bounds.collect::<Vec<_>>().join(" and ");
        match serde_json::Number::from_f64(x) {
            Some(number) if inside => Json::Number(number),
            Some(_) => self.refuse(node, schema, format!("{x} is outside the range: {range}"), None),
            None => {
                let hint = format!("write a number {range}").trim_end().to_owned();
                self.refuse(node, schema, format!("{x} is not a number to count with"), Some(hint))
            }
        }
    }
}
