//! Tables of applications.

use perhop_core::histogram::nearest_rank;
use perhop_core::time::Instant;
use perhop_scenario::model::{ApplicationKind, Call, Video};

use super::flows::secs;
use super::{Run, Table, columns};
use crate::applications::application::Load;
use crate::applications::call::CallReceiver;
use crate::results::{ApplicationResult, Played, e_model};

impl ApplicationResult {
    /// How long loads took: the value that so many thousandths of them did not exceed.
    fn load_s(&self, permille: u64) -> f64 {
        let rank = nearest_rank(self.took.len() as u64, permille) - 1;
        secs(usize::try_from(rank).ok().and_then(|at| self.took.get(at).copied()))
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean for people and tables")]
    fn load_mean_s(&self) -> f64 {
        let sum: f64 = self.took.iter().map(|took| took.as_secs_f64()).sum();
        sum / self.took.len() as f64
    }

    /// Bytes of the loads that are whole.
    fn loaded_bytes(&self) -> u64 {
        self.loads.iter().filter(|load| load.done.is_some()).map(|load| load.bytes.0).sum()
    }
}

impl Run<'_> {
    fn application(&self, i: usize) -> &perhop_scenario::model::Application {
        &self.scenario.applications[self.results.applications[i].number]
    }

    /// The first of an application's flows.
    fn first_flow(&self, i: usize) -> &perhop_scenario::model::Flow {
        &self.scenario.flows[self.application(i).flows.start]
    }

    /// Row `i` of the table of loads: its application, which of its loads, the load.
    fn load(&self, mut i: usize) -> (usize, usize, Load) {
        for (application, result) in self.results.applications.iter().enumerate() {
            match i.checked_sub(result.loads.len()) {
                None => return (application, i, result.loads[i]),
                Some(rest) => i = rest,
            }
        }
        unreachable!("a row of the table of loads")
    }
}

/// One way of a call.
struct Way<'a> {
    call: &'a Call,
    receiver: &'a CallReceiver,
    /// The other way.
    back: Option<&'a CallReceiver>,
}

impl Run<'_> {
    fn call(&self, i: usize) -> &str {
        let call = self.scenario.udp[self.results.call_receivers[i].0].call;
        call.map_or("", |call| &self.scenario.calls[call].name)
    }

    fn way(&self, i: usize) -> Way<'_> {
        let (udp, receiver) = &self.results.call_receivers[i];
        let flow = &self.scenario.udp[*udp];
        let call = &self.scenario.calls[flow.call.unwrap_or_default()];
        let ways = &self.results.call_receivers;
        let back = ways.binary_search_by_key(&call.other(*udp), |way| way.0).ok().map(|at| &ways[at].1);
        Way { call, receiver, back }
    }
}

impl Way<'_> {
    /// Part of the packets that were not played in time.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    fn lost(&self) -> f64 {
        let [due, played, _] = self.receiver.packets();
        1.0 - played as f64 / due as f64
    }

    fn never_came(&self) -> u64 {
        let [due, played, late] = self.receiver.packets();
        due.saturating_sub(played + late)
    }

    /// R; NaN where nothing was to be played.
    fn rating(&self) -> f64 {
        let ms = |receiver: &CallReceiver| receiver.mouth_to_ear().map(|delay| 1e3 * delay.as_secs_f64());
        // of a way of which nothing came only the other's delay is known
        let (own, back) = (ms(self.receiver), self.back.and_then(ms));
        let delay = own.or(back).unwrap_or(0.0);
        let Call { ie, bpl, .. } = *self.call;
        e_model::rating(&e_model::Inputs {
            delay,
            back: back.unwrap_or(delay),
            lost: 100.0 * self.lost(),
            ie,
            bpl,
        })
    }

    fn mos(&self) -> f64 {
        let rating = self.rating();
        if rating.is_nan() { f64::NAN } else { e_model::mos(rating) }
    }
}

/// Calls.
pub static CALLS: Table = Table {
    name: "calls",
    since: 3,
    doc: "a row for each way of a call, as its listener has it; only where a scenario has any",
    rows: |run| run.results.call_receivers.len(),
    columns: columns! { run, i, way = run.way(i);
        "name", "", 3, Text(&run.scenario.udp[run.results.call_receivers[i].0].name), "of its UDP flow, `voice[0]`";
        "call", "", 3, Text(run.call(i)), "name of the call, `voice`, or `voice[3]` of several";
        "class", "", 3, Text(&run.scenario.udp[run.results.call_receivers[i].0].class), "of its UDP flow";
        "from", "", 3, Text(run.node(run.scenario.udp[run.results.call_receivers[i].0].from)), "node that speaks";
        "to", "", 3, Text(run.node(run.scenario.udp[run.results.call_receivers[i].0].to)), "node that listens";
        "mos", "1", 3, Real(way.mos()),
            "mean opinion score for the listener by the E-model (ITU-T G.107, annex B), from 1 to 4.5";
        "rating", "1", 3, Real(way.rating()), "the transmission rating factor R that it is of";
        "mouth_to_ear_s", "s", 3, Real(secs(way.receiver.mouth_to_ear())),
            "the time that a packet is filled in, the delay of the first packet of the measured time and the jitter buffer";
        "lost_ratio", "1", 3, Real(way.lost()),
            "part of the packets that were not played: `lost_packets` and `late_packets`";
        "due_packets", "packets", 3, Count(way.receiver.packets()[0]),
            "sent in the measured time, to be played before its end";
        "lost_packets", "packets", 3, Count(way.never_came()), "of those, never arrived";
        "late_packets", "packets", 3, Count(way.receiver.packets()[2]), "of those, arrived later than they were to be played";
    },
};

