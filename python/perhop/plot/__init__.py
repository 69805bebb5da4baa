"""Figures from tables, never from live objects; each function returns SVG text."""

import logging

# where no folder for its cache can be written it says so, each time; the figures are the same
logging.getLogger("matplotlib").setLevel(logging.ERROR)
