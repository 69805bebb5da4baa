//! COBALT: by its clauses, against a slow transcription, against Linux.

mod clauses;
mod linux;
mod slow;
