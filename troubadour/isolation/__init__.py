"""Isolation levels as data, what times mean at each, and the encodings of the commit tests (paper §6).

Knows states by number and rows by identity; knows neither SQL nor how a witness is searched.
"""
