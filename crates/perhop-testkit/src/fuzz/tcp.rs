//! Senders and whole connections.

use arbitrary::{Arbitrary, Unstructured};
use perhop_tcp::settings::{Growth, Guard, RecoveryKind, TcpParams};

use super::{MOST_OPS, rest};
use crate::channel::PacketEffect;
use crate::laws::{connection, sender};
use crate::tcp::{OLD, RFC};

/// Effects on packets each way, as many as [`connection::networks`] has.
const MOST_EFFECTS: usize = 150;

/// Settings of a TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub struct Settings {
    /// Which recovery, as [`Settings::params`] counts them.
    pub recovery: u8,
    /// Whether the window grows as a cubic function.
    pub cubic: bool,
    /// Whether conventions are those of old stacks.
    pub old: bool,
    /// Options, on or off.
    pub options: sender::Options,
}

impl Settings {
    /// Parameters that they stand for.
    #[must_use]
    pub fn params(&self) -> TcpParams {
        let recoveries = [
            (RecoveryKind::Tahoe, false, false),
            (RecoveryKind::Reno, false, false),
            (RecoveryKind::NewReno, false, false),
            (RecoveryKind::Sack, false, false),
            (RecoveryKind::Sack, true, false),
            (RecoveryKind::Sack1996, false, false),
            (RecoveryKind::Sack, false, true),
            (RecoveryKind::Sack, true, true),
        ];
        let (recovery, prr, rack) = recoveries[usize::from(self.recovery) % recoveries.len()];
        let cc = if self.cubic { Growth::Cubic } else { Growth::Reno };
        let conventions = if self.old { OLD } else { RFC };
        // without a guard a counted pipe takes what a time-out sends again for new data
        let guard = if recovery == RecoveryKind::Sack1996 { Guard::Careful } else { conventions.guard };
        TcpParams { cc, recovery, prr, rack, guard, ..conventions }
    }
}

/// Input of [`sender_ops`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SenderOps {
    /// Settings of the sender that is to survive.
    pub settings: Settings,
    /// Operations on it.
    pub ops: Vec<sender::Op>,
}

impl<'a> Arbitrary<'a> for SenderOps {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self { settings: u.arbitrary()?, ops: rest(u, MOST_OPS)? })
    }
}

/// Input of [`connection()`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Settings of the sender whose data are to arrive.
    pub settings: Settings,
    /// The network on the way.
    pub network: connection::Network,
}

impl<'a> Arbitrary<'a> for Connection {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (settings, delayed, windows, writes) = u.arbitrary()?;
        let mut network = connection::Network { delayed, windows, writes, ..Default::default() };
        let lengths: [u8; 2] = u.arbitrary()?;
        for (effects, length) in [&mut network.there, &mut network.back].into_iter().zip(lengths) {
            for _ in 0..usize::from(length) % MOST_EFFECTS {
                // three of four pass: where next to nothing does, a transfer is all time-outs
                let passes = u.arbitrary::<u8>()? < 192;
                effects.push(if passes { PacketEffect::Passes } else { u.arbitrary()? });
            }
        }
        Ok(Self { settings, network })
    }
}

/// A sender keeps its books and windows.
pub fn sender_ops(input: &SenderOps) {
    sender::survives(&input.settings.params(), &input.settings.options, &input.ops);
}

/// A transfer ends, whatever happens on the way.
pub fn connection(input: &Connection) {
    connection::delivers(&input.settings.params(), &input.settings.options, &input.network);
}
