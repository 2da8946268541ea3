"""What the observations tell of order and reads before anything is searched. Guesses nothing."""
