//! The queue laws for every way to configure early detection.

use std::sync::Arc;

use perhop_core::framing::Framing;
use perhop_core::packet::{Ecn, Meta};
use perhop_core::queue::{
    Averaging, Cake, CakeParams, Cobalt, CobaltParams, Codel, CodelConventions, CodelParams, Conventions,
    DelayFrom, DocsisPie, DocsisPieParams, DualPi2, DualPi2Params, Fifo, Fq, FqConventions, FqParams,
    GredParams, Isolation, LinuxDualPi2, LinuxDualPi2Params, LinuxPie, LinuxPieParams, Pie, PieParams, Queue,
    RedParams, RioParams, Tins, VirtualQueue,
};
use perhop_core::sink::SiteId;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::aqm::{self, GRED, RED, RIO, bytes, packets};
use perhop_testkit::laws::queue::Keeps;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::{published, queue_laws};

const TEN: QueueSize = QueueSize::Packets(10);
const FOUR: QueueSize = QueueSize::Packets(4);
const KILOBYTES: QueueSize = QueueSize::Bytes(6000);

type Built = Box<dyn Queue<TestPacket>>;

fn red(site: SiteId, params: RedParams) -> Built {
    aqm::red(site, params)
}

fn rio(site: SiteId, averaging: Averaging, params: RioParams) -> Built {
    aqm::rio(site, RioParams { averaging, ..params })
}

fn gred(site: SiteId, averaging: Averaging, params: GredParams) -> Built {
    aqm::gred(site, GredParams { averaging, ..params })
}

fn in_bytes() -> RedParams {
    RedParams { limit: KILOBYTES, thresholds: bytes(2000, 4500, 0.2), ..RED }
}

queue_laws!(red_plain, |site| red(site, RED), limit = TEN);
queue_laws!(red_gentle, |site| red(site, RedParams { gentle: true, ..RED }), limit = TEN);
queue_laws!(
    red_by_bytes,
    |site| red(site, RedParams { byte_mode: true, ecn: true, ..in_bytes() }),
    limit = KILOBYTES
);
queue_laws!(red_ecn, |site| red(site, RedParams { ecn: true, gentle: true, ..RED }), limit = TEN);
queue_laws!(red_quick, |site| red(site, RedParams { w_q: 1.0, ..RED }), limit = TEN);
queue_laws!(red_slow, |site| red(site, RedParams { w_q: 1e-9, ..RED }), limit = TEN);
queue_laws!(
    red_drops_from_the_first,
    |site| red(site, RedParams { thresholds: packets(0, 1, 1.0), ..RED }),
    limit = TEN
);
queue_laws!(
    red_overflows,
    |site| red(site, RedParams { limit: FOUR, ecn: true, w_q: 1.0, ..RED }),
    limit = FOUR
);
queue_laws!(
    red_bytes_within_packets,
    |site| red(site, RedParams { limit: TEN, byte_mode: true, ..in_bytes() }),
    limit = TEN
);

queue_laws!(rio_coupled, |site| rio(site, Averaging::Coupled, RIO), limit = TEN);
queue_laws!(rio_decoupled, |site| rio(site, Averaging::Decoupled, RIO), limit = TEN);
queue_laws!(rio_shared, |site| rio(site, Averaging::Shared, RIO), limit = TEN);
queue_laws!(rio_ecn, |site| rio(site, Averaging::Coupled, RioParams { ecn: true, ..RIO }), limit = TEN);
queue_laws!(
    rio_in_bytes,
    |site| {
        let (green, red) = (bytes(3000, 5000, 0.1), bytes(1000, 3000, 0.3));
        rio(site, Averaging::Coupled, RioParams { limit: KILOBYTES, green, red, gentle: true, ..RIO })
    },
    limit = KILOBYTES
);
queue_laws!(
    rio_overflows,
    |site| rio(site, Averaging::Coupled, RioParams { limit: FOUR, ..RIO }),
    limit = FOUR
);

