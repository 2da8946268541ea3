"""Logs of operations on objects (docs/log-format.md, *Objects*): read into columns, written, and expanded to SQL."""
