"""Figures from tables, never from live objects; each function returns SVG text."""
