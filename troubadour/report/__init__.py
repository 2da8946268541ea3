"""What people and programs see of a verdict; decides nothing."""
