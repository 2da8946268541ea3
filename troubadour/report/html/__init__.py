"""A report to look at: one HTML file, without network, readable without scripts."""