queue_laws!(gred_coupled, |site| gred(site, Averaging::Coupled, GRED), limit = TEN);
queue_laws!(gred_decoupled, |site| gred(site, Averaging::Decoupled, GRED), limit = TEN);
queue_laws!(gred_shared, |site| gred(site, Averaging::Shared, GRED), limit = TEN);
queue_laws!(gred_summed, |site| gred(site, Averaging::Summed, GRED), limit = TEN);
queue_laws!(gred_ecn, |site| gred(site, Averaging::Decoupled, GredParams { ecn: true, ..GRED }), limit = TEN);
queue_laws!(
    gred_in_bytes,
    |site| {
        let level = |min_th, max_th| VirtualQueue {
            thresholds: bytes(min_th, max_th, 0.5),
            w_q: 0.5,
            limit: Some(QueueSize::Bytes(max_th + 500)),
        };
        let (green, yellow, red) = (level(2000, 5000), level(1000, 4000), level(0, 3000));
        let params = GredParams { limit: KILOBYTES, green, yellow, red, byte_mode: true, ..GRED };
        gred(site, Averaging::Coupled, params)
    },
    limit = KILOBYTES
);

/// Whatever ns-2 does otherwise, and all of it at once.
const ALL: Conventions = Conventions {
    wait: true,
    spare_short: true,
    spare_first: true,
    unclamped: true,
    skip_full: true,
    idle_sent: true,
    idle_whole: true,
    idle_again: true,
    idle_color: true,
};

macro_rules! laws_of_conventions {
    ($($name:ident: $conventions:expr,)+) => {
        $(mod $name {
            use super::*;

            const CONVENTIONS: Conventions = $conventions;

            queue_laws!(
                of_red,
                |site| red(site, RedParams { conventions: CONVENTIONS, ..in_bytes() }),
                limit = KILOBYTES
            );
            queue_laws!(
                of_rio_coupled,
                |site| rio(site, Averaging::Coupled, RioParams { conventions: CONVENTIONS, ..RIO }),
                limit = TEN
            );
            queue_laws!(
                of_rio_decoupled,
                |site| rio(site, Averaging::Decoupled, RioParams { conventions: CONVENTIONS, ..RIO }),
                limit = TEN
            );
            queue_laws!(
                of_gred_shared,
                |site| gred(site, Averaging::Shared, GredParams { conventions: CONVENTIONS, ..GRED }),
                limit = TEN
            );
        })+
    };
}

laws_of_conventions! {
    ns2_red: Conventions::NS2_RED,
    dsred: Conventions::DSRED,
    wait: Conventions { wait: true, ..Conventions::FLOYD1993 },
    spare_short: Conventions { spare_short: true, ..Conventions::FLOYD1993 },
    spare_first: Conventions { spare_first: true, ..Conventions::FLOYD1993 },
    unclamped: Conventions { unclamped: true, ..Conventions::FLOYD1993 },
    skip_full: Conventions { skip_full: true, ..Conventions::FLOYD1993 },
    idle_sent: Conventions { idle_sent: true, ..Conventions::FLOYD1993 },
    idle_whole: Conventions { idle_whole: true, ..Conventions::FLOYD1993 },
    idle_again: Conventions { idle_again: true, ..Conventions::FLOYD1993 },
    idle_color: Conventions { idle_color: true, ..Conventions::FLOYD1993 },
    all: ALL,
}

/// Waits of the laws are tens of milliseconds.
const CODEL: CodelParams = CodelParams {
    limit: TEN,
    target: Span::from_micros(50),
    interval: Span::from_micros(400),
    ecn: false,
    ce_threshold: None,
    conventions: CodelConventions::RFC8289,
    ack_filter: None,
};
const LINUX_CODEL: CodelParams = CodelParams { conventions: CodelConventions::linux(Bytes(1500)), ..CODEL };

fn codel(site: SiteId, params: CodelParams) -> Built {
    Box::new(Codel::new(site, params).expect("sound parameters"))
}