/// Applications over TCP.
pub static APPLICATIONS: Table = Table {
    name: "applications",
    since: 3,
    doc: "a row for each application over TCP; only where a scenario has any",
    rows: |run| run.results.applications.len(),
    columns: columns! { run, i, app = run.results.applications[i];
        "name", "", 3, Text(&run.application(i).name), "of its flow, `web`, or `web[3]` of several";
        "kind", "", 3, Text(run.application(i).kind.name()), "as in the scenario";
        "class", "", 3, Text(&run.first_flow(i).class), "of its flow";
        "from", "", 3, Text(run.node(run.first_flow(i).from)), "node that sends data";
        "to", "", 3, Text(run.node(run.first_flow(i).to)), "node that asks for them";
        "loads", "", 3, Count(app.loads.len() as u64),
            "replies, pages or chunks that were asked for in the measured time";
        "loads_done", "", 3, Count(app.took.len() as u64), "of those, whole by the end of the run";
        "loads_unfinished", "", 3, Count((app.loads.len() - app.took.len()) as u64), "of those, the others";
        "load_p50_s", "s", 3, Real(app.load_s(500)),
            "from request to last byte, of `loads_done`; the median. Those that are unfinished, mostly the slowest, are left out";
        "load_p95_s", "s", 3, Real(app.load_s(950)), "what 95 % do not exceed";
        "load_p99_s", "s", 3, Real(app.load_s(990)), "99 %";
        "load_max_s", "s", 3, Real(secs(app.took.last().copied())), "the longest";
        "load_mean_s", "s", 3, Real(app.load_mean_s()), "the mean";
        "loaded_bytes", "byte", 3, Count(app.loaded_bytes()), "data of `loads_done`";
    },
};

/// One application of video.
struct Watched<'a> {
    index: usize,
    video: &'a Video,
    played: Played,
    loads: &'a [Load],
}

impl Watched<'_> {
    /// Rate of the chunks that are whole, each as long as the others.
    #[expect(clippy::cast_precision_loss, reason = "rates far below 2^53")]
    fn rate_mean(&self) -> f64 {
        let whole = self.loads.iter().filter(|load| load.done.is_some());
        let (bits, count) =
            whole.fold((0, 0_u64), |(bits, count), load| (bits + load.bytes.bits(), count + 1));
        bits as f64 / (count as f64 * self.video.chunk.as_secs_f64())
    }

    fn switches(&self) -> u64 {
        self.loads.windows(2).filter(|pair| pair[0].bytes != pair[1].bytes).count() as u64
    }
}

impl Run<'_> {
    fn watched(&self) -> impl Iterator<Item = Watched<'_>> {
        self.results.applications.iter().enumerate().filter_map(|(index, result)| {
            let ApplicationKind::Video(video) = &self.application(index).kind else { return None };
            Some(Watched { index, video, played: result.played?, loads: &result.loads })
        })
    }

    fn video(&self, i: usize) -> Watched<'_> {
        self.watched().nth(i).unwrap_or_else(|| unreachable!("a row of the table of videos"))
    }
}

/// Applications of video.
pub static VIDEOS: Table = Table {
    name: "videos",
    since: 3,
    doc: "a row for each application that plays video; only where a scenario has any",
    rows: |run| run.watched().count(),
    columns: columns! { run, i, row = run.video(i);
        "name", "", 3, Text(&run.application(run.video(i).index).name), "of its flow";
        "class", "", 3, Text(&run.first_flow(run.video(i).index).class), "of its flow";
        "startup_s", "s", 3, Real(secs(row.played.startup)),
            "from the start of the flow to its first chunk, in the warm-up or not";
        "rebuffering_s", "s", 3, Real(row.played.stood.as_secs_f64()),
            "how long it stood still for want of video, after it had begun";
        "rebuffers", "", 3, Count(row.played.stalls), "how often";
        "rate_mean_bit_s", "bit/s", 3, Real(row.rate_mean()),
            "mean rate of the chunks that were asked for in the measured time and are whole";
        "switches", "", 3, Count(row.switches()), "how often one of them had another rate than the one before";
    },
};

/// Loads of applications.
pub static LOADS: Table = Table {
    name: "loads",
    since: 3,
    doc: "a row for each load of an application that was asked for in the measured time; only where a scenario has any",
    rows: |run| run.results.applications.iter().map(|app| app.loads.len()).sum(),
    columns: columns! { run, i, row = run.load(i);
        "application", "", 3, Text(&run.application(row.0).name), "its name";
        "number", "", 3, Count(row.1 as u64), "from 0";
        "asked_s", "s", 3, Real(row.2.requested.as_secs_f64()), "when in the run it was asked for";
        "done_s", "s", 3, Real(row.2.done.map_or(f64::NAN, Instant::as_secs_f64)),
            "when all of it was there; null where it was not by the end of the run";
        "objects", "", 3, Count(row.2.objects.into()), "its parts: those of a page";
        "load_bytes", "byte", 3, Count(row.2.bytes.0), "how much it is";
    },
};
