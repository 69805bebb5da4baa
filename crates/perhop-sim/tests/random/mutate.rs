//! Changes of a scenario file: of bytes, lines, tokens, tables, nesting and values.

use perhop_testkit::scenarios::Numbers;

/// Values that are nearly right, or as far from it as can be.
const VALUES: [&str; 32] = [
    "0",
    "-1",
    "1",
    "0.5",
    "1e-300",
    "nan",
    "inf",
    "9223372036854775807",
    "99999999999999999999",
    "true",
    "1979-05-27",
    "\"\"",
    "\"0s\"",
    "\"1ns\"",
    "\"1000000000s\"",
    "\"1bit/s\"",
    "\"1Pbit/s\"",
    "\"0B\"",
    "\"1PB\"",
    "\"1p\"",
    "\"1000000000000000p\"",
    "\"AF13\"",
    "\"s[*]\"",
    "\"s[99]\"",
    "\"s[0..2]\"",
    "\"random\"",
    "[]",
    "[[1, 1]]",
    "{}",
    "{ kind = \"red\" }",
    "{ kind = \"fifo\", limit = \"1p\" }",
    "\"µ\u{0}\"",
];

/// What stands between values.
const TOKENS: [&str; 14] =
    ["\"", "[", "]", "{", "}", "=", ",", "\n", "#", ".", "[[", "\n[[port]]\n", "\n[[flow]]\n", "\n[[udp]]\n"];

/// `text` after one to three changes.
pub fn mutated(text: &str, numbers: &mut Numbers) -> Vec<u8> {
    let mut data = text.as_bytes().to_vec();
    for _ in 0..=numbers.below(3) {
        if data.is_empty() {
            break;
        }
        data = match numbers.below(16) {
            0 => bytes(data, numbers),
            1 => lines(&data, numbers),
            2 => tokens(data, numbers),
            3 => tables(&data, numbers),
            4 => nested(data, numbers),
            // the only ones that often leave a valid file
            _ => values(&data, numbers),
        };
    }
    data
}

/// One byte is another, or some are gone.
fn bytes(mut data: Vec<u8>, numbers: &mut Numbers) -> Vec<u8> {
    let at = numbers.below(data.len());
    if numbers.once_in(2) {
        data[at] = u8::try_from(numbers.below(256)).expect("a byte");
    } else {
        data.drain(at..(at + 1 + numbers.below(20)).min(data.len()));
    }
    data
}

/// A line is taken away, said twice or moved.
fn lines(data: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let (from, to) = (numbers.below(lines.len()), numbers.below(lines.len()));
    let line = lines[from];
    match numbers.below(3) {
        0 => drop(lines.remove(from)),
        1 => lines.insert(to, line),
        _ => lines.swap(from, to),
    }
    lines.join(&b'\n')
}

/// Something that means something to the parser is put in.
fn tokens(mut data: Vec<u8>, numbers: &mut Numbers) -> Vec<u8> {
    let at = numbers.below(data.len());
    let token = numbers.pick(&TOKENS).bytes();
    data.splice(at..at, token);
    data
}

/// A table is taken away or said again at the end.
fn tables(data: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut starts: Vec<usize> = vec![0];
    starts.extend(data.windows(2).enumerate().filter(|(_, w)| *w == b"\n[").map(|(i, _)| i + 1));
    starts.push(data.len());
    let k = numbers.below(starts.len() - 1);
    let table = &data[starts[k]..starts[k + 1]];
    if numbers.once_in(2) {
        [data, b"\n", table].concat()
    } else {
        [&data[..starts[k]], &data[starts[k + 1]..]].concat()
    }
}

/// A value is put into lists or tables, as deep as parsers go and deeper.
fn nested(data: Vec<u8>, numbers: &mut Numbers) -> Vec<u8> {
    let Some((from, to)) = value(&data, numbers) else { return data };
    let depth = *numbers.pick(&[1, 2, 70, 500]);
    let (open, close) = *numbers.pick(&[("[", "]"), ("{ kind = ", " }"), ("{ a = ", " }")]);
    let inner = &data[from..to];
    [&data[..from], open.repeat(depth).as_bytes(), inner, close.repeat(depth).as_bytes(), &data[to..]]
        .concat()
}

/// A value is another one: of a list, of the same file, or with one digit changed.
fn values(data: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let Some((from, to)) = value(data, numbers) else { return data.to_vec() };
    let put = match numbers.below(6) {
        0 => numbers.pick(&VALUES).as_bytes().to_vec(),
        1 => value(data, numbers).map_or_else(Vec::new, |(from, to)| data[from..to].to_vec()),
        _ => {
            let mut own = data[from..to].to_vec();
            let digits: Vec<usize> = (0..own.len()).filter(|i| own[*i].is_ascii_digit()).collect();
            if !digits.is_empty() {
                let at = *numbers.pick(&digits);
                own[at] = b'0' + u8::try_from(numbers.below(10)).expect("a digit");
            }
            own
        }
    };
    [&data[..from], &put, &data[to..]].concat()
}

/// Where a value is: what follows a `=` in its line.
fn value(data: &[u8], numbers: &mut Numbers) -> Option<(usize, usize)> {
    let equals: Vec<usize> = (0..data.len()).filter(|i| data[*i] == b'=').collect();
    let from = if equals.is_empty() { None } else { Some(*numbers.pick(&equals) + 1) }?;
    let rest = &data[from..];
    // in an inline table up to the next setting
    let end = rest.iter().position(|byte| b"\n,}".contains(byte)).unwrap_or(rest.len());
    Some((from, from + end))
}
