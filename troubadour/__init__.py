"""Troubadour tells whether a database did what it promised, from a log of what its clients saw."""
