//! The E-model: how good a call is from its delay and its losses.
//!
//! Source: ITU-T G.107 (06/2015), section 7 and annex B; every input that is no setting has its default value of table 2.
//! Different: losses count as independent (BurstR is 1). Units: ms, percent.

/// A way of a call as its listener has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inputs {
    /// Absolute delay from mouth to ear, ms: Ta.
    pub delay: f64,
    /// Delay of the way back, ms: with the other half of the round trip that echoes take.
    pub back: f64,
    /// Lost packets, percent: Ppl.
    pub lost: f64,
    /// Equipment impairment factor of the codec: Ie.
    pub ie: f64,
    /// Its robustness: Bpl.
    pub bpl: f64,
}

/// Sending and receiving loudness rating, dB.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
/// Sidetone masking rating, and D-values of telephones at either side, dB.
const STMR: f64 = 15.0;
const D: f64 = 3.0;
/// Talker echo loudness rating, and weighted echo path loss, dB.
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
/// Room noise at both sides, dB(A); circuit noise and noise floor, dBm0p.
const ROOM: f64 = 35.0;
const CIRCUIT: f64 = -70.0;
const FLOOR: f64 = -64.0;

/// The transmission rating factor R, about 93.2 without delay and losses.
#[must_use]
pub fn rating(inputs: &Inputs) -> f64 {
    let no = noise();
    let ro = 15.0 - 1.5 * (SLR + no);
    ro - simultaneous(no, ro, inputs) - delay(no, ro, inputs) - equipment(inputs)
}

/// The mean opinion score of a rating (annex B).
#[must_use]
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6
    }
}

fn power(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// The sum of all noise at the 0 dBr point, dBm0p: equations 7-3 to 7-7.
fn noise() -> f64 {
    let olr = SLR + RLR;
    let sender = ROOM - SLR - D - 100.0 + 0.004 * power(ROOM - olr - D - 14.0, 2.0);
    let listening = STMR + D;
    let effective = ROOM + 10.0 * libm::log10(1.0 + power(10.0, (10.0 - listening) / 10.0));
    let receiver = RLR - 121.0 + effective + 0.008 * power(effective - 35.0, 2.0);
    let parts = [CIRCUIT, sender, receiver, FLOOR + RLR];
    10.0 * libm::log10(parts.iter().map(|part| power(10.0, part / 10.0)).sum())
}

/// Is, what happens together with the voice: equations 7-8 to 7-17.
fn simultaneous(no: f64, ro: f64, inputs: &Inputs) -> f64 {
    let x = SLR + RLR + 0.2 * (64.0 + no - RLR);
    let loud = 20.0 * (power(1.0 + power(x / 8.0, 8.0), 1.0 / 8.0) - x / 8.0);
    let echo = libm::exp(-one_way(inputs) / 4.0) * power(10.0, -TELR / 10.0);
    let stmro = -10.0 * libm::log10(power(10.0, -STMR / 10.0) + echo);
    let root = |value: f64, order: f64| power(1.0 + power(value, order), 1.0 / order);
    let sidetone = 12.0 * root((stmro - 13.0) / 6.0, 8.0)
        - 28.0 * root((stmro + 1.0) / 19.4, 35.0)
        - 13.0 * root((stmro - 3.0) / 33.0, 13.0)
        + 29.0;
    // one quantisation: qdu is 1
    let q = 37.0;
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let (y, z) = ((ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0);
    let quantisation = 15.0 * libm::log10(1.0 + power(10.0, y) + power(10.0, z));
    loud + sidetone + quantisation
}

/// The mean delay of the way that an echo takes, T, ms.
fn one_way(inputs: &Inputs) -> f64 {
    f64::midpoint(inputs.delay, inputs.back)
}

/// Id, echoes and too long a delay: equations 7-18 to 7-28.
fn delay(no: f64, ro: f64, inputs: &Inputs) -> f64 {
    let t = one_way(inputs);
    let terv =
        TELR - 40.0 * libm::log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * libm::exp(-0.3 * t * t);
    let (roe, re) = (-1.5 * (no - RLR), 80.0 + 2.5 * (terv - 14.0));
    let half = (roe - re) / 2.0;
    let talker = (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-t));
    // below a millisecond the talker hears it as sidetone
    let talker = if t < 1.0 { 0.0 } else { talker };
    let rle = 10.5 * (WEPL + 7.0) * power(inputs.delay + inputs.back + 1.0, -0.25);
    let half = (ro - rle) / 2.0;
    let listener = half + libm::sqrt(half * half + 169.0);
    let long = if inputs.delay <= 100.0 {
        0.0
    } else {
        let x = libm::log2(inputs.delay / 100.0);
        let root = |value: f64| power(1.0 + power(value, 6.0), 1.0 / 6.0);
        25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
    };
    talker + listener + long
}

/// Ie-eff, the codec and its losses: equation 7-29.
fn equipment(inputs: &Inputs) -> f64 {
    inputs.ie + (95.0 - inputs.ie) * inputs.lost / (inputs.lost + inputs.bpl)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Inputs = Inputs { delay: 0.0, back: 0.0, lost: 0.0, ie: 0.0, bpl: 4.3 };

    fn within(found: f64, expected: f64, by: f64) {
        assert!((found - expected).abs() <= by, "{found}, expected {expected}");
    }

    /// G.107: "R = 93.2" with all default values, and table B.1 with the scores of five ratings.
    #[test]
    fn default_values_have_the_published_rating_and_scores() {
        within(rating(&PLAIN), 93.2, 0.05);
        within(mos(rating(&PLAIN)), 4.41, 0.005);
        for (rating, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            within(mos(rating), score, 0.0065);
        }
        assert!(mos(-3.0) <= 1.0 && mos(110.0) >= 4.5);
    }

    /// Cole and Rosenbluth, "Voice over IP Performance Monitoring" (ACM CCR 31(2), 2001), fitted two lines to the delay impairment
    /// of the E-model with default values: 0.024 d + 0.11 (d - 177.3) beyond 177.3 ms.
    #[test]
    fn delay_impairs_about_as_the_fit_of_two_lines_says() {
        let unimpaired = rating(&PLAIN);
        // between them, at 177.3 ms, they make a corner where the curve has none
        for d in [20.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0] {
            let found = unimpaired - rating(&Inputs { delay: d, back: d, ..PLAIN });
            within(found, 0.024 * d + 0.11 * (d - 177.3_f64).max(0.0), 0.35);
        }
        // another implementation of the recommendation, in Python, from rounded Ro and Is
        for (d, other) in [(20.0, 92.54), (80.4, 91.08), (150.0, 89.54), (200.0, 85.81), (400.0, 62.25)] {
            within(rating(&Inputs { delay: d, back: d, ..PLAIN }), other, 0.02);
        }
    }

    /// Half the most that losses can impair is reached where their percentage is Bpl; codecs of G.113, appendix I.
    #[test]
    fn losses_impair_by_the_robustness_of_the_codec() {
        let lossy = |lost, ie, bpl| rating(&PLAIN) - rating(&Inputs { lost, ie, bpl, ..PLAIN });
        within(lossy(4.3, 0.0, 4.3), 47.5, 1e-9);
        within(lossy(0.0, 11.0, 19.0), 11.0, 1e-9);
        within(lossy(2.0, 11.0, 19.0), 19.0, 1e-9);
        within(lossy(1.0, 0.0, 25.1), 95.0 / 26.1, 1e-9);
    }
}
