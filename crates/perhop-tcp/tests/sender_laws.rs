//! The laws of a sender, with every congestion control.

use perhop_tcp::cc::Reno;
use perhop_testkit::sender_laws;

sender_laws!(reno, |mss| Box::new(Reno::new(mss, 3)));
sender_laws!(reno_from_one_segment, |mss| Box::new(Reno::new(mss, 1)));
