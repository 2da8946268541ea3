"""What is said with a verdict: its fields, a failure in the words of a log, and remarks. Knows no way to a verdict."""
