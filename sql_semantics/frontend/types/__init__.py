"""Which types operands may have, what they are converted to, and which overload is meant. Knows no names."""
