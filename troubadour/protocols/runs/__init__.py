"""Protocols that run: small machines, random and bounded runs, what their clients see. Does not know any proof."""
