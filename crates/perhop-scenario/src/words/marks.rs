//! Marks, colours and what is done with a colour, as they are written.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use perhop_core::dscp::Dscp;
use perhop_core::marker::Action;
use perhop_core::packet::Color;

use crate::words::choices::word;
use crate::words::suggest;
use crate::words::units::{UnitError, text};

/// A code point of the DS field: `AF11`, `EF`, `CS6`, `BE`, or its number from 0 to 63 as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mark(pub Dscp);

text!(
    Mark,
    "mark",
    "A code point of the DS field by name, or its number from 0 to 63.",
    ["AF11", "EF", "BE"]
);

/// The treatment of a colour's packets: `pass`, `drop`, `shape`, or a mark that they get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MarkerAction(pub Action);

text!(
    MarkerAction,
    "marker-action",
    "Action for a packet: the mark that it gets, or `pass`, `drop`, `shape`.",
    ["AF11", "pass", "drop", "shape"]
);

/// The packets that a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Selector {
    /// Every packet.
    Any,
    /// ACKs without data.
    PureAck,
    /// Anything else than ACKs without data.
    Data,
    /// Packets with this mark.
    Mark(Mark),
}

text!(
    Selector,
    "selector",
    "Which packets: `any`, `data`, `pure-ack`, or those with a mark.",
    ["any", "pure-ack", "AF11"]
);

word! {
    /// A colour: how a packet keeps to its profile (RFC 2697, RFC 2698).
    ColorWord => Color {
        /// In profile; IN where there are two colours.
        Green,
        /// In excess of the committed profile.
        Yellow,
        /// Out of profile; OUT where there are two colours.
        Red,
    }
}

/// Which colour each mark has at a queue or a meter; one that is not named keeps what the element takes by itself.
pub type Colors = BTreeMap<String, ColorWord>;

impl FromStr for Mark {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let number = || text.parse().ok().and_then(Dscp::new);
        Dscp::named(text).or_else(number).map(Self).ok_or_else(|| unknown(text, &[], "a mark"))
    }
}

impl FromStr for MarkerAction {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text {
            "pass" => Ok(Self(Action::Pass)),
            "drop" => Ok(Self(Action::Drop)),
            "shape" => Ok(Self(Action::Shape)),
            _ => match text.parse() {
                Ok(Mark(dscp)) => Ok(Self(Action::Remark(dscp))),
                Err(_) => Err(unknown(text, &["pass", "drop", "shape"], "a mark or an action")),
            },
        }
    }
}

impl FromStr for Selector {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text {
            "any" => Ok(Self::Any),
            "data" => Ok(Self::Data),
            "pure-ack" => Ok(Self::PureAck),
            _ => match text.parse() {
                Ok(mark) => Ok(Self::Mark(mark)),
                Err(_) => Err(unknown(text, &["any", "data", "pure-ack"], "a mark or a kind of packet")),
            },
        }
    }
}

fn unknown(text: &str, words: &[&'static str], what: &str) -> UnitError {
    let known = || words.iter().copied().chain(Dscp::names());
    let number = "or a number from 0 to 63 in quotes";
    let all = || format!("write one of {}, {number}", known().collect::<Vec<_>>().join(", "));
    let hint = suggest::near(text, known()).unwrap_or_else(all);
    UnitError { rule: format!("`{}` is not {what}", suggest::short(text)), hint }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for MarkerAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Action::Pass => f.write_str("pass"),
            Action::Drop => f.write_str("drop"),
            Action::Shape => f.write_str("shape"),
            Action::Remark(dscp) => dscp.fmt(f),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Data => f.write_str("data"),
            Self::PureAck => f.write_str("pure-ack"),
            Self::Mark(mark) => mark.fmt(f),
        }
    }
}
