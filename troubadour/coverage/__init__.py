"""What of a log is judged where not all of it is modelled.

Takes out of a log what is not modelled and whatever may depend on it, so that search, proofs, replay and the oracle see
logs that are modelled throughout. Does not know how a log is judged.
"""