queue_laws!(codel_drops, |site| codel(site, CODEL), limit = TEN);
queue_laws!(codel_marks, |site| codel(site, CodelParams { ecn: true, ..CODEL }), limit = TEN);
queue_laws!(codel_by_bytes, |site| codel(site, CodelParams { limit: KILOBYTES, ..CODEL }), limit = KILOBYTES);
queue_laws!(codel_of_linux, |site| codel(site, LINUX_CODEL), limit = TEN);
queue_laws!(
    codel_with_a_threshold,
    |site| codel(site, CodelParams { ce_threshold: Some(Span::from_micros(70)), ecn: true, ..LINUX_CODEL }),
    limit = TEN
);

/// BLUE is soon active: the laws overflow it often.
const COBALT: CobaltParams = CobaltParams {
    limit: TEN,
    target: Span::from_micros(50),
    interval: Span::from_micros(400),
    packet_time: Span::ZERO,
    ecn: false,
    p_inc: 0.2,
    p_dec: 0.01,
    ack_filter: None,
};

fn cobalt(site: SiteId, params: CobaltParams) -> Built {
    Box::new(Cobalt::new(site, params, aqm::stream()).expect("sound parameters"))
}

queue_laws!(cobalt_drops, |site| cobalt(site, COBALT), limit = TEN);
queue_laws!(cobalt_marks, |site| cobalt(site, CobaltParams { ecn: true, p_inc: 0.0, ..COBALT }), limit = TEN);
queue_laws!(cobalt_overflows, |site| cobalt(site, CobaltParams { limit: FOUR, ..COBALT }), limit = FOUR);
queue_laws!(
    cobalt_by_bytes,
    |site| cobalt(site, CobaltParams { limit: QueueSize::Bytes(1200), ecn: true, ..COBALT }),
    limit = QueueSize::Bytes(1200)
);
queue_laws!(
    cobalt_of_a_slow_link,
    |site| cobalt(site, CobaltParams { packet_time: Span::from_millis(20), ..COBALT }),
    limit = TEN
);

const FQ: FqParams = FqParams { limit: TEN, queues: 1024, ..published::FQ };
const LINUX_FQ: FqParams = FqParams { conventions: FqConventions::LINUX, ..FQ };

fn fq(site: SiteId, params: FqParams, inside: CodelParams) -> Built {
    let inside = CodelParams { limit: params.limit_inside(inside.limit), ..inside };
    Box::new(
        Fq::new(site, params, aqm::stream(), move |_| Codel::new(site, inside)).expect("sound parameters"),
    )
}

fn fq_of_fifos(site: SiteId, params: FqParams, limit: QueueSize) -> Built {
    Box::new(
        Fq::new(site, params, aqm::stream(), move |_| Ok(Fifo::new(site, limit))).expect("sound parameters"),
    )
}

fn fq_cobalt(site: SiteId, params: FqParams, inside: CobaltParams) -> Built {
    let inside = CobaltParams { limit: params.limit_inside(inside.limit), ..inside };
    let make = move |_| Cobalt::new(site, inside, aqm::stream());
    Box::new(Fq::new(site, params, aqm::stream(), make).expect("sound parameters"))
}

