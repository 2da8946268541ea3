"""The straight path along a stream, and going on with it where it was ended."""
