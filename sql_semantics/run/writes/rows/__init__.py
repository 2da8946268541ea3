"""What becomes of one row that is written: keys, references, triggers, what is answered of it. Knows no statement."""
