"""What is done to logs that are there already: looked at, cut, merged, mended. Does not know how a log is judged."""
