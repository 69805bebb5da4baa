//! A run, from a scenario to its results.

use perhop_core::time::Instant;
use perhop_scenario::elements::ElementError;
use perhop_scenario::model::{Run, Scenario};

use crate::Registry;
use crate::build::{Built, build};
use crate::engine::Engine;
use crate::engine::capture::Captures;
use crate::engine::observe::{Recorder, TraceKinds};
use crate::engine::seam::HostNode;
use crate::hosts::host::Host;
use crate::results::sample::{Reading, Series};
use crate::results::totals::{Totals, close, restart};
use crate::results::{
    Counts, Results, application_results, broken_invariants, call_results, conditioner_results, flow_results,
    link_results, mark_results, queue_results, udp_results,
};

/// A run in virtual time.
///
/// The same scenario gives the same results whatever the slices it is advanced in and whatever is traced.
pub struct Simulation<H: HostNode = Host> {
    built: Built<H>,
    now: Instant,
    end: Instant,
    warmup: Instant,
    run: Run,
    next_sample: Instant,
    /// At the end of the warm-up, once it is over.
    baseline: Option<Totals>,
    last: Reading,
    series: Series,
    /// TCP flows whose goodputs are all that series have.
    only: Option<Vec<usize>>,
}

impl Simulation<Host> {
    /// A run of `scenario` at time zero, recording `trace`.
    ///
    /// # Panics
    /// When it names an element from outside, which `perhop_scenario::load` refuses, or a congestion control of a kernel:
    /// `Loaded::kernel_only` says so.
    #[must_use]
    pub fn new(scenario: &Scenario, trace: TraceKinds) -> Self {
        Self::with_elements(scenario, trace, &Registry::new())
            .unwrap_or_else(|error| panic!("Simulation::with_elements is for this scenario: {error}"))
    }

    /// A run of a `scenario` that may name `elements` from outside, at time zero, recording `trace`.
    ///
    /// # Errors
    /// When an element is not among them, or cannot be built from its settings: with the `elements` with which the
    /// scenario was loaded both have been seen to. When a flow has a kernel's congestion control.
    pub fn with_elements(
        scenario: &Scenario,
        trace: TraceKinds,
        elements: &Registry,
    ) -> Result<Self, ElementError> {
        Ok(Self::of(build(scenario, trace, elements)?, &scenario.run))
    }
}

impl<H: HostNode> Simulation<H> {
    /// A run of what was built, at time zero.
    #[must_use]
    pub fn of(built: Built<H>, run: &Run) -> Self {
        let last = Reading::take(&built.engine, &built.ends, &built.udp_ends, Instant::ZERO);
        Self {
            built,
            now: Instant::ZERO,
            end: Instant::ZERO + run.duration,
            warmup: Instant::ZERO + run.warmup,
            run: run.clone(),
            next_sample: Instant::ZERO + run.interval,
            baseline: None,
            last,
            series: Series::new(run),
            only: None,
        }
    }

    /// Has the series hold goodputs of these TCP flows and nothing else; before the run has begun.
    pub fn keep_goodputs_only(&mut self, flows: Vec<usize>) {
        self.only = Some(flows);
    }

    /// Captures links, by name, from now on, each into a file of its own; [`Self::close_captures`] ends them.
    ///
    /// # Errors
    /// A name that no link has, or of a file.
    pub fn capture(
        &mut self,
        scenario: &Scenario,
        files: Vec<(String, Box<dyn std::io::Write + Send>)>,
    ) -> std::io::Result<()> {
        let known = (&self.built.link_names[..], &self.built.sites);
        self.built.engine.recorder.capture_links(Captures::new(scenario, known, files)?);
        Ok(())
    }

    /// Ends the captures, if there are any.
    ///
    /// # Errors
    /// The first that a file gave.
    pub fn close_captures(&mut self) -> std::io::Result<()> {
        self.built.engine.recorder.end_captures().map_or(Ok(()), |captures| captures.close())
    }

