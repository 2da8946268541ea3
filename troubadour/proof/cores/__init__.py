"""The few transactions that clash, and the second decision about them. Does not know how a verdict is worded."""
