//! Profiles: named sets of TCP settings. Those that perhop brings are the files of `profiles/`; a scenario can add more.
//!
//! A profile is put into the flows that name it before they are read: a setting that a flow has stays, any other comes
//! from the profile, then from its base, or from `default` where it has none; what a profile of perhop leaves out comes from
//! `rfc`, which has them all. A flow that names none has `default`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use crate::read::diagnostics::Diagnostics;
use crate::read::mistakes::{Origins, Report};
use crate::read::tree::{Step, Tree, steps};
use crate::words::choices::Growth;
use crate::words::suggest;
use crate::written::tcp::{Profile, Tcp};

/// The profiles that perhop brings; the first has every setting.
static BUILT_IN: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let files = [
        include_str!("profiles/rfc.toml"),
        include_str!("profiles/bsd.toml"),
        include_str!("profiles/ns2.toml"),
        include_str!("profiles/ns235.toml"),
        include_str!("profiles/linux.toml"),
        include_str!("profiles/default.toml"),
    ];
    let read = |text: &str| {
        let json = toml::from_str(text).map_err(|error| error.to_string())?;
        serde_json::from_value(json).map_err(|error| error.to_string())
    };
    let profiles: Result<_, String> = files.into_iter().map(read).collect();
    profiles.unwrap_or_else(|error| unreachable!("a test reads every file of profiles/: {error}"))
});

/// The default of every setting.
static DEFAULT: LazyLock<Tcp> = LazyLock::new(|| {
    let mut settings = built_in_settings(default_profile());
    settings.insert("name".to_owned(), BUILT_IN[default_profile()].name.to_string().into());
    let complete = serde_json::from_value(settings.into()).ok().and_then(|profile: Profile| profile.tcp());
    complete.unwrap_or_else(|| unreachable!("a test finds every setting in the first profile"))
});

/// Where among the profiles that perhop brings the one of a flow that names none is.
fn default_profile() -> usize {
    let found = BUILT_IN.iter().position(|profile| profile.name.as_str() == "default");
    found.unwrap_or_else(|| unreachable!("a test finds the default among the profiles"))
}

/// Every setting as in the default profile.
impl Default for Tcp {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

/// The profiles that perhop brings.
#[must_use]
pub fn built_in() -> &'static [Profile] {
    &BUILT_IN
}

/// Results of filling in the profiles.
pub(crate) struct Filled {
    /// Every mistake.
    pub found: Diagnostics,
    /// For settings of flows that a profile of the file gives: where.
    pub origins: Origins,
}

/// Puts into the flows of `json`, the file, what their profiles give and they leave out. Settings that are not known
/// because their profile is not are added to `damaged`.
pub(crate) fn fill(tree: &Tree, json: &mut Json, damaged: &mut BTreeSet<Vec<Step>>) -> Filled {
    let own: Vec<Map<String, Json>> = objects(&json["profile"]).cloned().collect();
    let known = !damaged.contains(&steps!["profile"][..])
        && (0..own.len()).all(|j| Report::is_whole(damaged, &steps!["profile", j, "name"]));
    let mut profiles =
        Profiles { tree, own: &own, known, found: Diagnostics::default(), damaged, made: BTreeMap::new() };
    profiles.names();
    profiles.bases();
    let mut origins = Origins::new();
    for (i, flow) in json.get_mut("flow").and_then(Json::as_array_mut).into_iter().flatten().enumerate() {
        if let Some(tcp) = flow.get_mut("tcp").and_then(Json::as_object_mut) {
            profiles.fill_flow(i, tcp, &mut origins);
        }
    }
    Filled { found: profiles.found, origins }
}

fn objects(list: &Json) -> impl Iterator<Item = &Map<String, Json>> {
    list.as_array().into_iter().flatten().filter_map(Json::as_object)
}

fn text<'a>(table: &'a Map<String, Json>, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Json::as_str)
}

/// Where a name leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// To a profile of the file.
    Own(usize),
    /// To one that perhop brings.
    BuiltIn(usize),
}

/// A setting of a profile, its base's included, and which `[[profile]]` gives it.
type Given = BTreeMap<String, (Json, Option<usize>)>;

struct Profiles<'a> {
    tree: &'a Tree,
    own: &'a [Map<String, Json>],
    /// Whether every name was read; if not, one that is not found may be missing only here.
    known: bool,
    found: Diagnostics,
    damaged: &'a mut BTreeSet<Vec<Step>>,
    /// Profiles already put together, by name; `None` where a base is not known.
    made: BTreeMap<String, Option<Given>>,
}

