"""The commit tests, in replay's own transcription (paper §6.2). Runs no statement."""
