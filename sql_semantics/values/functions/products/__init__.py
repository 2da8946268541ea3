"""The table of each product, imported where a log of it is read."""
