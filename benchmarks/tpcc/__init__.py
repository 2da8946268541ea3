"""TPC-C beside SQLite, and the speed of its procedures. Knows no log."""
