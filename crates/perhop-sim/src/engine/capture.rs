//! Captures of links: every packet as it begins on the link, and those that were dropped in front of it.
//!
//! Where a packet is simulated its headers are built from what the ends of the connection say; a real one is written as it is.
//! Cost of a run without captures: one comparison for each packet and link.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::Bytes;
use perhop_scenario::build::Sites;
use perhop_scenario::model::Scenario;
use perhop_wire::addresses::{RECEIVING, of_flow, of_node};
use perhop_wire::pcapng;

use crate::engine::carried::{Carried, Ends, FlowOnWire};

/// Where captures of some links go.
pub struct Captures {
    links: BTreeMap<usize, Box<dyn Write + Send>>,
    /// The link behind each site at which packets may be dropped, of the links that are captured.
    sites: BTreeMap<u32, usize>,
    flows: Vec<FlowOnWire>,
    bytes: Vec<u8>,
    block: Vec<u8>,
    comment: String,
    failed: Option<io::Error>,
}

impl fmt::Debug for Captures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captures").field("links", &self.links.len()).finish_non_exhaustive()
    }
}

impl Captures {
    /// Captures of the links with these names, each into a file of its own.
    ///
    /// # Errors
    /// A name that no link has, or of a file.
    pub fn new(
        scenario: &Scenario,
        (link_names, sites): (&[String], &Sites),
        files: Vec<(String, Box<dyn Write + Send>)>,
    ) -> io::Result<Self> {
        let mut captures = Self {
            links: BTreeMap::new(),
            sites: BTreeMap::new(),
            flows: on_wire(scenario),
            bytes: Vec::new(),
            block: Vec::new(),
            comment: String::new(),
            failed: None,
        };
        for (name, mut file) in files {
            let at = link_names.iter().position(|one| *one == name);
            let at =
                at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("no link {name}")))?;
            let link = scenario.links.iter().find(|link| link.name == name);
            let about = link.map_or_else(String::new, |link| {
                format!("{} bit/s, {} s", link.rate.bits_per_sec(), link.delay.as_secs_f64())
            });
            let port = link.map_or("", |link| link.port.path.as_str());
            let inside = format!("{port}.");
            for (site, path) in sites.iter() {
                if path == port || path.starts_with(&inside) {
                    captures.sites.insert(site.0, at);
                }
            }
            captures.block.clear();
            pcapng::section(concat!("perhop ", env!("CARGO_PKG_VERSION")), &mut captures.block);
            pcapng::interface(&name, &about, &mut captures.block);
            file.write_all(&captures.block)?;
            captures.links.insert(at, file);
        }
        Ok(captures)
    }

    /// `pkt` begins on link number `link`.
    pub fn sent<P: Carried>(&mut self, now: Instant, link: usize, pkt: &P) {
        if self.links.contains_key(&link) {
            self.write(now, link, pkt, None);
        }
    }

    /// `pkt` was dropped at `site`.
    pub fn dropped<P: Carried>(&mut self, now: Instant, site: SiteId, pkt: &P, why: DropReason) {
        if let Some(&link) = self.sites.get(&site.0) {
            self.write(now, link, pkt, Some(why));
        }
    }

    fn write<P: Carried>(&mut self, now: Instant, link: usize, pkt: &P, dropped: Option<DropReason>) {
        use fmt::Write as _;
        let meta = pkt.meta();
        let Some(flow) = self.flows.get(meta.flow.0 as usize) else { return };
        let original = pkt.bytes(flow, &mut self.bytes);
        self.comment.clear();
        // writing into a text cannot fail
        let _ = write!(self.comment, "{} {}", meta.dscp, meta.color.name());
        if meta.len != Bytes(original.into()) {
            let _ = write!(self.comment, ", {} bytes on the link", meta.len.0);
        }
        if let Some(why) = dropped {
            let _ = write!(self.comment, " dropped: {}", why.name());
        }
        self.block.clear();
        let (time, bytes, comment) = (now.as_nanos(), &self.bytes[..], &self.comment[..]);
        pcapng::packet(&pcapng::Packet { interface: 0, time, bytes, original, comment }, &mut self.block);
        if let Some(file) = self.links.get_mut(&link)
            && let Err(error) = file.write_all(&self.block)
        {
            self.failed.get_or_insert(error);
        }
    }

    /// Ends the captures.
    ///
    /// # Errors
    /// The first of all that files gave.
    pub fn close(mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.links.values_mut().try_for_each(|file| file.flush())
    }
}

fn on_wire(scenario: &Scenario) -> Vec<FlowOnWire> {
    let ends = |i: usize, from: usize, to: usize| Ends {
        source: of_node(from),
        destination: of_node(to),
        source_port: of_flow(i),
        destination_port: RECEIVING,
    };
    let tcp = scenario.flows.iter().map(|flow| (flow.from, flow.to, Some(&flow.tcp.params)));
    let udp = scenario.udp.iter().map(|flow| (flow.from, flow.to, None));
    let one = |(i, (from, to, params)): (usize, (usize, usize, Option<&perhop_tcp::settings::TcpParams>))| {
        FlowOnWire {
            ends: ends(i, from, to),
            mss: params.map_or(0, |params| u16::try_from(params.mss.0).unwrap_or(u16::MAX)),
            window_scale: params.map_or(0, |params| params.window_scale),
            timestamps: params.is_some_and(|params| params.timestamps),
        }
    };
    tcp.chain(udp).enumerate().map(one).collect()
}
