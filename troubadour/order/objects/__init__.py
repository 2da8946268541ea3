"""The order of the events of a log of operations on objects: all in columns, at any size. Runs nothing."""
