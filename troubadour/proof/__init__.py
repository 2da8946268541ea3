"""Why there is no witness: cores and refutations. Does not know how a verdict is worded."""
