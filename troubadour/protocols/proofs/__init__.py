"""What has to be proved of a protocol, and how it is decided. Does not know any run."""
