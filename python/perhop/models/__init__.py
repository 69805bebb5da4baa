"""Closed forms, held against the simulator and against the papers they come from."""
