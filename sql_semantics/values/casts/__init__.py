"""Conversions between SQL types, by what they make. Does not know where a statement asks for one."""
