"""The shipped protocols, a class each (VerIso §4 to §6, appendices A and B). Does not know what a level asks."""
