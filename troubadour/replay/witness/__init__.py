"""What a witness says, as replay and its file have it. Does not know whether it is true."""
