"""Claims about what a campaign measured, and verdicts on them."""
