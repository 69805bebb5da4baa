"""Per-flow against aggregate marking of TCP flows: the study of Laatu, Harju and Loula."""
