//! Queues with early detection: by the papers' clauses, against the papers' pseudo-code, against ns-2.

mod gred;
mod lab;
mod linux;
mod ns2;
mod params;
mod pseudocode;
mod red;
mod reference;
mod rio;
mod watched;
