"""Certificates turned into witnesses: nothing is searched, replay judges (Emme §5). Guesses nothing."""
