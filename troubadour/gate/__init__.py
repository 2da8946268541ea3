"""Many logs judged by one policy, for pipelines. Does not know how a verdict is reached."""
