"""Pages from tables: one self-contained HTML file that opens offline."""
