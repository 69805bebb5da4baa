"""Designed experiments: what is varied, what is measured, and the runs that this takes."""