queue_laws!(fq_of_cobalt, |site| fq_cobalt(site, FQ, COBALT), limit = TEN);
queue_laws!(
    fq_of_short_cobalts,
    |site| fq_cobalt(site, FQ, CobaltParams { limit: FOUR, ..COBALT }),
    limit = TEN
);
queue_laws!(fq_of_fifos_alone, |site| fq_of_fifos(site, FQ, TEN), limit = TEN);
queue_laws!(fq_of_short_fifos, |site| fq_of_fifos(site, FQ, FOUR), limit = TEN);
queue_laws!(fq_codel_drops, |site| fq(site, FQ, CODEL), limit = TEN);
queue_laws!(fq_codel_marks, |site| fq(site, FQ, CodelParams { ecn: true, ..CODEL }), limit = TEN);
queue_laws!(fq_codel_of_linux, |site| fq(site, LINUX_FQ, LINUX_CODEL), limit = TEN);
queue_laws!(
    fq_codel_by_bytes,
    |site| fq(site, FqParams { limit: KILOBYTES, ..FQ }, CodelParams { limit: KILOBYTES, ..CODEL }),
    limit = KILOBYTES
);
queue_laws!(
    fq_codel_collides,
    |site| fq(site, FqParams { queues: 2, limit: FOUR, ..LINUX_FQ }, LINUX_CODEL),
    limit = FOUR
);
queue_laws!(
    fq_codel_in_small_turns,
    |site| fq(site, FqParams { quantum: Bytes(1), limit: KILOBYTES, ..LINUX_FQ }, CODEL),
    limit = KILOBYTES
);

/// A queue of ten packets is long, and its probability quickly high.
const PIE: PieParams = PieParams {
    limit: TEN,
    target: Span::from_millis(15),
    t_update: Span::from_millis(15),
    max_burst: Span::from_millis(20),
    alpha: 5.0,
    beta: 50.0,
    delay_from: DelayFrom::Timestamps,
    active_from: None,
    derandomize: false,
    cap_adjustment: false,
    byte_mode: false,
    ecn: false,
    mark_ecnth: 0.9,
    mean_packet: Bytes(100),
};

fn pie(site: SiteId, params: PieParams) -> Built {
    Box::new(Pie::new(site, params, aqm::stream()).expect("sound parameters"))
}

fn linux_pie(site: SiteId, delay_from: DelayFrom) -> Built {
    let params = LinuxPieParams {
        limit: TEN,
        target: Span::from_millis(5),
        t_update: Span::from_millis(5),
        max_burst: Span::from_millis(1),
        alpha: 2.0,
        beta: 2.0,
        delay_from,
        byte_mode: true,
        ecn: true,
        mtu: Bytes(100),
    };
    Box::new(LinuxPie::new(site, params, aqm::stream()).expect("sound parameters"))
}

fn docsis_pie(site: SiteId, limit: QueueSize) -> Built {
    let rate = BitRate::new(100_000).expect("a rate");
    let params = DocsisPieParams { limit, target: Span::from_millis(10), rate };
    Box::new(DocsisPie::new(site, params, aqm::stream()).expect("sound parameters"))
}

queue_laws!(pie_drops, |site| pie(site, PIE), limit = TEN);
queue_laws!(pie_marks, |site| pie(site, PieParams { ecn: true, ..PIE }), limit = TEN);
queue_laws!(
    pie_with_every_option,
    |site| pie(
        site,
        PieParams {
            limit: KILOBYTES,
            active_from: Some(QueueSize::Bytes(2000)),
            derandomize: true,
            cap_adjustment: true,
            byte_mode: true,
            ecn: true,
            ..PIE
        }
    ),
    limit = KILOBYTES
);
queue_laws!(
    pie_by_the_rate,
    |site| pie(site, PieParams { delay_from: DelayFrom::DepartureRate, ..PIE }),
    limit = TEN
);
queue_laws!(pie_of_linux, |site| linux_pie(site, DelayFrom::Timestamps), limit = TEN);
queue_laws!(pie_of_linux_by_the_rate, |site| linux_pie(site, DelayFrom::DepartureRate), limit = TEN);
queue_laws!(pie_of_docsis, |site| docsis_pie(site, TEN), limit = TEN);
queue_laws!(pie_of_docsis_by_bytes, |site| docsis_pie(site, KILOBYTES), limit = KILOBYTES);

/// Gains with which the base probability goes from one end to the other and back.
const DUALPI2: DualPi2Params = DualPi2Params { limit: TEN, alpha: 3.0, beta: 9.0, ..DualPi2Params::RFC9332 };

fn dualpi2(site: SiteId, params: DualPi2Params) -> Built {
    Box::new(DualPi2::new(site, params).expect("sound parameters"))
}

