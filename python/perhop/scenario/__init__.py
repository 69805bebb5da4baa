"""Scenarios in Python: a file and overrides, and their meaning."""