    /// When each flow begins, TCP and then UDP, jitter drawn.
    #[must_use]
    pub fn starts(&self) -> &[Instant] {
        &self.built.starts
    }

    /// When the next event is due, if any is.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.built.engine.next_event()
    }

    /// Looks at a host, where nothing happens.
    pub fn host(&mut self, node: usize, look: impl FnOnce(&mut H, &mut Recorder<H::Packet>)) {
        self.built.engine.host(node, look);
    }

    /// Something happens at a host at `now`, to which the run has been advanced: for drivers of packets that come from outside.
    pub fn at_host(
        &mut self,
        now: Instant,
        node: usize,
        call: impl FnOnce(&mut H, &mut Recorder<H::Packet>),
    ) {
        self.built.engine.at_host(now, node, call);
    }

    /// When the run ends.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// Processes every event before `until`, at most to the end of the run.
    pub fn advance_to(&mut self, until: Instant) {
        self.advance(until, |engine, stop| {
            engine.run_until(stop);
            true
        });
    }

    /// The same, but stops as soon as `rows` are recorded that [`Self::take_recorded`] did not take; says whether it
    /// got to `until`.
    pub fn advance_while_room(&mut self, until: Instant, rows: usize) -> bool {
        self.advance(until, |engine, stop| engine.run_while(stop, |recorder| recorder.trace.rows() < rows))
    }

    /// The records since the last call, as results that hold nothing else.
    pub fn take_recorded(&mut self) -> Results {
        let trace = std::mem::take(&mut self.built.engine.recorder.trace);
        Results { trace, sites: self.built.sites.clone(), ..Results::default() }
    }

    fn advance(&mut self, until: Instant, run: impl Fn(&mut Engine<H>, Instant) -> bool) -> bool {
        let until = until.min(self.end);
        while self.now < until {
            let warmup = if self.baseline.is_none() { self.warmup } else { Instant::MAX };
            let stop = until.min(self.next_sample).min(warmup);
            if !run(&mut self.built.engine, stop) {
                return false;
            }
            self.now = stop;
            if stop == warmup {
                self.baseline = Some(self.totals());
                restart(&mut self.built.engine, stop);
            }
            if stop == self.next_sample {
                let mut reading = self.read();
                if self.only.is_none() {
                    reading = reading.with(&self.run, &self.built.engine);
                }
                self.series.push(&self.last, &reading, self.only.as_deref());
                self.last = reading;
                self.next_sample += self.run.interval;
            }
        }
        true
    }

    /// Runs to the end and returns the results.
    #[must_use]
    pub fn finish(mut self) -> Results {
        self.advance_to(self.end);
        let end = self.totals();
        let Built { mut engine, ends, udp_ends, starts, contracts, link_names, sites, .. } = self.built;
        let from = self.baseline.expect("a warm-up ends before its run");
        let flows = flow_results(&engine.delays, &starts, &from, &end);
        let udp = udp_results(&engine.delays, &starts, &from, &end);
        let invariants = broken_invariants(&engine, &link_names, &sites);
        close(&mut engine, self.end);
        Results {
            classes: contracts.rows((&flows, &udp), &engine.delays, &from, &end),
            flows,
            udp,
            applications: application_results(&engine, &from, &end),
            call_receivers: call_results(&engine, ends.len(), &udp_ends),
            marks: mark_results(&from, &end),
            links: link_results(&engine, &from, &end),
            queues: queue_results(&engine, &sites, &from, &end),
            conditioners: conditioner_results(&engine, &sites, &from, &end),
            invariants,
            link_names,
            series: self.series,
            counts: Counts {
                events: engine.processed,
                packet_hops: engine.hops,
                packets_created: engine.recorder.created,
            },
            event_digest: engine.digest,
            trace: engine.recorder.trace,
            sites,
        }
    }

    fn read(&self) -> Reading {
        Reading::take(&self.built.engine, &self.built.ends, &self.built.udp_ends, self.now)
    }

    fn totals(&self) -> Totals {
        Totals::take(&self.built.engine, &self.built.ends, &self.built.udp_ends, self.now)
    }
}
