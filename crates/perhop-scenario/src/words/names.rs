//! Names, and the ends of links, ports and flows that refer to nodes by name.

use std::fmt;
use std::str::FromStr;

use crate::words::units::{UnitError, text};

/// The name of a node: letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(String);

/// The name of a flow or of a class: letters, digits, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// The nodes at one end of a link, a port or a flow: `slow`, `s[3]`, `s[0..2]` for some members of a counted node, or
/// `s[*]` for each.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct End {
    /// Name of the node.
    pub node: NodeName,
    /// Which of its members.
    pub member: Member,
}

/// Which members of a node an [`End`] means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// The node itself; it has no count.
    Only,
    /// One member of a counted node.
    One(u32),
    /// Members of a counted node from the first number on, up to and without the second.
    Slice(u32, u32),
    /// Every member of a counted node, one after the other.
    Each,
}

text!(NodeName, "node-name", "A name of letters, digits and `_`.", ["slow", "r1"]);
text!(Label, "label", "A name of letters, digits, `_` and `-`.", ["up", "best-effort"]);
text!(
    End,
    "end",
    "A node, `s[3]` for one member of a counted node, `s[0..3]` for `s[0]` to `s[2]`, `s[*]` for each of them.",
    ["slow", "s[3]", "s[0..3]", "s[*]"]
);

/// Most characters of a name. Names are part of paths, of which there may be millions.
pub(crate) const LONGEST_NAME: usize = 64;

fn word(text: &str, extra: &[char], what: &str) -> Result<String, UnitError> {
    let length = text.chars().count();
    if length > LONGEST_NAME {
        let rule = format!("{length} characters: {LONGEST_NAME} are the most");
        return Err(UnitError { rule, hint: "choose a shorter one".to_owned() });
    }
    match text.chars().find(|c| !c.is_alphanumeric() && *c != '_' && !extra.contains(c)) {
        None if !text.is_empty() => Ok(text.to_owned()),
        None => Err(UnitError { rule: format!("{what} cannot be empty"), hint: "give it a name".to_owned() }),
        Some(c) => {
            let kept: String = text
                .chars()
                .map(|c| if c.is_alphanumeric() || extra.contains(&c) { c } else { '_' })
                .take(60)
                .collect();
            let rule = format!("`{}` cannot be in {what}: it has a meaning in paths", c.escape_debug());
            let allowed =
                if extra.contains(&'-') { "letters, digits, `_` and `-`" } else { "letters, digits and `_`" };
            Err(UnitError { rule, hint: format!("use {allowed}, as in `{kept}`") })
        }
    }
}

impl Label {
    /// A name that perhop gives; `text` keeps to the rules.
    pub(crate) fn fixed(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// The name as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl NodeName {
    /// The name as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeName {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        word(text, &[], "the name of a node").map(Self)
    }
}

impl FromStr for Label {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        word(text, &['-'], "a name").map(Self)
    }
}

/// The member named in the brackets: `3`, `0..2` or `*`.
fn member(text: &str) -> Option<Member> {
    let index = |digits: &str| {
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u32>().ok()).flatten()
    };
    match text.split_once("..") {
        _ if text == "*" => Some(Member::Each),
        Some((first, end)) => Some(Member::Slice(index(first)?, index(end)?)),
        None => index(text).map(Member::One),
    }
}

impl FromStr for End {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some((name, rest)) = text.split_once('[') else {
            return Ok(Self { node: text.parse()?, member: Member::Only });
        };
        let node = name.parse()?;
        let shown: String = rest.chars().take(30).collect();
        let error = |rule: String, hint: String| Err(UnitError { rule, hint });
        let member = match rest.strip_suffix(']').and_then(member) {
            Some(Member::Slice(first, end)) if first == end => {
                let hint = format!("`{name}[{first}]` is one member");
                return error(format!("`[{shown}` is empty: a slice ends before its second number"), hint);
            }
            Some(Member::Slice(first, end)) if first > end => {
                let hint = format!("`{name}[{end}..{first}]` begins with `{name}[{end}]`");
                return error(format!("`[{shown}` runs backwards"), hint);
            }
            Some(member) => member,
            None => {
                let hint = format!("write `{name}`, `{name}[0]`, `{name}[0..2]` or `{name}[*]`");
                return error(format!("`[{shown}` is neither one member nor several of them"), hint);
            }
        };
        Ok(Self { node, member })
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.member {
            Member::Only => write!(f, "{}", self.node),
            Member::One(index) => write!(f, "{}[{index}]", self.node),
            Member::Slice(first, end) => write!(f, "{}[{first}..{end}]", self.node),
            Member::Each => write!(f, "{}[*]", self.node),
        }
    }
}

impl End {
    /// The `k`-th of the members where several are meant, otherwise the end as it is.
    pub(crate) fn member(&self, k: usize) -> Self {
        let member = match (self.member, u32::try_from(k)) {
            (Member::Each, Ok(k)) => Member::One(k),
            (Member::Slice(first, _), Ok(k)) => Member::One(first + k),
            (member, _) => member,
        };
        Self { node: self.node.clone(), member }
    }

    /// Whether it means several members of a counted node, or could.
    pub(crate) fn is_several(&self) -> bool {
        matches!(self.member, Member::Slice(..) | Member::Each)
    }

    /// The end in a path: without `[*]`.
    pub(crate) fn plain(&self) -> String {
        match self.member {
            Member::Each => self.node.to_string(),
            Member::Only | Member::One(_) | Member::Slice(..) => self.to_string(),
        }
    }
}
