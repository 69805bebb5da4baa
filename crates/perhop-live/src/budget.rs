//! How far a live run may be from the scenario until it says nothing.

use perhop_core::histogram::Histogram;
use perhop_core::time::Span;

/// What went wrong or could have, over the whole run.
#[derive(Debug, Default)]
pub struct Errors {
    /// How late packets were written to their hosts, ns.
    pub lateness: Histogram,
    /// How late `TCP_INFO` was read, ns: how long an application may have waited.
    pub applications: Histogram,
    /// How late UDP packets were handed to the kernel, ns.
    pub sources: Histogram,
    /// Packets with a wrong checksum.
    pub checksums: u64,
    /// Packets larger than their flow's may be.
    pub sizes: u64,
    /// Packets of no flow, such as ICMP.
    pub foreign: u64,
    /// Packets that a device dropped on their way out, because they were not read soon enough.
    pub unread: u64,
    /// Packets that a device did not take.
    pub unwritten: u64,
    /// UDP packets that the kernel did not take.
    pub unsent: u64,
    /// By flow where they differ: retransmissions as counted here, and as the kernel counts them.
    pub retransmissions: Vec<(String, u64, u64)>,
    /// Broken connections, in words.
    pub connections: Vec<String>,
    /// Processor time of the run.
    pub cpu: Span,
}

/// 99 of 100 packets must be written this soon, and TCP_INFO read.
pub const LATENESS: Span = Span::from_micros(500);
/// The same for what applications wait for a processor.
pub const WAIT: Span = Span::from_millis(20);

impl Errors {
    /// What is over the budget, in words; a run with any of it is not valid.
    #[must_use]
    pub fn over(&self) -> Vec<String> {
        let mut over = Vec::new();
        for (what, histogram, most) in [
            ("packets were written to hosts", &self.lateness, LATENESS),
            ("applications were served", &self.applications, WAIT),
            ("UDP packets left", &self.sources, LATENESS),
        ] {
            if let Some(p99) = histogram.quantile(990)
                && p99 > most.as_nanos()
            {
                over.push(format!(
                    "{what} {:.3} ms late (99th percentile; at most {:.1} ms)",
                    ms(p99),
                    ms(most.as_nanos())
                ));
            }
        }
        for (count, what) in [
            (self.checksums, "packets had wrong checksums"),
            (self.sizes, "packets were larger than their flow's may be"),
            (self.unread, "packets were dropped by a device before they were read"),
            (self.unwritten, "packets were not taken by a device"),
            (self.unsent, "UDP packets were not taken by the kernel"),
        ] {
            if count > 0 {
                over.push(format!("{count} {what}"));
            }
        }
        over.extend(self.connections.iter().cloned());
        over
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
