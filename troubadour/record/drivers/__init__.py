"""What recording needs to know of single drivers. Does not know how a log is written."""
