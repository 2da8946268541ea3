"""What a witness says, as replay and its file have it (DESIGN §9). Does not know whether it is true."""
