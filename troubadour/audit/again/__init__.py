"""A verdict looked at once more: at a stronger level, by the profile of the product, or under other settings."""
