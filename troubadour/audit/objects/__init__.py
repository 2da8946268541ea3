"""Audits of logs of operations on objects, by facts and order. Does not know SQL."""
