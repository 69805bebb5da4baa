//! The laws of every queue, scheduler and classifier: one line for each way to configure an element.

use perhop_core::classify::{KindClassifier, Selector};
use perhop_core::packet::ClassId;
use perhop_core::queue::Fifo;
use perhop_core::sched::{PairedCounter, StrictPriority};
use perhop_core::units::QueueSize;
use perhop_testkit::queue::AtItsTurn;
use perhop_testkit::{classifier_laws, queue_laws, scheduler_laws};

const EIGHT: QueueSize = QueueSize::Packets(8);
const KILOBYTES: QueueSize = QueueSize::Bytes(4000);
const NOTHING: QueueSize = QueueSize::Packets(0);

queue_laws!(fifo_packets, |site| Box::new(Fifo::new(site, EIGHT)), limit = EIGHT);
queue_laws!(fifo_bytes, |site| Box::new(Fifo::new(site, KILOBYTES)), limit = KILOBYTES);
queue_laws!(fifo_of_nothing, |site| Box::new(Fifo::new(site, NOTHING)), limit = NOTHING);
queue_laws!(at_its_turn, |site| Box::new(AtItsTurn::new(site, EIGHT)), limit = EIGHT);

fn paired_counter(share: f64) -> Box<PairedCounter> {
    Box::new(PairedCounter::new(ClassId(1), ClassId(0), share).expect("a share inside (0, 1)"))
}

scheduler_laws!(strict_priority_alone, || Box::new(StrictPriority), classes = 1);
scheduler_laws!(strict_priority, || Box::new(StrictPriority), classes = 4);
scheduler_laws!(paired_counter_half, || paired_counter(0.5), classes = 2);
scheduler_laws!(paired_counter_nearly_all, || paired_counter(0.999_999_999), classes = 2);
scheduler_laws!(paired_counter_hardly_any, || paired_counter(0.000_000_001), classes = 2);

const ACKS_FIRST: [&[Selector]; 2] = [&[Selector::PureAck], &[Selector::Any]];
const ACKS_ONLY: [&[Selector]; 1] = [&[Selector::PureAck]];

classifier_laws!(by_kind, || Box::new(KindClassifier::new(ACKS_FIRST)), classes = 2);
classifier_laws!(by_kind_in_part, || Box::new(KindClassifier::new(ACKS_ONLY)), classes = 1);
