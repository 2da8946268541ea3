"""Why there is no witness: cores and refutations (CONTRACT §2). Does not know how a verdict is worded."""
