"""Scenarios as Python has them: a file and overrides, and what they mean."""