/// Each of its two queues keeps order.
const fn apart(limit: QueueSize) -> Keeps {
    const fn l4s(meta: &Meta) -> u8 {
        matches!(meta.ecn, Ecn::Ect1 | Ecn::Ce) as u8
    }
    Keeps { limit, within: l4s, peeks: true }
}

queue_laws!(dualpi2_by_turns, |site| dualpi2(site, DUALPI2), limit = apart(TEN));
queue_laws!(
    dualpi2_with_a_time_shift,
    |site| dualpi2(site, DualPi2Params { time_shift: Some(Span::from_millis(50)), ..DUALPI2 }),
    limit = apart(TEN)
);
queue_laws!(
    dualpi2_with_a_step_by_bytes,
    |site| dualpi2(
        site,
        DualPi2Params { limit: KILOBYTES, l4s_range: Span::ZERO, l4s_packets: 0, coupling: 1.0, ..DUALPI2 }
    ),
    limit = apart(KILOBYTES)
);

fn linux_dualpi2(site: SiteId, limit: QueueSize) -> Built {
    let params =
        LinuxDualPi2Params { limit, alpha: 3.0, beta: 9.0, mtu: Bytes(100), ..LinuxDualPi2Params::LINUX };
    Box::new(LinuxDualPi2::new(site, params, aqm::stream()).expect("sound parameters"))
}

queue_laws!(dualpi2_of_linux, |site| linux_dualpi2(site, TEN), limit = apart(TEN));
queue_laws!(dualpi2_of_linux_by_bytes, |site| linux_dualpi2(site, KILOBYTES), limit = apart(KILOBYTES));

fn fq_pie(site: SiteId, params: FqParams, inside: PieParams) -> Built {
    let inside = PieParams { limit: params.limit_inside(inside.limit), ..inside };
    let make = move |_| Pie::new(site, inside, aqm::stream());
    Box::new(Fq::new(site, params, aqm::stream(), make).expect("sound parameters"))
}

queue_laws!(fq_of_pie, |site| fq_pie(site, FQ, PIE), limit = TEN);
queue_laws!(
    fq_of_pies_that_rest,
    |site| fq_pie(site, FqParams { limit: FOUR, ..FQ }, PieParams { active_from: Some(FOUR), ..PIE }),
    limit = FOUR
);

/// Rates at which packets of the laws wait for one another.
const CAKE: CakeParams = CakeParams {
    limit: TEN,
    rate: BitRate::new(100_000),
    framing: Framing { overhead: Bytes(38), mpu: Bytes(84) },
    tins: Tins::Diffserv8,
    isolation: Isolation::TripleIsolate,
    rtt: Span::from_micros(400),
    mtu: Bytes(1),
    ack_filter: None,
};

fn cake(site: SiteId, params: CakeParams) -> Built {
    Box::new(Cake::new(site, params, Arc::default(), aqm::stream()).expect("sound parameters"))
}

/// Each tin keeps order, and whose turn it is is drawn.
const fn tins(limit: QueueSize) -> Keeps {
    const fn mark(meta: &Meta) -> u8 {
        meta.dscp.value()
    }
    Keeps { limit, within: mark, peeks: false }
}

queue_laws!(cake_shapes, |site| cake(site, CAKE), limit = tins(TEN));
queue_laws!(cake_by_turns, |site| cake(site, CakeParams { rate: None, ..CAKE }), limit = tins(TEN));
queue_laws!(
    cake_of_one_queue_by_bytes,
    |site| cake(
        site,
        CakeParams { limit: KILOBYTES, tins: Tins::Besteffort, isolation: Isolation::Flowblind, ..CAKE }
    ),
    limit = Keeps { peeks: false, ..KILOBYTES.into() }
);
queue_laws!(
    cake_of_hosts_overflows,
    |site| cake(site, CakeParams { limit: FOUR, tins: Tins::Diffserv3, isolation: Isolation::Hosts, ..CAKE }),
    limit = tins(FOUR)
);
