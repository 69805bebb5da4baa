//! "Did you mean ...?"

/// Most names that are compared; more would make a file full of mistakes slow to refuse.
const MOST: usize = 1_000;
/// Longest name that is compared.
const LONGEST: usize = 100;
/// Shortest word that is looked for in what settings are about.
const SHORTEST: usize = 5;

/// A hint for `wrong`: the nearest of `known`, or all of them where none is near and they are few.
#[must_use]
pub fn among<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.filter(|name| name.len() <= LONGEST).take(MOST).collect();
    let listed = || (1..=20).contains(&known.len()).then(|| format!("known here: {}", known.join(", ")));
    near(wrong, known.iter().copied()).or_else(listed)
}

/// A hint for `wrong` where one of `known` is near. No number is near another: each may be meant.
pub(crate) fn near<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_number = wrong.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit());
    if is_number || wrong.len() > LONGEST {
        return None;
    }
    let known = known.map(|name| match name.eq_ignore_ascii_case(wrong) {
        true => (0, name),
        false => (strsim::damerau_levenshtein(wrong, name), name),
    });
    let (distance, best) = known.min_by_key(|(distance, _)| *distance)?;
    // Nothing of a short name is left when as many letters as it has are changed.
    let is_near = distance <= (wrong.chars().count() / 3).max(1) && distance < best.chars().count().max(2);
    is_near.then(|| format!("did you mean `{best}`?"))
}

/// A hint for `wrong` where it is the beginning of just one of `known`.
pub(crate) fn begun<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let found: Vec<_> = known.filter(|name| !wrong.is_empty() && name.starts_with(wrong)).collect();
    match found[..] {
        [one] => Some(format!("did you mean `{one}`?")),
        _ => None,
    }
}

/// A hint for `wrong` where a part of it, as of `fq_codel`, is one of `known`.
pub(crate) fn part<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<_> = known.collect();
    let found = wrong.split(['_', '-']).find(|part| known.contains(part))?;
    Some(format!("did you mean `{found}`?"))
}

/// A hint for `wrong` where `known` have names with its first three letters: the nearest, or those that are equally near.
pub(crate) fn kin<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let wrong = wrong.to_ascii_lowercase();
    let start = wrong.get(..3).filter(|_| wrong.len() <= LONGEST)?;
    let kin = known.filter(|name| name.starts_with(start));
    let kin: Vec<_> = kin.map(|name| (strsim::damerau_levenshtein(&wrong, name), name)).collect();
    let nearest = kin.iter().map(|(distance, _)| *distance).min()?;
    let nearest: Vec<_> =
        kin.iter().filter(|(at, _)| *at == nearest).map(|(_, name)| format!("`{name}`")).collect();
    Some(match &nearest[..] {
        [one] => format!("did you mean {one}?"),
        several => format!("perhaps {}", several.join(" or ")),
    })
}

/// A hint for `wrong`: of names with what they are about, those that are about `wrong`'s words, or begin with the first, if few.
pub(crate) fn described<'a>(wrong: &str, known: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let words: Vec<String> =
        wrong.split('_').filter(|word| word.len() >= SHORTEST).map(str::to_ascii_lowercase).collect();
    if words.is_empty() || wrong.len() > LONGEST {
        return None;
    }
    let known: Vec<_> =
        known.map(|(name, about)| (format!("`{name}`"), about.to_ascii_lowercase())).collect();
    let those = |says: &dyn Fn(&str) -> bool| -> Option<String> {
        let found: Vec<_> =
            known.iter().filter(|(_, about)| says(about)).map(|(name, _)| name.as_str()).collect();
        (1..=3).contains(&found.len()).then(|| format!("perhaps {}", found.join(" or ")))
    };
    those(&|about| words.iter().all(|word| about.contains(word)))
        .or_else(|| those(&|about| about.starts_with(&words[0])))
}

/// `text` short enough for a message.
pub(crate) fn short(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut out: String = chars.by_ref().take(60).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}
