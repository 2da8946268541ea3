"""``python -m benchmarks.timestamps``."""

from benchmarks.timestamps.runs import main

main()
