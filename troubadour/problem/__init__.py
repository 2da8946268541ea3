"""What is to be decided: log, levels, limits and the orders that times allow. Does not know how."""
