//! The ends of connections that a host is made of.

use perhop_core::ack_marking::{AckMarking, CopyRule, Covered};
use perhop_core::packet::{Dscp, TrafficClass};
use perhop_tcp::receiver::Receiver;
use perhop_tcp::sender::Sender;

use crate::applications::application::Application;
use crate::engine::marks::MarkCounts;
use crate::hosts::connection::Connection;
use crate::hosts::datagrams::{Drain, Source};

/// The sending end.
pub struct SendingEnd {
    /// The connection.
    pub connection: Connection,
    /// TCP.
    pub sender: Sender,
    /// Packets handed to the port and not yet fully transmitted; counted under backpressure only.
    pub in_port: u32,
    /// Which of the host's applications says what it sends.
    pub application: Option<u32>,
}

/// The receiving end.
pub struct ReceivingEnd {
    /// The connection.
    pub connection: Connection,
    /// TCP.
    pub receiver: Receiver,
    /// Packets that arrived, repeats included, at their length where no link compresses them.
    pub arrived: MarkCounts,
    /// Acknowledgments sent.
    pub acks: u64,
    /// Which mark its acknowledgments get, where it is not the default.
    pub marking: Option<Box<HostMarking>>,
}

/// How a receiving end marks its acknowledgments.
pub struct HostMarking {
    /// The rule.
    pub rule: AckMarking,
    /// The marks of the data that the next acknowledgment covers.
    pub covered: Covered,
}

impl HostMarking {
    /// Follows `rule`; `None` where every acknowledgment has the default mark.
    pub fn new(rule: &AckMarking) -> Option<Box<Self>> {
        let of = match rule {
            AckMarking::BestEffort => return None,
            AckMarking::PerClass(_) => CopyRule::TriggeringSegment,
            AckMarking::PerMark { rule, .. } => *rule,
        };
        Some(Box::new(Self { rule: rule.clone(), covered: Covered::new(of) }))
    }

    /// The mark of the acknowledgment that is sent now, by a flow of `class`.
    pub fn mark(&mut self, class: TrafficClass) -> Dscp {
        self.rule.mark(class, self.covered.take())
    }
}

/// The ends of connections and of UDP flows at a host.
#[derive(Default)]
pub struct Ends {
    /// Sending ends.
    pub senders: Vec<SendingEnd>,
    /// Receiving ends.
    pub receivers: Vec<ReceivingEnd>,
    /// Sending ends of UDP.
    pub sources: Vec<Source>,
    /// Receiving ends of UDP.
    pub drains: Vec<Drain>,
    /// Applications, whose connections are among the senders.
    pub applications: Vec<Application>,
}

impl Ends {
    /// Whether no connection and no flow has an end at the host.
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
            && self.receivers.is_empty()
            && self.sources.is_empty()
            && self.drains.is_empty()
    }
}
