"""What can be decided of a statement before any row is met, for both runs, concrete and guarded. Knows no rows."""
