"""Runs in a notebook."""
