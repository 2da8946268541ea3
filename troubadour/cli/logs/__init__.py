"""``troubadour log``: begin, look at, mend, import and certify logs."""
