"""The commit tests, in replay's own transcription (paper §6.2; DESIGN §4). Runs no statement."""
