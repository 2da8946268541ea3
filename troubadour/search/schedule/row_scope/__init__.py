"""Where each row read may be of a state of its own (Crooks et al., read committed): readings, and those before anew."""
