"""Many logs judged by one policy, for pipelines (CONTRACT §2, `gate`). Does not know how a verdict is reached."""
