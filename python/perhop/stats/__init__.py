"""Statistics of replicated runs: pure functions of arrays."""