impl Profiles<'_> {
    fn is_sound(&self, steps: &[Step]) -> bool {
        Report::is_whole(self.damaged, steps)
    }

    fn error(&mut self, steps: &[Step], rule: String, hint: Option<String>) {
        if self.is_sound(steps) {
            self.found.push(self.tree.diagnostic(steps, rule).with_hint(hint));
        }
    }

    fn find(&self, name: &str) -> Option<Place> {
        let own = self.own.iter().position(|profile| text(profile, "name") == Some(name));
        let built_in = || BUILT_IN.iter().position(|profile| profile.name.as_str() == name);
        own.map(Place::Own).or_else(|| built_in().map(Place::BuiltIn))
    }

    /// Reports `name`, written at `at`, which no profile has.
    fn unknown(&mut self, name: &str, at: &[Step]) {
        if !self.known {
            return;
        }
        let own = self.own.iter().filter_map(|profile| text(profile, "name"));
        let known = BUILT_IN.iter().map(|profile| profile.name.as_str()).chain(own);
        let is_cc = serde_json::from_value::<Growth>(Json::from(name)).is_ok();
        let hint = match (self.found.is_long(), is_cc) {
            (true, _) => None,
            (_, true) => Some(format!("`{name}` is a congestion control: write `cc = \"{name}\"`")),
            _ => suggest::among(name, known),
        };
        self.error(at, format!("there is no profile `{name}`"), hint);
    }

    /// A name means one profile.
    fn names(&mut self) {
        for (j, profile) in self.own.iter().enumerate() {
            let at = steps!["profile", j, "name"];
            let Some(name) = text(profile, "name").filter(|_| self.is_sound(&at)) else { continue };
            if BUILT_IN.iter().any(|built_in| built_in.name.as_str() == name) {
                let hint = format!("choose another name, and write `base = \"{name}\"` to change some of it");
                self.error(&at, format!("`{name}` is a profile that perhop brings"), Some(hint));
            }
            if let Some(first) = self.own[..j].iter().position(|p| text(p, "name") == Some(name)) {
                let line = self.tree.line(&steps!["profile", first]);
                self.error(&at, format!("there already is a profile `{name}`, in line {line}"), None);
            }
        }
    }

    /// Every base is a profile, and none leads back to where it came from.
    fn bases(&mut self) {
        for j in 0..self.own.len() {
            let at = steps!["profile", j, "base"];
            let Some(base) = text(&self.own[j], "base") else { continue };
            if self.find(base).is_none() {
                self.unknown(base, &at);
            }
            let (chain, end) = self.chain(j);
            if end == Some(Place::Own(j)) && chain.iter().all(|k| *k >= j) {
                let names: Vec<&str> =
                    chain.iter().chain([&j]).filter_map(|k| text(&self.own[*k], "name")).collect();
                let rule = format!("the profile is its own base: {}", names.join(" -> "));
                self.error(&at, rule, Some("let one of them have no base".to_owned()));
            }
        }
    }

    /// The profiles of the file from `first` to base to base, and what comes after the last of them: nothing, one that
    /// perhop brings, or one that was there before.
    fn chain(&self, first: usize) -> (Vec<usize>, Option<Place>) {
        let mut chain = vec![first];
        loop {
            let base = chain.last().and_then(|j| text(&self.own[*j], "base"));
            match base.and_then(|name| self.find(name)) {
                Some(Place::Own(next)) if !chain.contains(&next) => chain.push(next),
                end => return (chain, end),
            }
        }
    }

    /// All that `name` gives.
    fn given(&mut self, name: &str) -> Option<&Given> {
        if !self.made.contains_key(name) {
            let given = self.make(name);
            self.made.insert(name.to_owned(), given);
        }
        self.made.get(name).and_then(Option::as_ref)
    }

    fn make(&self, name: &str) -> Option<Given> {
        let (chain, end) = match self.find(name)? {
            Place::Own(first) => self.chain(first),
            end @ Place::BuiltIn(_) => (Vec::new(), Some(end)),
        };
        let last_base = chain.last().map_or(Some(name), |j| text(&self.own[*j], "base"));
        let bases_sound = chain.iter().all(|j| self.is_sound(&steps!["profile", *j, "base"]));
        let mut given = Given::new();
        match end {
            _ if !bases_sound => return None,
            Some(Place::Own(_)) => return None,
            None if last_base.is_some() => return None,
            None => put(&mut given, &built_in_settings(default_profile()), None),
            Some(Place::BuiltIn(k)) => put(&mut given, &built_in_settings(k), None),
        }
        for j in chain.into_iter().rev() {
            put(&mut given, &self.own[j], Some(j));
        }
        Some(given)
    }

    /// Puts into the TCP of flow number `i` what its profile gives and it leaves out.
    fn fill_flow(&mut self, i: usize, tcp: &mut Map<String, Json>, origins: &mut Origins) {
        let at = |key: &str| steps!["flow", i, "tcp", key.to_owned()].to_vec();
        let Some(name) = text(tcp, "profile").map(str::to_owned) else { return };
        let sound = self.is_sound(&at("profile"));
        if sound && self.find(&name).is_none() {
            self.unknown(&name, &at("profile"));
        }
        if let Some(given) = self.given(&name).filter(|_| sound) {
            for (key, (value, from)) in given {
                if tcp.contains_key(key) {
                    continue;
                }
                tcp.insert(key.clone(), value.clone());
                if let Some(j) = from {
                    origins.insert(at(key), steps!["profile", *j, key.clone()].to_vec());
                }
            }
            return;
        }
        // What the flow leaves out is not known; the defaults stand in, and nothing is said about them.
        if !self.found.is_endless() {
            let keys = built_in_settings(0).into_iter().map(|(key, _)| key);
            self.damaged.extend(keys.filter(|key| !tcp.contains_key(key)).map(|key| at(&key)));
        }
    }
}

/// Settings of the profile number `k` of those that perhop brings, its bases' included.
fn built_in_settings(k: usize) -> Map<String, Json> {
    let profile = &BUILT_IN[k];
    let base = profile.base.as_ref().map_or(Some(0), |base| BUILT_IN.iter().position(|p| p.name == *base));
    let mut settings = base.filter(|base| *base < k).map_or_else(Map::new, built_in_settings);
    if let Ok(Json::Object(own)) = serde_json::to_value(profile) {
        settings.extend(own.into_iter().filter(|(key, _)| is_setting(key)));
    }
    settings
}

fn is_setting(key: &str) -> bool {
    key != "name" && key != "base"
}

fn put(given: &mut Given, settings: &Map<String, Json>, from: Option<usize>) {
    let settings = settings.iter().filter(|(key, _)| is_setting(key));
    given.extend(settings.map(|(key, value)| (key.clone(), (value.clone(), from))));
}
