"""SQL/PSM as MySQL and the paper write it, from its grammar to programs. Knows no other procedure language."""
