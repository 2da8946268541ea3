"""What people type. Decides nothing; every subcommand imports what it needs when it runs."""
